//! Holds what the replayed nodes do beyond their recordings against the nodes themselves.

use replay::{Replay, ReplayOptions, Take};
use testkit::{Anvil, Geth, Litecoind, Login, Monerod, StartError, post};

const JSON: &[(&str, &str)] = &[("Content-Type", "application/json")];

/// Envelopes around a method whose answer is known, by the node's own words.
#[tokio::test]
async fn anvil_envelopes() {
    let live = Anvil::start(&[]).await.unwrap();
    let options = ReplayOptions { take: Take::Anvil, ..ReplayOptions::default() };
    let replay = Replay::start("eth", options).await.unwrap();
    let calls = [
        "",
        "{",
        "3",
        "[]",
        "[1,\"x\"]",
        "null",
        "{}",
        "[{}]",
        "{\"id\":7}",
        r#"{"jsonrpc":"2.0","id":7,"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"eth_chainId","x":1}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"eth_chainId","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"eth_chainId","params":null}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"eth_chainId","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"eth_chainId","params":3}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"eth_nope","params":{}}"#,
        r#"{"id":7,"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"1.0","id":7,"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":"eth_nope"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":-7,"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":[1],"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":true,"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":3}"#,
        r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"eth_chainId","method":"eth_blockNumber"}"#,
        r#"[{"jsonrpc":"2.0","id":7,"method":"eth_chainId"},{"jsonrpc":"2.0","method":"eth_chainId"}]"#,
        r#"[{"jsonrpc":"2.0","id":7,"method":"eth_chainId"},{"jsonrpc":"1.0","id":8,"method":"eth_chainId"}]"#,
        r#"[{"jsonrpc":"2.0","method":"eth_chainId"}]"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"eth_chainId"} x"#,
    ];
    compare(&live.url(), &replay.url(), JSON, &calls).await;
}

#[tokio::test]
async fn geth_envelopes() {
    let live = match Geth::start(&[]).await {
        Err(StartError::Missing { program, hint }) => {
            println!("SKIPPED geth_envelopes: no {program} here ({hint})");
            return;
        }
        started => started.unwrap(),
    };
    let replay = Replay::start("eth", ReplayOptions::default()).await.unwrap();
    let calls = [
        "",
        " ",
        "{",
        "3",
        "null",
        "[]",
        "[1,\"x\"]",
        "{}",
        "[{}]",
        "[null]",
        "{\"id\":7}",
        "{} x",
        r#"{"jsonrpc":"2.0","id":7,"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"eth_chainId"} x"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"eth_chainId","params":null}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"eth_chainId","params":3}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"eth_<nope>","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":3}"#,
        r#"{"jsonrpc":2,"id":7,"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":true,"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":{"a":1},"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":1e30,"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":"\u0041<","method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"eth_chainId"}"#,
        r#"{"JSONRPC":"2.0","ID":7,"METHOD":"eth_chainId"}"#,
        r#"[{"jsonrpc":"2.0","id":7,"method":"eth_chainId"},{"jsonrpc":"1.0","id":8,"method":"eth_chainId"},3]"#,
    ];
    compare(&live.url(), &replay.url(), JSON, &calls).await;
}

/// A new chain knows other answers, so only errors and envelopes are compared.
#[tokio::test]
async fn monerod_envelopes() {
    let live = Monerod::start(None).await.unwrap();
    let replay = Replay::start("xmr", ReplayOptions::default()).await.unwrap();
    let calls = [
        "",
        "{",
        "3",
        "[]",
        "[{\"id\":1,\"method\":\"get_version\"}]",
        "{}",
        "{\"id\":7}",
        "{bad",
        r#"{"id":7,"method":"get_version"}"#,
        r#"{"jsonrpc":"2.0","id":"x\"y","method":"get_version"}"#,
        r#"{"jsonrpc":"2.0","method":"get_version"}"#,
        r#"{"id":null,"method":"get_version"}"#,
        r#"{"id":1.50,"method":"get_version"}"#,
        r#"{"id":18446744073709551615,"method":"get_version"}"#,
        r#"{"id":99999999999999999999,"method":"get_version"}"#,
        r#"{"id":-5,"method":"get_version"}"#,
        r#"{"id":-0,"method":"get_version"}"#,
        r#"{"id":1e30,"method":"get_version"}"#,
        r#"{"id":true,"method":"get_version"}"#,
        r#"{"id":[1],"method":"get_version"}"#,
        r#"{"id":[],"method":"get_version"}"#,
        r#"{"id":[1,"x"],"method":"get_version"}"#,
        r#"{"id":{"a":1},"method":"get_version"}"#,
        r#"{"id":"a/b\u00e9\ud83d\ude00\u0001","method":"get_version"}"#,
        r#"{"id":1,"method":"nosuch","method":"get_version"}"#,
        r#"{"id":1,"method":"get_version"} x"#,
        r#"{"id":"0","method":"nosuch"}"#,
        r#"{"id":5,"method":7}"#,
        r#"{"ID":3,"METHOD":"get_version"}"#,
        r#"{"id":5,"method":"get_block","params":{"hash":"zz"}}"#,
    ];
    for path in ["/json_rpc", "/nope"] {
        let (live, replay) = (live.url() + path, replay.url() + path);
        compare(&live, &replay, &[], &calls).await;
    }
    let empty = [r#"{"txs_hashes":["zz"]}"#, "[1]", "{bad"];
    let (live, replay) = (live.url() + "/get_transactions", replay.url() + "/get_transactions");
    compare(&live, &replay, &[], &empty[1..]).await;
}

/// The legacy shape of the Core family.
#[tokio::test]
async fn litecoind_envelopes() {
    let login = Login::Password("u".to_owned(), "p".to_owned());
    let live = Litecoind::start(login, &[]).await.unwrap();
    let replay = Replay::start("ltc", ReplayOptions::default()).await.unwrap();
    let calls = [
        "",
        "{",
        "3",
        "null",
        "[]",
        "[1,\"x\"]",
        "{}",
        "[{}]",
        "{\"id\":7}",
        "{\"id\":1} x",
        r#"{"id":7,"method":"getbestblock"}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"nosuch"}"#,
        r#"{"jsonrpc":3,"id":7,"method":"nosuch"}"#,
        r#"{"method":"nosuch"}"#,
        r#"{"id":null,"method":null}"#,
        r#"{"id":"\u0041","method":3}"#,
        r#"{"id":1.50,"method":"nosuch","params":3}"#,
        r#"{"id":{"a" : [ 1 , "\u0001\u007f\u00e9/" ]},"method":"nosuch"}"#,
        r#"{"id":1,"id":2,"method":"nosuch","method":"getblockcount"}"#,
        r#"[{"id":1,"method":"nosuch"},{"jsonrpc":"2.0","method":"nosuch"},"x",{"id":3}]"#,
        r#"{"id":1,"method":"getblockhash","params":[0]}"#,
        r#"{"id":1e30,"method":"getblockhash","params":[ 0 ]}"#,
    ];
    let headers = &[("Authorization", "Basic dTpw")];
    compare(&live.url(), &replay.url(), headers, &calls).await;
}

async fn compare(live: &str, replay: &str, headers: &[(&str, &str)], calls: &[&str]) {
    let mut differ = Vec::new();
    for call in calls {
        let wanted = post(live, headers, call.as_bytes()).await.unwrap();
        let found = post(replay, headers, call.as_bytes()).await.unwrap();
        if (wanted.status, &wanted.body) != (found.status, &found.body) {
            differ.push(format!(
                "{call}\n  node {} {:?}\n  here {} {:?}",
                wanted.status,
                wanted.text(),
                found.status,
                found.text()
            ));
        }
    }
    assert!(differ.is_empty(), "\n{}", differ.join("\n"));
}
