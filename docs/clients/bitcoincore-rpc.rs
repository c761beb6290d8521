use bitcoincore_rpc::{Auth, Client, RpcApi};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (url, key) = (std::env::var("URL")?, std::env::var("KEY")?);
    // It sets no header, so the key stands in the path.
    let node = Client::new(&format!("{url}/v1/rpc/btc/{key}"), Auth::None)?;
    println!("{}", node.get_block_count()?);
    Ok(())
}
