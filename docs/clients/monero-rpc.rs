use monero_rpc::RpcClientBuilder;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (url, key) = (std::env::var("URL")?, std::env::var("KEY")?);
    // It sets no header and appends /json_rpc to what it is given; behind a question mark that is
    // no part of the path.
    let node = RpcClientBuilder::new().build(format!("{url}/v1/rpc/xmr/{key}?"))?.daemon();
    println!("{}", node.get_block_count().await?);
    Ok(())
}
