//! A node that answers the same small bytes to everything: `mock-node ADDRESS`.

use replay::{Mock, MockOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).ok_or("usage: mock-node ADDRESS")?.parse()?;
    // The load's calls all have the id 1.
    let options = MockOptions { listen: address, echo_ids: false, ..MockOptions::default() };
    let mock = Mock::start(options).await?;
    println!("{}", mock.url());
    std::future::pending::<()>().await;
    Ok(())
}
