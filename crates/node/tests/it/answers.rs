//! How answers come through, and what becomes of those that do not end as they should.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http_body::Body;
use node::{AnswerBody, Cause, NodeConfig, NodeError, Route, Sent, Tried, Weight};

use crate::scripted::*;

async fn frame(body: &mut AnswerBody) -> Option<Result<Bytes, NodeError>> {
    let next = std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await;
    next.map(|frame| frame.map(|frame| frame.into_data().unwrap()))
}

/// A head, then `count` pieces of 64 KiB.
async fn pieces(peer: &mut Peer, head: &str, count: usize) {
    peer.say(head).await;
    let piece = vec![b'x'; 64 << 10];
    for _ in 0..count {
        peer.say(&piece).await;
    }
}

#[tokio::test]
async fn status_and_bytes_pass_unchanged() {
    let odd = "{\"result\":1.10000000,\"result\":1e30,\"id\":\"\u{fffd}\"}\r\n\n";
    let server = Scripted::answering(|heard| with_status("500 Oops", &heard.text())).await;
    let (_pool, node) = lone(&server);
    let lease = node.lease(1, Weight::Light).await.unwrap();
    let answer = node.send(lease, Route::Rpc, odd.into(), node::Ids::None).await.unwrap();
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(answer.length, Some(odd.len() as u64));
    assert!(!answer.close_delimited);
    assert_eq!(answer.body.into_whole().unwrap(), odd);
}

#[tokio::test]
async fn chunked_answers_are_put_together() {
    let server = Scripted::start(|mut peer| async move {
        while peer.hear().await.is_some() {
            peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[1,\r\n").await;
            tokio::time::sleep(millis(20)).await;
            peer.say("2\r\n2]\r\n0\r\n\r\n").await;
        }
    })
    .await;
    let (_pool, node) = lone(&server);
    for round in 0..2 {
        let answer = send(&node).await.unwrap();
        assert!(!answer.close_delimited && answer.length.is_none());
        assert_eq!(answer.reused_connection, round > 0);
        assert_eq!(answer.body.collect(100).await.unwrap(), "[1,2]");
    }
    assert_eq!(node.state().idle_connections, 1);
}

#[tokio::test]
async fn small_chunked_answer_is_whole_at_once() {
    let server = Scripted::answering(|_| {
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[1]\r\n0\r\n\r\n".to_vec()
    })
    .await;
    let (_pool, node) = lone(&server);
    let answer = send(&node).await.unwrap();
    assert_eq!((answer.length, answer.close_delimited), (Some(3), false));
    assert_eq!(node.state().idle_connections, 1, "given back before the body was touched");
    assert_eq!(answer.body.into_whole().unwrap(), "[1]");
}

#[tokio::test]
async fn answer_without_length_is_marked() {
    let server = Scripted::start(|mut peer| async move {
        peer.hear().await;
        peer.say("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"result\":").await;
        tokio::time::sleep(millis(20)).await;
        peer.say("1}\n").await;
        peer.close().await;
    })
    .await;
    let (_pool, node) = lone(&server);
    for _ in 0..2 {
        let answer = send(&node).await.unwrap();
        assert!(answer.close_delimited && answer.length.is_none() && !answer.reused_connection);
        assert_eq!(answer.body.collect(100).await.unwrap(), "{\"result\":1}\n");
    }
    assert_eq!((node.in_flight(), node.state().idle_connections), (0, 0));
}

#[tokio::test]
async fn empty_answers_end_at_once() {
    let server = Scripted::answering(|_| b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()).await;
    let (_pool, node) = lone(&server);
    for _ in 0..3 {
        let answer = send(&node).await.unwrap();
        assert_eq!((answer.status, answer.length), (StatusCode::NO_CONTENT, Some(0)));
        assert!(answer.body.is_end_stream() && !answer.close_delimited);
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn interim_heads_are_passed_over() {
    let server = Scripted::answering(|_| {
        [&b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: b\r\n\r\n"[..], &*ok("1")]
            .concat()
    })
    .await;
    let (_pool, node) = lone(&server);
    for _ in 0..2 {
        assert_eq!(call(&node).await.unwrap(), "1");
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn answer_before_the_request_was_read_is_taken() {
    let server = Scripted::start(|mut peer| async move {
        let mut some = [0; 1000];
        tokio::io::AsyncReadExt::read_exact(&mut peer.stream, &mut some).await.unwrap();
        peer.say(with_status("413 Too Large", "no")).await;
        std::future::pending().await
    })
    .await;
    let (_pool, node) = lone(&server);
    let body = bytes::Bytes::from(vec![b' '; 32 << 20]);
    let lease = node.lease(1, Weight::Light).await.unwrap();
    let answer = node.send(lease, Route::Rpc, body, node::Ids::None).await.unwrap();
    assert_eq!((answer.status, answer.length), (StatusCode::PAYLOAD_TOO_LARGE, Some(2)));
    assert_eq!(answer.body.collect(100).await.unwrap(), "no");
    assert_eq!((node.in_flight(), node.state().idle_connections), (0, 0));
}

#[tokio::test]
async fn large_requests_arrive_whole() {
    let server = Scripted::answering(|heard| ok(&heard.body.len().to_string())).await;
    let (_pool, node) = lone(&server);
    for size in [1, 8 << 10, (8 << 10) + 1, 3 << 20] {
        let lease = node.lease(1, Weight::Light).await.unwrap();
        let body = bytes::Bytes::from(vec![b'x'; size]);
        let answer = node.send(lease, Route::Rpc, body, node::Ids::None).await.unwrap();
        assert_eq!(answer.body.collect(100).await.unwrap(), size.to_string());
        assert!(server.heard().last().unwrap().body.iter().all(|byte| *byte == b'x'));
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn bytes_beyond_an_answer_close_its_connection() {
    for more in ["x", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n666"] {
        let server = Scripted::answering(move |_| [&*ok("1"), more.as_bytes()].concat()).await;
        let (_pool, node) = lone(&server);
        for _ in 0..3 {
            let answer = send(&node).await.unwrap();
            assert!(!answer.reused_connection);
            assert_eq!(answer.body.collect(10).await.unwrap(), "1");
        }
        assert_eq!(server.connections(), 3);
    }
}

#[tokio::test]
async fn cut_off_answer_ends_in_an_error() {
    let server = Scripted::start(|mut peer| async move {
        peer.hear().await;
        let chunked = peer.number % 2 == 1;
        let head = if chunked { "Transfer-Encoding: chunked" } else { "Content-Length: 100" };
        peer.say(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n3\r\n[1]")).await;
        peer.close().await;
    })
    .await;
    let (_pool, node) = lone(&server);
    for _ in 0..4 {
        let error = call(&node).await.unwrap_err();
        assert_eq!((error.cause, error.sent, error.got_bytes), (Cause::Broken, Sent::Maybe, true));
    }
    assert_eq!((node.in_flight(), node.state().idle_connections), (0, 0));
}

#[tokio::test]
async fn half_a_head_is_a_broken_connection() {
    let server = Scripted::start(|mut peer| async move {
        peer.hear().await;
        peer.say("HTTP/1.1 200 OK\r\nContent-").await;
        peer.close().await;
    })
    .await;
    let (_pool, node) = lone(&server);
    let error = call(&node).await.unwrap_err();
    assert_eq!((error.cause, error.sent, error.got_bytes), (Cause::Broken, Sent::Maybe, true));
}

#[tokio::test]
async fn what_is_not_http_is_malformed() {
    let server = Scripted::answering(|_| b"SSH-2.0-OpenSSH_9.9\r\n\r\n".to_vec()).await;
    let (_pool, node) = lone(&server);
    let error = call(&node).await.unwrap_err();
    assert_eq!((error.cause, error.got_bytes), (Cause::Malformed, true));
    assert!(!error.to_string().contains("SSH"));
}

#[tokio::test]
async fn huge_head_is_bounded() {
    let server = Scripted::start(|mut peer| async move {
        peer.hear().await;
        peer.say("HTTP/1.1 200 OK\r\n").await;
        for number in 0..4000 {
            peer.say(format!("X-{number}: {}\r\n", "y".repeat(1000))).await;
        }
    })
    .await;
    let (_pool, node) = lone(&server);
    let error = call(&node).await.unwrap_err();
    assert_eq!((error.cause, error.sent), (Cause::Malformed, Sent::Maybe));
}

#[tokio::test]
async fn slow_head_ends_the_attempt() {
    let server = Scripted::start(|mut peer| async move {
        peer.hear().await;
        loop {
            // A head that grows for ever is no answer either.
            peer.say("HTTP/1.1 200 OK\r\nX: ").await;
            tokio::time::sleep(millis(10)).await;
            if peer.number == 0 {
                return std::future::pending().await;
            }
        }
    })
    .await;
    let (_pool, node) = lone_with(&server, |config| config.timeouts.first_byte = millis(60));
    let error = call(&node).await.unwrap_err();
    assert_eq!((error.cause, error.sent), (Cause::TimedOutFirstByte, Sent::Maybe));
    assert_eq!((node.in_flight(), node.state().idle_connections), (0, 0));
}

#[tokio::test]
async fn length_above_the_limit_is_known_before_the_head_is_passed() {
    let server = Scripted::start(|mut peer| async move {
        peer.hear().await;
        peer.say("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n").await;
        std::future::pending().await
    })
    .await;
    let (_pool, node) = lone_with(&server, |config| config.response_limit = 1000);
    let error = send(&node).await.unwrap_err();
    assert_eq!((error.cause, error.got_bytes), (Cause::TooLarge, true));
    assert_eq!(node.in_flight(), 0);
}

#[tokio::test]
async fn body_without_end_is_cut_at_the_limit() {
    let server = Scripted::start(|mut peer| async move {
        peer.hear().await;
        pieces(&mut peer, "HTTP/1.1 200 OK\r\n\r\n", 100_000).await;
    })
    .await;
    let (_pool, node) = lone_with(&server, |config| config.response_limit = 1 << 20);
    let mut answer = send(&node).await.unwrap();
    let mut passed = 0;
    let error = loop {
        match frame(&mut answer.body).await.unwrap() {
            Ok(data) => passed += data.len(),
            Err(error) => break error,
        }
    };
    assert_eq!(error.cause, Cause::TooLarge);
    assert!(passed <= 1 << 20);
    assert!(frame(&mut answer.body).await.is_none());
    assert_eq!((node.in_flight(), node.state().open_answers), (0, 0));
}

#[tokio::test]
async fn answer_that_stalls_is_ended() {
    let server = Scripted::start(|mut peer| async move {
        peer.hear().await;
        pieces(&mut peer, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", 1).await;
        std::future::pending().await
    })
    .await;
    let (pool, node) = lone_with(&server, |config| {
        config.timeouts.whole = millis(200);
        config.timeouts.whole_fast = millis(2000);
        config.reader_window = millis(50);
        config.probe_interval = Duration::from_secs(3600);
    });
    pool.start();
    pool.probed().await;
    let error = call(&node).await.unwrap_err();
    assert_eq!((error.cause, error.got_bytes), (Cause::TimedOutWhole, true));
    assert_eq!((node.in_flight(), node.state().open_answers), (0, 0));
}

#[tokio::test]
async fn answer_of_a_node_that_a_reload_removes_goes_on_and_keeps_its_limits() {
    let server = Scripted::start(|mut peer| async move {
        peer.hear().await;
        pieces(&mut peer, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", 1).await;
        std::future::pending().await
    })
    .await;
    let other = Scripted::answering(|_| ok("1")).await;
    let mut limits = None;
    let (pool, node) = lone_with(&server, |config| {
        config.timeouts.whole = millis(300);
        config.reader_window = millis(50);
        config.probe_interval = Duration::from_secs(3600);
        limits = Some(config.clone());
    });
    pool.start();
    pool.probed().await;
    let mut answer = send(&node).await.unwrap();
    drop(node);
    let nodes = vec![NodeConfig::new(other.url())];
    pool.reload(node::PoolConfig { nodes, ..limits.unwrap() }).unwrap();
    let mut passed = 0;
    let error = loop {
        match frame(&mut answer.body).await.unwrap() {
            Ok(data) => passed += data.len(),
            Err(error) => break error,
        }
    };
    assert_eq!((passed, error.cause), (64 << 10, Cause::TimedOutWhole));
}

#[tokio::test]
async fn fast_reader_may_go_on_but_not_for_ever() {
    let server = Scripted::start(|mut peer| async move {
        peer.hear().await;
        peer.say("HTTP/1.1 200 OK\r\n\r\n").await;
        loop {
            peer.say(vec![b'x'; 64 << 10]).await;
            tokio::time::sleep(millis(1)).await;
        }
    })
    .await;
    let (pool, node) = lone_with(&server, |config| {
        config.timeouts.whole = millis(600);
        config.timeouts.whole_fast = millis(1800);
        // Five pieces in such a time are enough to be fast.
        config.reader_window = millis(300);
        config.probe_interval = Duration::from_secs(3600);
    });
    pool.start();
    pool.probed().await;
    let began = std::time::Instant::now();
    let error = call(&node).await.unwrap_err();
    assert_eq!(error.cause, Cause::TimedOutWhole);
    assert!(began.elapsed() >= millis(1800));
}

#[tokio::test]
async fn slow_reader_is_cut_only_when_others_wait() {
    let server = Scripted::start(|mut peer| async move {
        peer.hear().await;
        pieces(&mut peer, "HTTP/1.1 200 OK\r\n\r\n", 10_000).await;
    })
    .await;
    let nodes = vec![NodeConfig { slots: Some(1), ..NodeConfig::new(server.url()) }];
    let pool = pool_with("dcr", "simnet", nodes, |config| {
        config.reader_window = millis(100);
        config.queue_wait = millis(2000);
        config.timeouts.probe = millis(20);
        config.probe_interval = Duration::from_secs(3600);
    });
    let node = pool.pick(&Tried::new()).unwrap();
    pool.start();
    pool.probed().await;
    let mut slow = send(&node).await.unwrap();
    assert!(frame(&mut slow.body).await.unwrap().is_ok());
    tokio::time::sleep(millis(400)).await;
    assert_eq!(node.in_flight(), 1, "nobody waits, so nobody is cut");
    // The slot of the slow reader, whose body is not even polled, is given to the next.
    let next = node.lease(2, Weight::Light).await;
    assert!(next.is_ok());
    let error = loop {
        match frame(&mut slow.body).await.unwrap() {
            Ok(_) => continue,
            Err(error) => break error,
        }
    };
    assert_eq!(error.cause, Cause::SlowReader);
}

#[tokio::test]
async fn body_dropped_half_way_closes_the_connection() {
    let (gone, mut is_gone) = tokio::sync::mpsc::unbounded_channel();
    let server = Scripted::start(move |mut peer| {
        let gone = gone.clone();
        async move {
            peer.hear().await;
            pieces(&mut peer, "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", 2).await;
            assert!(peer.hear().await.is_none());
            gone.send(()).unwrap();
        }
    })
    .await;
    let (_pool, node) = lone(&server);
    let mut answer = send(&node).await.unwrap();
    assert_eq!(answer.body.size_hint().exact(), Some(99_999_999));
    let first = frame(&mut answer.body).await.unwrap().unwrap();
    assert_eq!(answer.body.size_hint().exact(), Some(99_999_999 - first.len() as u64));
    drop(answer);
    is_gone.recv().await.unwrap();
    let state = node.state();
    assert_eq!((state.in_flight, state.open_answers, state.idle_connections), (0, 0, 0));
}

#[tokio::test]
async fn slot_is_free_at_the_head_where_the_node_is_done_by_then() {
    for (slug, network, slots_held, open) in [
        ("btc", "regtest", 0, 1),
        ("ltc", "regtest", 0, 1),
        ("xmr", "regtest", 0, 1),
        ("dcr", "simnet", 1, 0),
        ("eth", "dev", 0, 1),
        ("zec", "regtest", 0, 1),
    ] {
        let server = Scripted::start(|mut peer| async move {
            peer.hear().await;
            pieces(&mut peer, "HTTP/1.1 200 OK\r\nContent-Length: 131072\r\n\r\n", 2).await;
            std::future::pending().await
        })
        .await;
        let pool = pool(slug, network, vec![NodeConfig::new(server.url())]);
        let node = pool.pick(&Tried::new()).unwrap();
        let answer = send(&node).await.unwrap();
        assert_eq!((node.in_flight(), node.state().open_answers), (slots_held, open), "{slug}");
        assert_eq!(answer.body.collect(1 << 20).await.unwrap().len(), 131_072);
        let state = node.state();
        assert_eq!((state.in_flight, state.open_answers, state.idle_connections), (0, 0, 1));
    }
}
