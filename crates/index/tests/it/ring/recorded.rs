//! Recorded nodes, before and after a reorganisation, in every way that an index comes about.

use chain::ring::Hash;
use replay::{Phase, Replay, ReplayOptions};

use crate::ring::proxy::{Proxy, Talk};
use crate::ring::rig::{
    Follower, assert_same, connected, in_bulk, open, options, raw_blocks, rows, waiting,
};

async fn recorded(phase: Phase) -> Replay {
    Replay::start("xmr", ReplayOptions { phase, ..ReplayOptions::default() }).await.unwrap()
}

fn hash(text: &str) -> Hash {
    text.parse().unwrap()
}

const TIP_A: &str = "e5c68eaaf29086c54a89447c74a3d623b748bcd1b7b200774022ec26d2d7f276";
const TIP_B: &str = "c7109c323306dec31b6872ea6fc6faf59431345575365ccb4366ea911671c394";
const TIP_POPPED: u32 = 167;

/// A node that has no endpoint for many blocks.
fn without_spans(talk: &mut Talk<'_>) {
    if talk.path.ends_with(".bin") {
        talk.status = 404;
        talk.answer.clear();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_to_an_index_leads_to_the_same_rows() {
    let node = recorded(Phase::A).await;
    let blocks = raw_blocks(&node.url()).await;
    assert_eq!(blocks.len(), 171);
    let dirs: Vec<_> = (0..4).map(|_| tempfile::tempdir().unwrap()).collect();
    let by_block = connected(dirs[0].path(), &blocks);
    let poor = Proxy::start(&node.url(), without_spans).await;
    let ways = [(node.url(), options()), (node.url(), in_bulk()), (poor.url(), in_bulk())];
    for ((url, options), dir) in ways.into_iter().zip(&dirs[1..]) {
        let follower = Follower::start(dir.path(), &[url], options);
        follower.in_sync_at(hash(TIP_A)).await;
        follower.assert_rows(&by_block);
        follower.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_went_through_a_reorganisation_is_like_a_fresh_one() {
    let node = recorded(Phase::A).await;
    let (grown_dir, fresh_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let grown = Follower::start(grown_dir.path(), &[node.url()], options());
    grown.in_sync_at(hash(TIP_A)).await;
    let before = grown.view();
    node.set_phase(Phase::Popped);
    grown
        .until("popped", |index| {
            index.standing().in_sync && index.view().is_some_and(|it| it.height() == TIP_POPPED)
        })
        .await;
    // Of the three that wait there only what the node shows with them.
    assert_eq!(waiting(&grown.view()).len(), 3);
    node.set_phase(Phase::B);
    grown.in_sync_at(hash(TIP_B)).await;
    let fresh = connected(fresh_dir.path(), &raw_blocks(&node.url()).await);
    grown.assert_rows(&fresh);
    // A view that was taken before stays what it was.
    assert_eq!((before.height(), before.hash()), (170, hash(TIP_A)));
    assert!(before.block(170, index::Tier::Any).unwrap().is_some());
    let after = grown.view();
    for gone in [TIP_A, "40beee0612f95d17254fbd9a1b3ce126c64921e5035b679dedc5c95b61e58248"] {
        // The node answers for both.
        assert_eq!(after.block_height(&hash(gone), index::Tier::Any).unwrap(), None);
    }
    assert_eq!(after.transaction_count(), 18);
    let facts = after.facts().unwrap();
    assert_eq!((facts.difficulty, facts.hash_rate(), facts.fee_per_byte), (1, 0, Some(1_200_000)));
    assert_eq!((facts.block_size_limit, facts.median_block_size), (600_000, 300_000));
    grown.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_connected_and_taken_back_leaves_nothing_behind() {
    let node = recorded(Phase::B).await;
    let blocks = raw_blocks(&node.url()).await;
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut store = open(dir.path());
    let mut before = vec![rows(&store)];
    for block in &blocks {
        store.connect(block).unwrap();
        before.push(rows(&store));
    }
    assert!(store.sizes().len() == 9 && before[173].len() > 900);
    for height in (0..blocks.len()).rev() {
        store.disconnect().unwrap();
        assert!(rows(&store) == before[height], "height {height}");
    }
    assert_eq!(store.disconnect().unwrap(), None);
    blocks.iter().for_each(|block| store.connect(block).unwrap());
    assert_same(&store, &connected(other.path(), &blocks));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_is_cut_off_goes_on_and_serves_nothing_before() {
    let node = recorded(Phase::A).await;
    let (dir, fresh) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // A node that gives blocks in small parts, and no more after the second.
    let blocks = raw_blocks(&node.url()).await;
    let given = std::sync::atomic::AtomicU32::new(0);
    let stuck = Proxy::start(&node.url(), move |talk| {
        without_spans(talk);
        let is_block =
            talk.path == "/json_rpc" && talk.asked.windows(11).any(|part| part == b"\"get_block\"");
        let count = given.fetch_add(u32::from(is_block), std::sync::atomic::Ordering::SeqCst);
        if is_block && count > 120 {
            talk.status = 500;
        }
    })
    .await;
    let loading = Follower::start(dir.path(), &[stuck.url()], in_bulk());
    loading.until("half of it", |index| index.standing().height >= 99).await;
    assert!(loading.index.view().is_none());
    assert!(loading.index.standing().first_load.is_some());
    loading.end().await;
    assert!(open(dir.path()).is_loading());
    let resumed = Follower::start(dir.path(), &[node.url()], in_bulk());
    resumed.in_sync_at(hash(TIP_A)).await;
    resumed.assert_rows(&connected(fresh.path(), &blocks));
    assert!(!resumed.index.store().lock().unwrap().is_loading());
    resumed.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_open_port_knows_of_stem_phases_is_not_shown() {
    let node = recorded(Phase::A).await;
    let stem = "f97044c3028826bbcaa885fd0853af91103f84fa449f3ab73acf7d4ae9e6c99a";
    let proxy = Proxy::start(&node.url(), |talk| {
        if talk.path == "/get_transaction_pool" {
            let text = String::from_utf8_lossy(&talk.answer).into_owned();
            let text =
                text.replacen("\"last_relayed_time\": 1795813718", "\"last_relayed_time\": 0", 1);
            talk.answer = text.into_bytes();
        }
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::start(dir.path(), &[proxy.url()], options());
    follower.in_sync_at(hash(TIP_A)).await;
    let shown = waiting(&follower.view());
    assert_eq!((shown.len(), shown.contains(&hash(stem))), (1, false));
    assert!(follower.view().transaction(&hash(stem)).unwrap().is_none());
    // Once the network was shown it, everybody is.
    proxy.set(|_| {});
    follower.until("both", |index| waiting(&index.view().unwrap()).len() == 2).await;
    // Newest first seen first.
    assert_eq!(waiting(&follower.view())[0], hash(stem));
    follower.end().await;
}
