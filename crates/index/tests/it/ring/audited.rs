//! The audit: nothing is wrong with a sound index, and a row that is spoilt is named.

use index::ring::Agreement;
use replay::{Phase, Replay, ReplayOptions};

use crate::ring::forged::mixed;
use crate::ring::proxy::Proxy;
use crate::ring::rig::{connected, node, raw_blocks};

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_index_has_no_faults_and_is_what_the_node_says() {
    let replay = Replay::start("xmr", ReplayOptions::default()).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let store = connected(dir.path(), &raw_blocks(&replay.url()).await);
    let mut steps = Vec::new();
    let verdict = store.verify(|progress| steps.push(progress.step)).unwrap();
    assert_eq!((verdict.fault_count, &verdict.faults[..]), (0, &[][..]));
    assert!(steps.contains(&"blocks") && steps.contains(&"names") && steps.len() < 10);
    assert_eq!((verdict.blocks, verdict.transactions), (171, 188));
    assert_eq!((verdict.hidden_outputs, verdict.public_outputs), (226, 1));
    // `get_coinbase_tx_sum` tells new coins and fees apart; coinbases paid both.
    assert_eq!(verdict.fees, 574_658_400_000);
    assert_eq!(verdict.rewards, 5_997_965_821_940_346 + 574_658_400_000);
    let (pool, node) = node(&replay.url()).await;
    assert_eq!(verdict.against(&store, &node).await, Agreement::Same);
    replay.set_phase(Phase::B);
    let agreement = verdict.against(&store, &node).await;
    assert!(matches!(agreement, Agreement::OtherBlock { .. }), "{agreement:?}");
    pool.stop();
    // A node that has another key at one place.
    replay.set_phase(Phase::A);
    let liar = Proxy::start(&replay.url(), |talk| {
        if talk.path == "/get_outs" {
            let text = String::from_utf8_lossy(&talk.answer).into_owned();
            talk.answer = text.replacen("\"key\": \"", "\"key\": \"0", 1).into_bytes();
        }
    })
    .await;
    let (pool, node) = self::node(&liar.url()).await;
    let agreement = verdict.against(&store, &node).await;
    assert_eq!(agreement, Agreement::Differs("the output at 0".into()));
    pool.stop();
}

#[test]
fn public_amounts_are_audited_too() {
    let dir = tempfile::tempdir().unwrap();
    let store = connected(dir.path(), &mixed().blocks);
    let verdict = store.verify(|_| {}).unwrap();
    assert_eq!((verdict.fault_count, &verdict.faults[..]), (0, &[][..]));
    assert_eq!((verdict.public_outputs, verdict.key_images), (11, 6));
}

/// Bodies of transactions are proved by reading them again only: no hash can be worked out without
/// the proofs.
#[tokio::test(flavor = "multi_thread")]
async fn every_block_is_read_again_and_what_differs_is_named() {
    let replay = Replay::start("xmr", ReplayOptions::default()).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let store = connected(dir.path(), &raw_blocks(&replay.url()).await);
    let (pool, honest) = node(&replay.url()).await;
    let again = store.read_again(&honest, |_| {}).await.unwrap();
    assert_eq!((again.blocks, again.transactions, again.not_compared), (171, 188, 0));
    assert_eq!((again.fault_count, &again.faults[..]), (0, &[][..]));
    // Another node has another block at the tip, and it is asked for ours by its hash.
    replay.set_phase(Phase::B);
    let left = store.read_again(&honest, |_| {}).await.unwrap();
    assert_eq!((left.blocks, left.not_compared, left.fault_count), (168, 3, 0));
    replay.set_phase(Phase::A);
    pool.stop();
    // A node that has one block's weight and one transaction otherwise.
    let liar = Proxy::start(&replay.url(), |talk| {
        let text = String::from_utf8_lossy(&talk.answer).into_owned();
        let text = text.replace("\"block_weight\": 10012", "\"block_weight\": 10013");
        talk.answer = text.into_bytes();
    })
    .await;
    let (pool, node) = node(&liar.url()).await;
    let again = store.read_again(&node, |_| {}).await.unwrap();
    assert_eq!(again.faults, ["block 132: its row is not that of its header"]);
    pool.stop();
}
