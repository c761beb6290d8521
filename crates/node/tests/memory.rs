//! What open answers hold in memory. Alone in its process, since it looks at all of that.
#![allow(clippy::unwrap_used, reason = "a test may")]
#![allow(dead_code, reason = "the scripted server can do more than is needed here")]

#[path = "it/scripted.rs"]
mod scripted;

use std::pin::Pin;

use bytes::Bytes;
use http_body::Body;
use node::{AnswerBody, NodeConfig, NodeError, Tried};
use scripted::*;

async fn frame(body: &mut AnswerBody) -> Option<Result<Bytes, NodeError>> {
    let next = std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await;
    next.map(|frame| frame.map(|frame| frame.into_data().unwrap()))
}

/// Kilobytes of memory that this process holds.
fn resident_kib() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4
}

#[tokio::test]
async fn many_slow_readers_hold_little_memory() {
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
