//! Blocks that are popped, and others in their place: places of outputs are given anew.

use replay::{Phase, Replay};
use serde_json::json;

use crate::ring::rig::{Rig, items, text, tip};
use crate::ring::said::Said;

/// Everything that the node said of the blocks of a phase above `from`, and of what waits.
async fn shows(rig: &Rig, phase: Phase, from: u64) -> usize {
    let said = Said::up_to(phase);
    let tip = u64::from(tip(phase));
    let mut rings = 0;
    for height in from..=tip {
        let (block, shown) = (&said.blocks[&height], rig.ok(&format!("block/{height}")).await);
        let header = &block["block_header"];
        assert_eq!(shown["hash"], header["hash"], "{height}");
        assert_eq!(shown["size"], header["block_size"], "{height}");
        assert_eq!(shown["reward"], header["reward"].to_string());
        assert_eq!(shown["confirmations"], tip - height + 1);
        let hashes: Vec<String> = std::iter::once(&block["miner_tx_hash"])
            .chain(block["tx_hashes"].as_array().into_iter().flatten())
            .map(|hash| text(hash).to_owned())
            .collect();
        assert_eq!(shown["tx_count"], hashes.len());
        let list = rig.ok(&format!("block/{height}/txs")).await;
        let listed: Vec<&str> = items(&list["txs"]).iter().map(|tx| text(&tx["hash"])).collect();
        assert_eq!(listed, hashes);
        for hash in &hashes[1..] {
            let shown = rig.ok(&format!("tx/{hash}")).await;
            assert_eq!(shown["block_height"], height);
            if let Some(expected) = said.rings(hash) {
                assert_eq!(shown["inputs"], expected, "{hash}");
                rings += 1;
            }
        }
    }
    let mempool = rig.ok("mempool").await;
    let mut waiting: Vec<&str> =
        items(&mempool["txs"]).iter().map(|tx| text(&tx["hash"])).collect();
    let mut expected: Vec<&str> = said.waiting.iter().map(String::as_str).collect();
    waiting.sort_unstable();
    expected.sort_unstable();
    assert_eq!(waiting, expected);
    rings
}

/// What is only in the one phase is gone in the other.
async fn is_gone(rig: &Rig, old: Phase, new: Phase) -> usize {
    let (before, after) = (Said::up_to(old), Said::up_to(new));
    let mut gone = 0;
    for height in 160..=u64::from(tip(old)) {
        let block = &before.blocks[&height];
        let hash = text(&block["block_header"]["hash"]);
        let stays = height <= tip(new).into()
            && after.blocks[&height]["block_header"]["hash"] == block["block_header"]["hash"];
        if stays {
            continue;
        }
        rig.refused(&format!("block/{hash}"), 404, "NOT_FOUND").await;
        rig.refused(&format!("block/{hash}/txs"), 404, "NOT_FOUND").await;
        assert_eq!(rig.ok(&format!("search/{hash}")).await, json!({"kind": "none"}));
        let coinbase = text(&block["miner_tx_hash"]);
        rig.refused(&format!("tx/{coinbase}"), 404, "NOT_FOUND").await;
        gone += 1;
    }
    gone
}

async fn turn(node: &Replay, rig: &Rig, phase: Phase) {
    node.set_phase(phase);
    let said = Said::up_to(phase);
    let height = tip(phase);
    let hash = said.blocks[&u64::from(height)]["block_header"]["hash"].clone();
    rig.until("another tip", |view| {
        let pool = view.mempool().map(|mempool| mempool.count());
        view.height() == height
            && hash == view.hash().to_string()
            && rig.index.standing().in_sync
            && pool == Some(said.waiting.len() as u64)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn popped_blocks_are_gone_and_new_ones_are_resolved_anew() {
    let (node, rig) = Rig::recorded(Phase::A).await;
    assert!(shows(&rig, Phase::A, 0).await >= 17);
    turn(&node, &rig, Phase::Popped).await;
    shows(&rig, Phase::Popped, 155).await;
    assert_eq!(is_gone(&rig, Phase::A, Phase::Popped).await, 3);
    turn(&node, &rig, Phase::B).await;
    assert!(shows(&rig, Phase::B, 160).await >= 1);
    assert_eq!(is_gone(&rig, Phase::A, Phase::B).await, 3);
    // And back, as if nothing had been.
    turn(&node, &rig, Phase::A).await;
    assert!(shows(&rig, Phase::A, 0).await >= 17);
    assert_eq!(is_gone(&rig, Phase::B, Phase::A).await, 5);
}
