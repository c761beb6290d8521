//! The genesis hashes against what recorded nodes said.

use serde_json::{Value, json};

use crate::recording;

fn genesis(slug: &str, network: &str) -> Option<&'static str> {
    chain::find(slug).unwrap().network(network).unwrap().genesis
}

#[test]
fn of_nodes_with_getblockhash() {
    for slug in ["btc", "ltc", "doge", "bch", "xec", "zec", "dcr"] {
        let network = if slug == "dcr" { "simnet" } else { "regtest" };
        let line = recording::lines(slug, "transcript.jsonl.gz")
            .find(|line| line["method"] == "getblockhash" && line["params"] == json!([0]))
            .expect("block 0 was recorded");
        let hash: Value = serde_json::from_str(line["result"].as_str().unwrap()).unwrap();
        assert_eq!(hash.as_str(), genesis(slug, network), "{slug}");
    }
}

#[test]
fn of_monerod() {
    let headers = recording::lines("xmr", "monerod.jsonl.gz")
        .find(|line| {
            line["method"] == "get_block_headers_range" && line["params"]["start_height"] == 0
        })
        .expect("the first headers were recorded");
    let first = &headers["result"]["headers"][0];
    assert_eq!(first["height"], 0);
    assert_eq!(first["hash"].as_str(), genesis("xmr", "regtest"));
}

#[test]
fn a_development_chain_of_ethereum_may_have_any() {
    assert_eq!(genesis("eth", "dev"), None);
}
