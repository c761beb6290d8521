//! Nodes that lie: answers that are cut off, miscounted, or of other blocks.

use std::time::Duration;

use chain::ring::Hash;
use index::ring::SyncOptions;
use replay::{Replay, ReplayOptions};

use crate::ring::proxy::Proxy;
use crate::ring::rig::{Follower, in_bulk, network, node, options};

const TIP: &str = "e5c68eaaf29086c54a89447c74a3d623b748bcd1b7b200774022ec26d2d7f276";

async fn recorded() -> Replay {
    Replay::start("xmr", ReplayOptions::default()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_that_are_no_blocks_are_errors() {
    let recorded = recorded().await;
    let proxy = Proxy::start(&recorded.url(), |_| {}).await;
    let (pool, node) = node(&proxy.url()).await;
    let genesis: Hash = network().genesis.unwrap().parse().unwrap();
    let span = node.raw_span(&genesis.0, 160).await.unwrap().unwrap();
    assert_eq!((span.start_height, span.blocks.len()), (160, 11));
    // Cut off anywhere.
    for part in 0..60 {
        proxy.set(move |talk| {
            if talk.path == "/get_blocks.bin" {
                talk.answer.truncate(talk.answer.len() * part / 60);
            }
        });
        assert!(node.raw_span(&genesis.0, 160).await.is_err(), "{part}");
    }
    // Any one byte another: an error, or other bytes of blocks, which are held against hashes.
    for place in 0..200 {
        proxy.set(move |talk| {
            if talk.path == "/get_blocks.bin" {
                let place = place * 7 % talk.answer.len();
                talk.answer[place] ^= 0xff;
            }
        });
        let _ = node.raw_span(&genesis.0, 160).await;
    }
    // Counts of what is not there.
    for count in
        [[0xff; 8], [3, 0xff, 0xff, 0xff, 0, 0, 0, 0], [0xfe, 0xff, 0xff, 0x7f, 0, 0, 0, 0]]
    {
        proxy.set(move |talk| {
            let head = [&[1, 0x11, 1, 1, 1, 1, 2, 1, 1, 8, 6][..], b"blocks\x8c"].concat();
            talk.answer = [&head[..], &count, &[0; 1000]].concat();
        });
        assert!(node.raw_span(&genesis.0, 160).await.is_err());
    }
    for said in [&b"Failed"[..], b"BUSY"] {
        proxy.set(move |talk| {
            let mut text = vec![1, 0x11, 1, 1, 1, 1, 2, 1, 1, 4, 6];
            text.extend_from_slice(b"status\x0a");
            text.push((said.len() as u8) << 2);
            text.extend_from_slice(said);
            talk.answer = text;
        });
        assert!(node.raw_span(&genesis.0, 160).await.is_err());
    }
    proxy.set(|talk| talk.status = 404);
    assert_eq!(node.raw_span(&genesis.0, 160).await.unwrap(), None);
    pool.stop();
}

/// An index that follows a liar gets no further than what is true; then an honest node mends it.
async fn stays_true(
    options: SyncOptions,
    lie: impl Fn(&mut crate::ring::proxy::Talk<'_>) + Send + Sync + 'static,
) {
    let recorded = recorded().await;
    let liar = Proxy::start(&recorded.url(), lie).await;
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::start(dir.path(), &[liar.url()], options);
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert!(!follower.index.standing().in_sync);
    assert!(follower.index.view().is_none_or(|view| view.hash().to_string() != TIP));
    liar.set(|_| {});
    follower.in_sync_at(TIP.parse().unwrap()).await;
    follower.end().await;
}

/// Puts other bytes in the place of the first such ones.
fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    if let Some(at) = bytes.windows(from.len()).position(|part| part == from) {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_with_other_bytes_are_not_connected() {
    // A digit of a blob, of each block.
    stays_true(options(), |talk| {
        replace(&mut talk.answer, b"\"blob\": \"1010", b"\"blob\": \"1011")
    })
    .await;
    // In a span a byte of a block behind the first ones.
    stays_true(in_bulk(), |talk| {
        if talk.path == "/get_blocks.bin" {
            let place = talk.answer.len() / 2;
            talk.answer[place] ^= 1;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_with_other_bytes_are_not_connected() {
    stays_true(options(), |talk| {
        if talk.path == "/get_transactions" {
            replace(&mut talk.answer, b"\"as_hex\": \"02000", b"\"as_hex\": \"02003");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_that_do_not_follow_are_not_connected() {
    // The height that it names, which stands in little-endian behind its name.
    stays_true(in_bulk(), |talk| {
        replace(&mut talk.answer, b"start_height\x05\x00", b"start_height\x05\x07")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_block_is_asked_of_another_node() {
    let recorded = recorded().await;
    let liar = Proxy::start(&recorded.url(), |talk| {
        if talk.path == "/get_blocks.bin" {
            let place = talk.answer.len() / 2;
            talk.answer[place] ^= 1;
        }
    })
    .await;
    for options in [in_bulk(), options()] {
        let dir = tempfile::tempdir().unwrap();
        let urls = [liar.url(), recorded.url()];
        let follower = Follower::start(dir.path(), &urls, options);
        follower.in_sync_at(TIP.parse().unwrap()).await;
        follower.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_with_other_bytes_is_not_shown() {
    let recorded = recorded().await;
    let waiting = "f97044c3028826bbcaa885fd0853af91103f84fa449f3ab73acf7d4ae9e6c99a";
    let liar = Proxy::start(&recorded.url(), move |talk| {
        let asks = talk.asked.windows(64).any(|part| part == waiting.as_bytes());
        if talk.path == "/get_transactions" && asks {
            replace(&mut talk.answer, b"\"as_hex\": \"02000", b"\"as_hex\": \"02003");
        }
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::start(dir.path(), &[liar.url()], options());
    follower.until("the tip", |index| index.view().is_some_and(|view| view.height() == 170)).await;
    follower
        .until("one", |index| {
            index.view().is_some_and(|view| view.mempool().is_some_and(|pool| pool.count() == 1))
        })
        .await;
    assert!(!follower.index.standing().in_sync);
    assert!(follower.view().transaction(&waiting.parse().unwrap()).unwrap().is_none());
    liar.set(|_| {});
    follower.in_sync_at(TIP.parse().unwrap()).await;
    assert_eq!(follower.view().mempool().unwrap().count(), 2);
    follower.end().await;
}
