//! What open answers hold in memory. Alone in its process, since it looks at all of that.
#![allow(clippy::unwrap_used, reason = "a test may")]
#![allow(dead_code, reason = "the scripted server can do more than is needed here")]

#[path = "it/scripted.rs"]
mod scripted;

use std::pin::Pin;

use bytes::Bytes;
use http_body::Body;
use node::{AnswerBody, NodeConfig, NodeError, Tried, Weight};
use scripted::*;

async fn frame(body: &mut AnswerBody) -> Option<Result<Bytes, NodeError>> {
    let next = std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await;
    next.map(|frame| frame.map(|frame| frame.into_data().unwrap()))
}

/// Held by the test that measures.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Kilobytes of memory that this process holds.
fn resident_kib() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4
}

#[tokio::test]
async fn many_slow_readers_hold_little_memory() {
    let _alone = ALONE.lock().await;
    static BODY: [u8; 16 << 20] = [b'x'; 16 << 20];
    let server = Scripted::start(|mut peer| async move {
        peer.hear().await;
        peer.say("HTTP/1.1 200 OK\r\nContent-Length: 16777216\r\n\r\n").await;
        peer.say(&BODY).await;
    })
    .await;
    let nodes = vec![NodeConfig { slots: Some(400), ..NodeConfig::new(server.url()) }];
    let pool = pool("eth", "dev", nodes);
    let node = pool.pick(&Tried::new()).unwrap();
    let before = resident_kib();
    let mut answers = Vec::new();
    for _ in 0..200 {
        let mut answer = send(&node).await.unwrap();
        for _ in 0..3 {
            frame(&mut answer.body).await.unwrap().unwrap();
        }
        answers.push(answer);
    }
    let grown = resident_kib().saturating_sub(before);
    // The other end of each connection, with its own read buffer, is in here as well.
    assert!(grown < 200 * 250, "{grown} KiB for 200 answers");
}

/// Kilobytes of memory that this process held at most.
fn peak_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn endless_answers_to_our_own_calls_hold_little_memory() {
    let _alone = ALONE.lock().await;
    let server = Scripted::start(|mut peer| async move {
        peer.hear().await;
        peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await;
        let piece = format!("10000\r\n{}\r\n", "0".repeat(1 << 16));
        while tokio::io::AsyncWriteExt::write_all(&mut peer.stream, piece.as_bytes()).await.is_ok()
        {
        }
    })
    .await;
    let pool = pool("btc", "regtest", vec![NodeConfig::new(server.url())]);
    let node = pool.pick(&Tried::new()).unwrap();
    let before = peak_kib();
    for _ in 0..3 {
        let head = node.call("getblockchaininfo", "[]", Weight::Internal);
        let tip = node.call("getbestblockhash", "[]", Weight::Internal);
        let waiting = node.call("getrawmempool", "[]", Weight::Internal);
        let (head, tip, waiting) = tokio::join!(head, tip, waiting);
        assert!(head.is_err() && tip.is_err() && waiting.is_err());
    }
    let grown = peak_kib().saturating_sub(before);
    // The list, half of it once more as it is moved, and the small ones.
    assert!(grown < 160 << 10, "{grown} KiB");
}
