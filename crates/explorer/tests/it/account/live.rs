//! A live anvil: a random walk with reorganisations and restarts, after each step of which the
//! explorer's word is held against the node's.

use replay::Take;
use serde_json::json;
use testkit::{AccountChain, Anvil};

use crate::account::invariants::invariants;
use crate::account::rig::{Rig, options};
use crate::account::truth::{audited, hold, same_as_fresh, tip};

/// A small generator of numbers; the seed is in the failure's text.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % end
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_random_walk_keeps_every_balance_and_every_row() {
    let seed = 20_261_128;
    let mut dice = Dice(seed);
    let node =
        Anvil::start(&["--no-mining", "--order", "fifo", "--hardfork", "prague"]).await.unwrap();
    // They deploy the recorded chain's contracts and use them in every way.
    let calls = AccountChain::recorded(Take::Anvil).calls();
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
                rig.whole_at(&tip(&node.url()).await).await;
                let depth = 1 + dice.below(2);
                node.call("anvil_reorg", json!([depth, []])).await.unwrap();
                rig = rig.restart(&[node.url()]).await;
            }
            _ => {}
        }
        hold(&rig, &node.url(), &what).await;
        let tip = rig.ok("status").await["height"].as_u64().unwrap();
        invariants(&rig, tip.saturating_sub(5), &what).await;
    }
    let what = format!("seed {seed}");
    audited(&rig, &node.url(), &what).await;
    invariants(&rig, 0, &what).await;
    same_as_fresh(&rig, &node.url(), &what).await;
    has_every_kind(&rig, &what).await;
    // The deployer of CREATE2 contracts, which anvil has from the beginning.
    predeployed(&rig, "0x4e59b44847b379578588920ca78fbf26c0b4956c", &what).await;
}

/// A contract that nobody created is one, of which nobody is told.
pub async fn predeployed(rig: &Rig, contract: &str, what: &str) {
    let told = rig.ok(&format!("contract/{contract}")).await;
    assert!(told.get("creator").is_none() && told.get("tx_hash").is_none(), "{what}: {told}");
    assert_eq!(told["coverage"]["complete"], true, "{what}: {told}");
    assert_eq!(rig.ok(&format!("address/{contract}")).await["is_contract"], true, "{what}");
}

/// The walk came by everything that an index has to know of.
async fn has_every_kind(rig: &Rig, what: &str) {
    let mut seen = std::collections::BTreeSet::new();
    let tip = rig.ok("status").await["height"].as_u64().unwrap();
    for height in 0..=tip {
        for tx in rig.walk(&format!("block/{height}/txs"), 50).await.0 {
            let tx = rig.ok(&format!("tx/{}", tx["hash"].as_str().unwrap())).await;
            seen.insert(format!("type {} {}", tx["type"], tx["status"].as_str().unwrap()));
            for operation in tx["internal_operations"].as_array().unwrap() {
                seen.insert(operation["type"].as_str().unwrap().to_owned());
            }
            let transfers = tx["token_transfers"].as_array().unwrap();
            seen.extend(transfers.iter().map(|it| it["standard"].as_str().unwrap().to_owned()));
            // A batch has several things in one log.
            if tx["log_count"] == 1 && transfers.len() > 1 {
                seen.insert("batch".to_owned());
            }
            if tx["type"] == 4 {
                let to = rig.ok(&format!("address/{}", tx["to"].as_str().unwrap())).await;
                seen.extend(to.get("delegated_to").map(|_| "delegation".to_owned()));
            }
        }
    }
    let kinds = ["call", "create", "create2", "selfdestruct", "erc20", "erc721", "erc1155"];
    let others = ["batch", "delegation", "type 2 success", "type 2 failed", "type 4 success"];
    for kind in kinds.into_iter().chain(others) {
        assert!(seen.contains(kind), "{what}: no {kind} in {seen:?}");
    }
}
