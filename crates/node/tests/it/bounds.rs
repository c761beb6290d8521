//! Nodes that answer without end, to calls of our own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use node::{CallError, Cause, Node, NodeConfig, NodeError, Pool, Tried, Weight};

use tokio::io::AsyncWriteExt;

use crate::scripted::*;

const MIB: u64 = 1 << 20;
/// What the sockets between hold besides, and one piece.
const UNDER_WAY: u64 = 12 * MIB;

/// A node that answers everything with a text that does not end, and how much of it was taken.
async fn endless(slug: &str, network: &str) -> (Scripted, Arc<Pool>, Arc<Node>, Arc<AtomicU64>) {
    let taken = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&taken);
    let server = Scripted::start(move |mut peer| {
        let counted = Arc::clone(&counted);
        async move {
            if peer.hear().await.is_none() {
                return;
            }
            peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await;
            let piece = format!("10000\r\n{}\r\n", "0".repeat(1 << 16));
            while peer.stream.write_all(piece.as_bytes()).await.is_ok() {
                counted.fetch_add(1 << 16, Ordering::Relaxed);
            }
        }
    })
    .await;
    let pool = pool(slug, network, vec![NodeConfig::new(server.url())]);
    let node = pool.pick(&Tried::new()).unwrap();
    (server, pool, node, taken)
}

fn is_too_large<T: std::fmt::Debug>(outcome: &Result<T, CallError>) -> bool {
    matches!(outcome, Err(CallError::Node(NodeError { cause: Cause::TooLarge, .. })))
}

#[tokio::test]
async fn endless_answers_are_cut_at_what_they_can_be() {
    let weight = Weight::Internal;
    for (slug, network, method, params, bound) in [
        ("btc", "regtest", "getblockchaininfo", "[]", 4),
        ("btc", "regtest", "getrawmempool", "[]", 64),
        ("eth", "dev", "eth_getBlockByNumber", r#"["latest",false]"#, 4),
        ("eth", "dev", "eth_getBlockByNumber", r#"["0x1",true]"#, 32),
        ("xmr", "regtest", "get_info", "{}", 4),
    ] {
        let (_server, _pool, node, taken) = endless(slug, network).await;
        let outcome = node.call(method, params, weight).await;
        assert!(is_too_large(&outcome), "{method}: {outcome:?}");
        let taken = taken.load(Ordering::Relaxed);
        assert!(taken < bound * MIB + UNDER_WAY, "{method}: {taken}");
    }
    let (_server, _pool, node, taken) = endless("btc", "regtest").await;
    let outcome =
        node.call_batch(&[("getblockhash", "[0]"), ("getblockhash", "[1]")], weight).await;
    assert!(is_too_large(&outcome));
    assert!(taken.load(Ordering::Relaxed) < 8 * MIB + UNDER_WAY);
    let (_server, _pool, node, taken) = endless("btc", "regtest").await;
    assert!(is_too_large(&node.raw_block(&"0".repeat(64)).await));
    assert!(taken.load(Ordering::Relaxed) < 8 * MIB + UNDER_WAY);
    let (_server, _pool, node, taken) = endless("xmr", "regtest").await;
    assert!(is_too_large(&node.call_path("/get_outs", "{}", weight).await));
    assert!(taken.load(Ordering::Relaxed) < 4 * MIB + UNDER_WAY);
}

#[tokio::test]
async fn large_answers_at_once_all_come_to_their_end() {
    let text = format!("\"{}\"", "0".repeat(30 << 20));
    let server = Scripted::answering(move |_| result(&text)).await;
    let pool = pool("btc", "regtest", vec![NodeConfig::new(server.url())]);
    let node = pool.pick(&Tried::new()).unwrap();
    // Together more than there is room for at once.
    let calls = (0..16).map(|_| {
        let node = Arc::clone(&node);
        tokio::spawn(async move { node.call("getrawmempool", "[]", Weight::Internal).await })
    });
    let mut whole = 0;
    for call in calls.collect::<Vec<_>>() {
        match call.await.unwrap() {
            Ok(list) => whole += u32::from(list.get().len() == (30 << 20) + 2),
            Err(CallError::Busy(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(whole > 0);
}
