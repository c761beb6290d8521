//! A live monerod in regtest: mining, blocks taken back and mined anew, starts of ours between.

use serde_json::{Value, json};
use testkit::Monerod;

use crate::ring::rig::{Follower, connected, in_bulk, node, options, raw_blocks};

async fn tip(node: &Monerod) -> chain::ring::Hash {
    let info = node.call("get_info", json!({})).await.unwrap();
    info["top_block_hash"].as_str().unwrap().parse().unwrap()
}

async fn pop(node: &Monerod, blocks: u32) {
    let body = json!({ "nblocks": blocks }).to_string();
    let answer = node.post("/pop_blocks", body.as_bytes()).await.unwrap();
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(answer["status"], "OK");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_follows_a_live_node_through_everything() {
    let node_process = Monerod::start(None).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    node_process.mine(30).await.unwrap();
    // A restricted port is enough.
    let urls = [node_process.restricted_url()];
    let follower = Follower::start(dir.path(), &urls, in_bulk());
    follower.in_sync_at(tip(&node_process).await).await;
    node_process.mine(7).await.unwrap();
    follower.in_sync_at(tip(&node_process).await).await;
    for (gone, mined) in [(1, 1), (5, 6), (9, 3), (2, 12)] {
        pop(&node_process, gone).await;

        node_process.mine(mined).await.unwrap();

        follower.in_sync_at(tip(&node_process).await).await;
    }
    follower.end().await;
    // Away while the chain changes.
    pop(&node_process, 4).await;
    node_process.mine(9).await.unwrap();
    let follower = Follower::start(dir.path(), &[node_process.url()], options());
    follower.in_sync_at(tip(&node_process).await).await;
    assert_eq!(follower.index.standing().node_version.as_deref().map(|it| &it[..4]), Some("0.18"));

    let (fresh, loaded) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let blocks = raw_blocks(&node_process.url()).await;
    assert!(blocks.iter().all(|block| block.output_indices.is_some()));
    let store = connected(fresh.path(), &blocks);
    follower.assert_rows(&store);
    let bulk = Follower::start(loaded.path(), &urls, in_bulk());
    bulk.in_sync_at(tip(&node_process).await).await;
    bulk.assert_rows(&store);
    bulk.end().await;
    let (pool, node) = node(&node_process.url()).await;
    let verdict = store.verify(|_| {}).unwrap();
    assert_eq!(verdict.against(&store, &node).await, index::ring::Agreement::Same);
    // The node's own word on weights and rewards.
    let row = store.block(10).unwrap().unwrap();
    let header = node_process.call("get_block_header_by_height", json!({"height": 10})).await;
    let header = &header.unwrap()["block_header"];
    assert_eq!(header["block_weight"].as_u64(), Some(row.size));
    assert_eq!(header["reward"].as_u64(), Some(row.reward));
    pool.stop();
    follower.end().await;
}
