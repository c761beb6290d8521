//! What of a recorded chain is worth a look: an address, and a transaction that spends.
//!
//! Asks the demo's own explorer, as a person would. Invariant: what is shown was found in the chain
//! that is served; a chain in which nothing is found is left out.

use std::net::SocketAddr;

use chain::Chain;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// Blocks that are looked through, from the tip down.
const BLOCKS: u64 = 25;

/// Paths behind `/api/v1/{chain}` that answer with something to see.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) chain: &'static Chain,
    /// The address of what a transaction spends; none where the chain shows no addresses.
    pub(super) address: Option<String>,
    /// A transaction that spends.
    pub(super) transaction: String,
    /// The height of its block.
    pub(super) height: u64,
}

/// A sample of each chain that the explorer answers for.
pub(super) async fn samples(explorer: SocketAddr, key: &str) -> Vec<Sample> {
    let mut found = Vec::new();
    for chain in chain::ALL {
        found.extend(sample(explorer, key, chain).await);
    }
    found
}

async fn sample(explorer: SocketAddr, key: &str, chain: &'static Chain) -> Option<Sample> {
    let status = ask(explorer, key, chain, "status").await?;
    let tip = status["height"].as_u64()?;
    for height in (tip.saturating_sub(BLOCKS)..=tip).rev() {
        let path = match chain.family {
            chain::Family::Account => format!("block/{height}/txs?limit=50"),
            _ => format!("block/{height}/txs?page_size=50"),
        };
        let block = ask(explorer, key, chain, &path).await?;
        let mut spending =
            block["txs"].as_array()?.iter().filter_map(|tx| spent_by(chain, height, tx));
        if let Some(sample) = spending.next() {
            return Some(sample);
        }
    }
    None
}

/// The sample that a transaction makes, if it spends.
fn spent_by(chain: &'static Chain, height: u64, tx: &Value) -> Option<Sample> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let (id, address) = match chain.family {
        chain::Family::Utxo(_) => {
            let mut vin = tx["vin"].as_array()?.iter();
            (&tx["txid"], Some(vin.find_map(|input| text(&input["addresses"][0]))?))
        }
        chain::Family::Account => (&tx["hash"], Some(text(&tx["from"])?)),
        chain::Family::Ring if tx["coinbase"] == true => return None,
        chain::Family::Ring => (&tx["hash"], None),
    };
    Some(Sample { chain, address, transaction: text(id)?, height })
}

/// One answer of the explorer, if it is a 200 with JSON.
async fn ask(explorer: SocketAddr, key: &str, chain: &Chain, path: &str) -> Option<Value> {
    let stream = TcpStream::connect(explorer).await.ok()?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.ok()?;
    // It ends with its one answer.
    tokio::spawn(connection);
    let request = Request::get(format!("/api/v1/{}/{path}", chain.slug))
        .header("Host", explorer.to_string())
        .header("X-API-Key", key)
        .body(Empty::<bytes::Bytes>::new())
        .ok()?;
    let answer = sender.send_request(request).await.ok()?;
    if answer.status() != 200 {
        return None;
    }
    let body = answer.into_body().collect().await.ok()?.to_bytes();
    serde_json::from_slice(&body).ok()
}
