//! A node that answers the same small bytes to everything: `mock-node ADDRESS`.

use replay::{Mock, MockOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).ok_or("usage: mock-node ADDRESS")?.parse()?;
    let mock = Mock::start(MockOptions { listen: address, ..MockOptions::default() }).await?;
    println!("{}", mock.url());
    std::future::pending::<()>().await;
    Ok(())
}
