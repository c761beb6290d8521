//! A live zebrad, where it is installed: its blocks are followed, and its pools are ours.

use std::collections::BTreeSet;
use std::time::Duration;

use chain::Hash32;
use index::Memory;
use index::utxo::{Agreement, Store, Verdict};
use node::{NodeConfig, Tried, Weight};
use serde_json::json;
use testkit::{StartError, Zebrad};

use crate::live::rig::{Follower, chain, options};

#[tokio::test(flavor = "multi_thread")]
async fn zebrads_blocks_and_pools_are_ours() {
    let node = match Zebrad::start().await {
        Ok(node) => node,
        Err(error @ StartError::Missing { .. }) => return println!("skipped: {error}"),
        Err(error) => panic!("{error}"),
    };
    let dir = tempfile::tempdir().unwrap();
    let config = NodeConfig { cookie: Some(node.cookie()), ..NodeConfig::new(node.url()) };
    let follower = Follower::open("zec", vec![config], dir.path(), options()).await;
    for _ in 0..3 {
        node.mine(7).await.unwrap();
        at(&follower, best(&node).await).await;
    }
    // Coinbases of versions 4, 5 and 6, and a reorganisation that takes some of the last away.
    assert_eq!(versions(&node).await, [4, 5, 6].into());
    let hash = node.call("getblockhash", json!([17])).await.unwrap();
    node.invalidate(hash.as_str().unwrap()).await.unwrap();
    node.mine(9).await.unwrap();
    assert_ne!(node.call("getblockhash", json!([17])).await.unwrap(), hash);
    at(&follower, best(&node).await).await;
    assert_eq!(follower.index.view().unwrap().height(), 25);
    let network = chain("zec").network("regtest").unwrap();
    let memory = Memory::new(16 << 20, 16 << 20);
    let store = Store::open_read_only(dir.path(), chain("zec"), network, &memory).unwrap();
    let verdict = store.verify(|_| ()).unwrap();
    assert_eq!(verdict.faults, Vec::<String>::new());
    let one = follower.pool.pick(&Tried::new()).unwrap();
    let [question] = Verdict::questions(store.format()) else { panic!("zebrad has one sum") };
    let said = one.call(question, "[]", Weight::Internal).await.unwrap();
    assert_eq!(verdict.against(&[said.get()], chain("zec").decimals), Agreement::Same);
    let again = store.read_again(&one, |_| ()).await.unwrap();
    assert_eq!((again.faults, again.blocks), (Vec::new(), verdict.blocks));
}

async fn best(node: &Zebrad) -> Hash32 {
    let best = node.call("getbestblockhash", json!([])).await.unwrap();
    best.as_str().unwrap().parse().unwrap()
}

/// The versions of all coinbases.
async fn versions(node: &Zebrad) -> BTreeSet<u64> {
    let mut versions = BTreeSet::new();
    for height in 1..=21 {
        let block = node.call("getblock", json!([height.to_string(), 2])).await.unwrap();
        versions.insert(block["tx"][0]["version"].as_u64().unwrap());
    }
    versions
}

/// Waits until the index is at a block.
async fn at(follower: &Follower, best: Hash32) {
    for _ in 0..1500 {
        if follower.index.view().is_some_and(|view| view.hash() == best) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
    panic!("{:?}", follower.index.standing());
}
