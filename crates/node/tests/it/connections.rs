//! How connections to a node are opened, used again and closed.

use node::{Cause, NodeConfig, Sent, Tried};

use crate::scripted::*;

#[tokio::test]
async fn request_has_a_length_and_nothing_it_need_not_have() {
    let server = Scripted::answering(|_| ok("1")).await;
    let (_pool, node) = lone(&server);
    call(&node).await.unwrap();
    let heard = server.heard().remove(0);
    let mut lines: Vec<String> = heard.head.trim_end().lines().map(str::to_lowercase).collect();
    lines.sort();
    let mut expected = vec![
        "post / http/1.1".to_owned(),
        format!("host: {}", server.address),
        "content-type: application/json".to_owned(),
        format!("content-length: {}", CALL.len()),
    ];
    expected.sort();
    assert_eq!(lines, expected);
    assert_eq!(heard.text(), CALL);
}

#[tokio::test]
async fn empty_body_has_a_length_too() {
    let server = Scripted::answering(|_| ok("1")).await;
    let (_pool, node) = lone(&server);
    let lease = node.lease(1, node::Weight::Light).await.unwrap();
    node.send(lease, node::Route::Rpc, bytes::Bytes::new(), node::Ids::None).await.unwrap();
    assert_eq!(server.heard()[0].header("content-length").unwrap(), "0");
}

#[tokio::test]
async fn path_prefix_and_plain_paths_are_joined() {
    let server = Scripted::answering(|_| ok("{}")).await;
    let config = NodeConfig::new(format!("{}key/", server.url()));
    let pool = pool("xmr", "regtest", vec![config]);
    let node = pool.pick(&Tried::new()).unwrap();
    call(&node).await.unwrap();
    let internal = node::Weight::Internal;
    node.call_path("/get_height", "{}", internal).await.unwrap();
    let paths: Vec<String> = server.heard().iter().map(Heard::path).collect();
    assert_eq!(paths, ["/key/json_rpc", "/key/get_height"]);
    assert!(!format!("{node:?} {:?}", node.state()).contains("key"));
}

#[tokio::test]
async fn connection_is_used_again() {
    let server = Scripted::answering(|_| ok("1")).await;
    let (_pool, node) = lone(&server);
    for round in 0..5 {
        let answer = send(&node).await.unwrap();
        assert_eq!(answer.reused_connection, round > 0);
        assert_eq!(answer.body.collect(10).await.unwrap(), "1");
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn connection_used_last_is_used_first() {
    let server = Scripted::start(|mut peer| async move {
        while peer.hear().await.is_some() {
            tokio::time::sleep(millis(30)).await;
            peer.say(ok("1")).await;
        }
    })
    .await;
    let (_pool, node) = lone(&server);
    let (a, b, c) = tokio::join!(call(&node), call(&node), call(&node));
    assert!(a.is_ok() && b.is_ok() && c.is_ok());
    assert_eq!(server.connections(), 3);
    for _ in 0..4 {
        call(&node).await.unwrap();
    }
    let last: Vec<usize> = server.heard()[3..].iter().map(|heard| heard.connection).collect();
    assert!(last.iter().all(|connection| *connection == last[0]), "{last:?}");
}

#[tokio::test]
async fn unused_connections_are_closed_before_the_node_does() {
    let server = Scripted::answering(|_| ok("1")).await;
    let (pool, node) = lone_with(&server, |config| {
        config.timeouts.idle = millis(60);
        config.probe_interval = std::time::Duration::from_secs(3600);
    });
    call(&node).await.unwrap();
    assert_eq!(node.state().idle_connections, 1);
    pool.start();
    until("the connection is closed", || node.state().idle_connections == 0).await;
}

#[tokio::test]
async fn old_connection_is_not_used_even_if_nobody_sweeps() {
    let server = Scripted::answering(|_| ok("1")).await;
    let (_pool, node) = lone_with(&server, |config| config.timeouts.idle = millis(20));
    call(&node).await.unwrap();
    tokio::time::sleep(millis(40)).await;
    assert!(!send(&node).await.unwrap().reused_connection);
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn connection_that_the_node_closed_while_idle_is_replaced() {
    let server = Scripted::start(|mut peer| async move {
        peer.hear().await;
        peer.say(ok("1")).await;
        peer.close().await;
    })
    .await;
    let (_pool, node) = lone(&server);
    for _ in 0..5 {
        assert_eq!(call(&node).await.unwrap(), "1");
        tokio::time::sleep(millis(20)).await;
    }
    assert_eq!(server.heard().len(), 5, "no request was lost or sent twice");
}

#[tokio::test]
async fn connection_close_is_obeyed() {
    let server = Scripted::answering(|_| {
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n1".to_vec()
    })
    .await;
    let (_pool, node) = lone(&server);
    for _ in 0..3 {
        assert!(!send(&node).await.unwrap().reused_connection);
    }
    assert_eq!(node.state().idle_connections, 0);
}

#[tokio::test]
async fn unasked_bytes_on_an_idle_connection_close_it() {
    let (said, mut is_said) = tokio::sync::mpsc::channel(8);
    let server = Scripted::start(move |mut peer| {
        let said = said.clone();
        async move {
            while peer.hear().await.is_some() {
                peer.say(ok("1")).await;
                tokio::time::sleep(millis(10)).await;
                peer.say(ok("666")).await;
                let _ = said.send(()).await;
            }
        }
    })
    .await;
    let (_pool, node) = lone(&server);
    call(&node).await.unwrap();
    is_said.recv().await.unwrap();
    let answer = send(&node).await.unwrap();
    assert!(!answer.reused_connection);
    assert_eq!(answer.body.collect(10).await.unwrap(), "1");
}

#[tokio::test]
async fn death_of_a_used_connection_says_so() {
    let server = Scripted::start(|mut peer| async move {
        peer.hear().await;
        peer.say(ok("1")).await;
        // Dies in the moment of the next request, as a node at its idle limit does.
        peer.hear().await;
    })
    .await;
    let (_pool, node) = lone(&server);
    call(&node).await.unwrap();
    let error = call(&node).await.unwrap_err();
    assert_eq!((error.cause, error.sent), (Cause::Broken, Sent::Maybe));
    assert!(error.reused_connection && !error.got_bytes);
    assert_eq!(server.heard().len(), 2, "not sent again");
    assert_eq!(call(&node).await.unwrap(), "1");
}

#[tokio::test]
async fn refused_connection_is_unsent() {
    let server = Scripted::answering(|_| ok("1")).await;
    let (_pool, node) = lone(&server);
    drop(server);
    tokio::time::sleep(millis(20)).await;
    let error = call(&node).await.unwrap_err();
    assert_eq!((error.cause, error.sent), (Cause::Connect, Sent::Nothing));
    assert!(!error.got_bytes && !error.reused_connection);
}

#[tokio::test]
async fn name_that_leads_nowhere_is_unsent() {
    let pool = pool("btc", "regtest", vec![NodeConfig::new("http://node.invalid:1/")]);
    let node = pool.pick(&Tried::new()).unwrap();
    let error = call(&node).await.unwrap_err();
    assert_eq!((error.cause, error.sent), (Cause::Connect, Sent::Nothing));
}

#[tokio::test]
async fn dropped_request_closes_its_connection_and_frees_its_slot() {
    let (gone, mut is_gone) = tokio::sync::mpsc::unbounded_channel();
    let server = Scripted::start(move |mut peer| {
        let gone = gone.clone();
        async move {
            peer.hear().await;
            assert!(peer.hear().await.is_none());
            gone.send(()).unwrap();
        }
    })
    .await;
    let (_pool, node) = lone(&server);
    let waiting = tokio::time::timeout(millis(50), call(&node)).await;
    assert!(waiting.is_err());
    is_gone.recv().await.unwrap();
    assert_eq!((node.in_flight(), node.state().idle_connections), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_calls_at_once_keep_their_answers_apart() {
    let server = Scripted::answering(|heard| ok(&heard.text())).await;
    let pool = pool_with("eth", "dev", vec![NodeConfig::new(server.url())], |config| {
        config.queue_wait = std::time::Duration::from_secs(20);
    });
    let node = pool.pick(&Tried::new()).unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..64_u64 {
        let node = node.clone();
        tasks.spawn(async move {
            for round in 0..50 {
                let text = format!("[{number},{round}]");
                let lease = node.lease(number, node::Weight::Light).await.unwrap();
                let sent = node
                    .send(lease, node::Route::Rpc, text.clone().into(), node::Ids::None)
                    .await
                    .unwrap();
                assert_eq!(sent.body.collect(100).await.unwrap(), text);
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    assert!(server.connections() <= 62, "no more than customers may hold slots");
    assert_eq!(server.heard().len(), 64 * 50);
}
