//! A live anvil: a random walk with reorganisations and restarts, after each step of which the
//! explorer's word is held against the node's.

use std::time::Duration;

use chain::account::U256;
use index::Tier;
use index::account::SyncOptions;
use replay::Take;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{AccountChain, Anvil};

use crate::balances::Book;
use crate::rig::{Rig, follow, options};

/// A small generator of numbers; the seed is in the failure's text.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % end
    }
}

/// Calls of the recorded chain, which deploy its contracts and use them in every way.
fn calls() -> Vec<Value> {
    let chain = AccountChain::recorded(Take::Anvil);
    let txs = chain.blocks.iter().flat_map(|block| block.body["transactions"].as_array().unwrap());
    let call = |tx: &Value| {
        let mut call = json!({
            "from": tx["from"], "value": tx["value"], "gas": tx["gas"],
            "data": tx["input"],
        });
        if tx["to"].is_string() {
            call["to"] = tx["to"].clone();
        }
        if let Some(list) = tx.get("authorizationList") {
            call["authorizationList"] = list.clone();
        }
        call
    };
    let sendable = |tx: &&Value| tx["type"] != "0x3" && tx["type"] != "0x4";
    txs.filter(sendable).map(call).collect()
}

async fn tip(node: &Anvil) -> String {
    let block = node.call("eth_getBlockByNumber", json!(["latest", false])).await.unwrap();
    block["hash"].as_str().unwrap().to_owned()
}

async fn hold(rig: &Rig, node: &Anvil, what: &str) {
    rig.whole_at(&tip(node).await).await;
    let book = Book::of(rig).await;
    let mut checked = 0;
    for address in book.addresses() {
        let ask = |block: &'static str| node.call("eth_getBalance", json!([address, block]));
        let read = |value: Value| {
            let digits = value.as_str().unwrap().trim_start_matches("0x").to_owned();
            U256::from_str_radix(&digits, 16).unwrap()
        };
        let (began, has) = (read(ask("0x0").await.unwrap()), read(ask("latest").await.unwrap()));
        let told = rig.ok(&format!("address/{address}")).await;
        assert_eq!(told["balance"], has.to_string(), "{what}: {address}");
        // What a transaction gave a contract that it created is not told with the transaction.
        if rig.get(&format!("contract/{address}")).await.status == 404 {
            assert_eq!(book.balance(address, began), has, "{what}: {address}");
            checked += 1;
        }
    }
    assert!(checked > 0, "{what}");
}

/// A fresh index of the same node, filled from its tip down, has the same rows.
async fn same_as_fresh(rig: &Rig, node: &Anvil, what: &str) {
    let dir = TempDir::new().unwrap();
    let backwards = SyncOptions { first_blocks: 1, ..options() };
    let (fresh, pool) = follow(dir.path(), &[node.url()], backwards);
    for _ in 0..6000 {
        let whole = fresh.view().is_some_and(|view| {
            let coverage = view.coverage(Tier::Any).unwrap();
            coverage.complete && coverage.traces && fresh.standing().in_sync
        });
        if whole {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let dump = |index: &index::account::Index| {
        let rows = index.store().lock().unwrap().dump().unwrap();
        // What the index began at is its own.
        rows.into_iter().filter(|row| !row.contains("626567756e5f6174")).collect::<Vec<_>>()
    };
    let (ours, theirs) = (dump(&rig.index), dump(&fresh));
    assert!(ours == theirs, "{what}: {} and {} rows", ours.len(), theirs.len());
    fresh.stop().await;
    pool.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_random_walk_keeps_every_balance_and_every_row() {
    let seed = 20_261_128;
    let mut dice = Dice(seed);
    let node =
        Anvil::start(&["--no-mining", "--order", "fifo", "--hardfork", "prague"]).await.unwrap();
    let calls = calls();
    let mut next = 0;
    let mut rig = Rig::start(&[node.url()], options()).await;
    for step in 0..14 {
        let what = format!("seed {seed}, step {step}");
        for _ in 0..=dice.below(3) {
            // The first ones deploy the contracts, at the addresses that the others call.
            for _ in 0..4 + dice.below(8) {
                let call = match calls.get(next) {
                    Some(call) => call,
                    None => &calls[dice.below(calls.len() as u64) as usize],
                };
                next += 1;
                let _ = node.call("eth_sendTransaction", json!([call])).await;
            }
            node.mine(1).await.unwrap();
        }
        match dice.below(5) {
            0 | 1 if step > 4 => {
                let depth = 1 + dice.below(3);
                node.call("anvil_reorg", json!([depth, []])).await.unwrap();
            }
            2 => rig = rig.restart(&[node.url()]).await,
            3 if step > 4 => {
                rig.whole_at(&tip(&node).await).await;
                let depth = 1 + dice.below(2);
                node.call("anvil_reorg", json!([depth, []])).await.unwrap();
                rig = rig.restart(&[node.url()]).await;
            }
            _ => {}
        }
        hold(&rig, &node, &what).await;
    }
    same_as_fresh(&rig, &node, &format!("seed {seed}")).await;
}
