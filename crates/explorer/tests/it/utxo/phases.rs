//! Everything that recorded nodes said, before and after a reorganisation, asked over HTTP.

use replay::Phase;
use serde_json::json;
use testkit::Recording;

use crate::utxo::rig::{Plan, Rig};
use crate::utxo::trial::{Trial, text};

/// What only the chain before the reorganisation had is not found any more.
async fn left_behind(rig: &Rig, slug: &str) {
    let (before, after) = (Recording::of(slug, Phase::A), Recording::of(slug, Phase::B));
    let base = format!("/api/v1/{slug}");
    let mut client = rig.client().await;
    let (mut blocks, mut txs) = (0, 0);
    for (old, new) in before.blocks.iter().zip(&after.blocks) {
        if old["hash"] != new["hash"] {
            let hash = text(&old["hash"]);
            client.refused(&format!("{base}/block/{hash}"), 404, "NOT_FOUND").await;
            client.refused(&format!("{base}/block/{hash}/txs"), 404, "NOT_FOUND").await;
            let none = json!({ "kind": "none" });
            assert_eq!(client.ok(&format!("{base}/search/{hash}")).await, none);
            blocks += 1;
        }
    }
    for txid in before.expected["txs"].as_object().unwrap().keys() {
        let stays = ["txs", "voided"].iter().any(|list| after.expected[list].get(txid).is_some());
        if !stays && !after.waiting.contains(txid) {
            client.refused(&format!("{base}/tx/{txid}"), 404, "NOT_FOUND").await;
            txs += 1;
        }
    }
    for address in before.expected["addresses"].as_object().unwrap().keys() {
        if after.expected["addresses"].get(address).is_none() {
            client.refused(&format!("{base}/address/{address}"), 404, "NOT_FOUND").await;
        }
    }
    assert_eq!(blocks, 3);
    assert!(txs >= 3, "{slug}: {txs} coinbases were left behind");
}

async fn check(slug: &'static str) {
    let mut rig = Plan::of(&[slug]).start().await;
    Trial::of(&rig, slug, Phase::A).await.hold().await;
    rig.followed[0].turn(Phase::B).await;
    Trial::of(&rig, slug, Phase::B).await.hold().await;
    left_behind(&rig, slug).await;
    rig.restart().await;
    rig.followed[0].in_sync(Phase::B).await;
    Trial::of(&rig, slug, Phase::B).await.hold().await;
    left_behind(&rig, slug).await;
}

/// The same, from an index that was loaded in bulk.
async fn check_loaded(slug: &'static str) {
    let rig = Plan { bulk_from: 1, ..Plan::of(&[slug]) }.start().await;
    Trial::of(&rig, slug, Phase::A).await.hold().await;
    rig.followed[0].turn(Phase::B).await;
    Trial::of(&rig, slug, Phase::B).await.hold().await;
    left_behind(&rig, slug).await;
}

macro_rules! recorded {
    ($($slug:ident)*) => {$(
        mod $slug {
            #[tokio::test(flavor = "multi_thread")]
            async fn block_by_block() {
                super::check(stringify!($slug)).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn loaded_in_bulk() {
                super::check_loaded(stringify!($slug)).await;
            }
        }
    )*};
}

recorded!(btc ltc doge bch xec zec dcr);
