//! What token contracts say of themselves, and what they do not.

use std::time::Duration;

use replay::Take;
use serde_json::{Value, json};
use testkit::{AccountChain, StubAccounts};

use crate::account::rig::{Rig, options};

const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const BATCH: &str = "0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb";

fn word(n: u64) -> String {
    format!("{n:064x}")
}

fn token(n: u64) -> String {
    format!("0x{:040x}", 0x70_0000 + n)
}

fn transfer(n: u64) -> Value {
    let topics = [TRANSFER.to_owned(), format!("0x{}", word(1)), format!("0x{}", word(2))];
    json!({"address": token(n), "topics": topics, "data": format!("0x{}", word(5))})
}

/// An ABI string.
fn string(text: &[u8]) -> String {
    let padded = format!("{:0<1$}", const_hex::encode(text), text.len().div_ceil(32) * 64);
    format!("0x{}{}{padded}", word(32), word(text.len() as u64))
}

/// The recorded genesis and one block, with one transaction with these logs; gives its path too.
fn chain_of(logs: Vec<Value>) -> (AccountChain, String) {
    let mut chain = AccountChain::recorded(Take::Anvil);
    chain.blocks.truncate(2);
    let block = &mut chain.blocks[1];
    let tx = block.body["transactions"][0].clone();
    block.body["transactions"] = json!([tx]);
    let mut receipt = block.receipts[0].clone();
    receipt["logs"] = Value::Array(logs);
    receipt["logsBloom"] = Value::Null;
    block.receipts = json!([receipt]);
    let from = tx["from"].as_str().unwrap();
    block.traces = json!([{"txHash": tx["hash"], "result": {"type": "CALL", "from": from}}]);
    (chain, format!("tx/{}", tx["hash"].as_str().unwrap()))
}

/// Contracts say this, by number: symbol and decimals.
fn say(node: &StubAccounts, said: Vec<(Option<String>, Option<String>)>) {
    node.distort(Some(Box::new(move |method, params, found| {
        if method != "eth_call" {
            return found;
        }
        let place = (0..said.len()).find(|n| params[0]["to"] == token(*n as u64));
        let said = place.map(|place| &said[place]);
        let said = match params[0]["data"].as_str() {
            Some("0x95d89b41") => said.and_then(|(symbol, _)| symbol.clone()),
            _ => said.and_then(|(_, decimals)| decimals.clone()),
        };
        said.map(|said| json!(said)).ok_or((3, "execution reverted".into()))
    })));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_hostile_contracts_say_is_cleaned_or_left_out() {
    let decimals = |n: u64| Some(format!("0x{}", word(n)));
    let evil = "\u{202e}E\u{0}V\u{7}I\u{200b}L\n".as_bytes();
    let said = vec![
        (Some(string(evil)), decimals(300)),
        (Some(string(&[0xff, 0xfe, b'B', 0xc0])), decimals(0)),
        (Some(string("x".repeat(9000).as_bytes())), decimals(255)),
        (Some("0x".into()), Some("0x".into())),
        (Some(format!("0x{}{}", word(32), "f".repeat(64))), Some(format!("0x{}", "f".repeat(64)))),
        (None, None),
        (Some("no hex".into()), Some("12".into())),
        (Some(string(b"\n \t")), decimals(6)),
        (Some(format!("0x{:0<64}", const_hex::encode("BETA"))), decimals(18)),
    ];
    let expected: [(Option<String>, Option<u64>); 9] = [
        (Some("EVIL".into()), None),
        (Some("B".into()), Some(0)),
        (Some("x".repeat(64)), Some(255)),
        (None, None),
        (None, None),
        (None, None),
        (None, None),
        (None, Some(6)),
        (Some("BETA".into()), Some(18)),
    ];
    // Lists whose lengths lie are skipped alone.
    let topics: Vec<String> =
        [BATCH.to_owned()].into_iter().chain((1..4).map(|n| format!("0x{}", word(n)))).collect();
    let lies = [
        [64, 160, 2, 1, 2, 1, 9].map(word).concat(),
        [64, 96, u64::MAX, 0].map(word).concat(),
        "f".repeat(128),
        String::new(),
    ];
    let lying = lies
        .iter()
        .map(|data| json!({"address": token(0), "topics": topics, "data": format!("0x{data}")}));
    let logs: Vec<Value> = lying.chain((0..9).map(transfer)).collect();
    let (chain, path) = chain_of(logs);
    let node = StubAccounts::start(chain.clone()).await;
    say(&node, said);
    let rig = Rig::start(&[node.url()], options()).await;
    rig.whole_at(chain.tip().hash()).await;
    let tx = rig.ok(&path).await;
    assert_eq!((&tx["log_count"], rig.index.skipped_logs()), (&json!(13), 4));
    let transfers = tx["token_transfers"].as_array().unwrap();
    assert_eq!(transfers.len(), 9);
    for (found, (symbol, decimals)) in transfers.iter().zip(&expected) {
        assert_eq!(found.get("symbol").and_then(Value::as_str), symbol.as_deref(), "{found}");
        assert_eq!(found.get("decimals").and_then(Value::as_u64), *decimals, "{found}");
        assert_eq!(found["amount"], "5");
    }
    // Each contract is asked once, whether it said something or not.
    let asked = node.calls("eth_call");
    assert_eq!(asked, 18);
    rig.ok(&path).await;
    assert_eq!(node.calls("eth_call"), asked);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contract_that_is_slow_holds_no_answer_up() {
    // Of one contract, many times.
    let (chain, path) = chain_of((0..60).map(|_| transfer(0)).collect());
    let node = StubAccounts::start(chain.clone()).await;
    say(&node, vec![(Some(string(b"SLOW")), Some(format!("0x{}", word(9))))]);
    let rig = Rig::start(&[node.url()], options()).await;
    rig.whole_at(chain.tip().hash()).await;
    node.hold("eth_call");
    for _ in 0..3 {
        let tx = rig.ok(&path).await;
        let transfers = tx["token_transfers"].as_array().unwrap();
        assert_eq!(transfers.len(), 60);
        assert!(transfers.iter().all(|it| it.get("symbol").is_none()), "{tx}");
    }
    node.release("eth_call");
    for _ in 0..3000 {
        let tx = rig.ok(&path).await;
        let transfers = tx["token_transfers"].as_array().unwrap();
        if transfers
            .iter()
            .all(|it| (&it["symbol"], &it["decimals"]) == (&json!("SLOW"), &json!(9)))
        {
            // One pair of questions for all of them, whoever waited.
            assert_eq!(node.calls("eth_call"), 2);
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("what it says never comes");
}
