//! The genesis hashes against what recorded nodes said.

use serde_json::Value;

fn genesis(slug: &str, network: &str) -> Option<&'static str> {
    chain::find(slug).unwrap().network(network).unwrap().genesis
}

#[test]
fn of_nodes_with_getblockhash() {
    for slug in ["btc", "ltc", "doge", "bch", "xec", "zec", "dcr"] {
        let network = if slug == "dcr" { "simnet" } else { "regtest" };
        let hash = replay::recorded(slug)
            .unwrap()
            .find(|line| line.method() == "getblockhash" && line.params() == "[0]")
            .and_then(|line| line.result())
            .expect("block 0 was recorded");
        let hash: Value = serde_json::from_slice(&hash).unwrap();
        assert_eq!(hash.as_str(), genesis(slug, network), "{slug}");
    }
}

#[test]
fn of_monerod() {
    let headers = replay::recorded("xmr")
        .unwrap()
        .filter(|line| line.method() == "get_block_headers_range")
        .find(|line| serde_json::from_str::<Value>(line.params()).unwrap()["start_height"] == 0)
        .and_then(|line| line.result())
        .expect("the first headers were recorded");
    let headers: Value = serde_json::from_slice(&headers).unwrap();
    let first = &headers["headers"][0];
    assert_eq!(first["height"], 0);
    assert_eq!(first["hash"].as_str(), genesis("xmr", "regtest"));
}

#[test]
fn a_development_chain_of_ethereum_may_have_any() {
    assert_eq!(genesis("eth", "dev"), None);
}
