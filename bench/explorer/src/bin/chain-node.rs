//! A node whose chain is a file of raw blocks: `chain-node SLUG FILE`. Prints its URL.

use std::path::Path;

use testkit::{StubNode, StubOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [slug, file] = &words[..] else { return Err("usage: chain-node SLUG FILE".into()) };
    let node = StubNode::serve_file(slug, Path::new(file), StubOptions::default()).await?;
    println!("{}", node.url());
    std::future::pending::<()>().await;
    Ok(())
}
