//! The audit: nothing is wrong with a sound index, and a row that is spoilt is named.

use index::ring::Agreement;
use replay::{Phase, Replay, ReplayOptions};

use crate::ring::forged::mixed;
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
    // Counts and blocks are the same; these places of outputs were not recorded.
    let agreement = verdict.against(&store, &node).await;
    assert!(matches!(&agreement, Agreement::Unreadable(why) if why.contains("/get_outs")));
    replay.set_phase(Phase::B);
    let agreement = verdict.against(&store, &node).await;
    assert!(matches!(agreement, Agreement::OtherBlock { .. }), "{agreement:?}");
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
