//! A reorganisation at unchanged height, and what it leaves behind.

use index::Tier;
use replay::Phase;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{AccountChain, StubAccounts};

use crate::account::rig::{Rig, follow, options};

async fn shows(rig: &Rig, chain: &AccountChain) {
    for block in &chain.blocks {
        let found = rig.ok(&format!("block/{}", block.hash())).await;
        assert_eq!(found["height"], block.height());
        let (txs, _) = rig.walk(&format!("block/{}/txs", block.height()), 50).await;
        let hashes: Vec<&Value> = txs.iter().map(|tx| &tx["hash"]).collect();
        let expected = block.body["transactions"].as_array().unwrap();
        let expected: Vec<&Value> = expected.iter().map(|tx| &tx["hash"]).collect();
        assert_eq!(hashes, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_are_replaced_at_unchanged_height_and_leave_nothing_behind() {
    let (before, after) = (
        AccountChain::recorded_reorganisation(Phase::A),
        AccountChain::recorded_reorganisation(Phase::B),
    );
    assert_eq!((before.tip().height(), after.tip().height()), (23, 23));
    assert_ne!(before.tip().hash(), after.tip().hash());
    let node = StubAccounts::start(before.clone()).await;
    let rig = Rig::start(&[node.url()], options()).await;
    rig.whole_at(before.tip().hash()).await;
    shows(&rig, &before).await;
    let contract = "contract/0xb19b36b1456e65e3a6d514d3f715f204bd59f431";
    assert!(rig.ok(contract).await["creator"].is_string());
    node.show(after.clone());
    rig.whole_at(after.tip().hash()).await;
    shows(&rig, &after).await;
    let mut gone = 0;
    for (old, new) in before.blocks.iter().zip(&after.blocks).filter(|(a, b)| a.hash() != b.hash())
    {
        assert_eq!(old.height(), new.height());
        rig.refused(&format!("block/{}", old.hash()), 404, "NOT_FOUND").await;
        let none = json!({"kind": "none"});
        assert_eq!(rig.ok(&format!("search/{}", old.hash())).await, none);
        for tx in old.body["transactions"].as_array().unwrap() {
            let hash = tx["hash"].as_str().unwrap();
            if !new.body.to_string().contains(hash) {
                rig.refused(&format!("tx/{hash}"), 404, "NOT_FOUND").await;
                gone += 1;
            }
        }
    }
    assert_eq!(gone, 3);
    assert!(
        !rig.index
            .store()
            .lock()
            .unwrap()
            .dump()
            .unwrap()
            .iter()
            .any(|row| row.contains("b19b36b1456e65e3a6d514d3f715f204bd59f431")
                && row.starts_with("creation"))
    );
    same_as_fresh(&rig, &node, after.tip().hash()).await;
}

/// A fresh index of the same node has the same rows.
async fn same_as_fresh(rig: &Rig, node: &StubAccounts, tip: &str) {
    let dir = TempDir::new().unwrap();
    // Filled from the tip down instead of from genesis up.
    let backwards = index::account::SyncOptions { first_blocks: 1, ..options() };
    let (fresh, pool) = follow(dir.path(), &[node.url()], backwards);
    for _ in 0..3000 {
        let whole = |view: std::sync::Arc<index::account::View>| {
            let coverage = view.coverage(Tier::Any).unwrap();
            view.tip().hash.to_string() == tip && coverage.complete && coverage.traces
        };
        if fresh.view().is_some_and(whole) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let dump = |index: &index::account::Index| {
        let rows = index.store().lock().unwrap().dump().unwrap();
        // What the index began at is its own.
        rows.into_iter().filter(|row| !row.contains("626567756e5f6174")).collect::<Vec<_>>()
    };
    assert_eq!(dump(&rig.index), dump(&fresh));
    fresh.stop().await;
    pool.stop();
}
