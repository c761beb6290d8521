//! Raw blocks and spent outputs: by REST where a node has it, by JSON-RPC where it has not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chain::Hash32;
use http::StatusCode;
use node::{CallError, Cause, Node, NodeConfig, PoolConfig, Secret, Tried, Weight};
use serde_json::json;
use testkit::{Litecoind, Login};

use crate::scripted::*;

/// A block as far as the node crate looks into it: 80 bytes whose hash is its name.
fn block() -> (Vec<u8>, String) {
    let block: Vec<u8> = (0..200u8).collect();
    let hash = Hash32::sha256d(&[&block[..80]]).to_string();
    (block, hash)
}

fn binary(body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn empty(status: &str) -> Vec<u8> {
    with_status(status, "")
}

fn verbs(server: &Scripted) -> Vec<String> {
    let heard = server.heard();
    heard.iter().map(|heard| heard.head.split(' ').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn get_has_no_body_and_gives_every_status() {
    let server = Scripted::answering(|heard| match heard.path().as_str() {
        "/key/a" => binary(b"\x00\xff"),
        "/key/b" => with_status("403 Forbidden", "no"),
        _ => with_status("500 Oh", "oh"),
    })
    .await;
    let config = NodeConfig {
        user: Some("u".into()),
        password: Some(Secret::new("p")),
        ..NodeConfig::new(format!("{}key/", server.url()))
    };
    let node = pool("btc", "regtest", vec![config]).pick(&Tried::new()).unwrap();
    let get = async |path| node.get(path, Weight::Light).await.unwrap();
    assert_eq!(get("/a").await, (StatusCode::OK, b"\x00\xff"[..].into()));
    assert_eq!(get("/b").await, (StatusCode::FORBIDDEN, "no".into()));
    assert_eq!(get("/c").await, (StatusCode::INTERNAL_SERVER_ERROR, "oh".into()));
    assert_eq!(server.connections(), 1, "connections are shared");
    let heard = server.heard().remove(0);
    assert!(heard.head.starts_with("GET /key/a HTTP/1.1\r\n"));
    assert_eq!(heard.header("content-length").or(heard.header("content-type")), None);
    assert!(heard.header("authorization").unwrap().starts_with("Basic "));
}

#[tokio::test]
async fn get_respects_the_response_limit_and_the_slots() {
    let server = Scripted::answering(|_| binary(&[7; 1000])).await;
    let (_pool, node) = lone_with(&server, |config| {
        config.response_limit = 999;
        config.queue_wait = millis(20);
        config.nodes[0].slots = Some(1);
    });
    let error = node.get("/a", Weight::Internal).await.unwrap_err();
    assert!(matches!(error, CallError::Node(error) if error.cause == Cause::TooLarge));
    let lease = node.lease(0, Weight::Internal).await.unwrap();
    let error = node.get("/a", Weight::Internal).await.unwrap_err();
    assert!(matches!(error, CallError::Busy(_)));
    drop(lease);
}

#[tokio::test]
async fn rest_gives_the_block() {
    let (block, hash) = block();
    let body = block.clone();
    let server = Scripted::answering(move |_| binary(&body)).await;
    let (_pool, node) = lone(&server);
    assert_eq!(node.raw_block(&hash).await.unwrap(), block);
    assert_eq!(server.heard()[0].path(), format!("/rest/block/{hash}.bin"));
    assert_eq!(verbs(&server), ["GET"]);
}

/// A node whose REST answers this, and whose RPC has the block; what it was asked, over two
/// blocks.
async fn asked_with(rest: Vec<u8>) -> Vec<String> {
    let (block, hash) = block();
    let hex = hex(&block);
    let server = Scripted::answering(move |heard| match heard.head.starts_with("GET") {
        true => rest.clone(),
        false => result(&format!("\"{hex}\"")),
    })
    .await;
    let (_pool, node) = lone(&server);
    for _ in 0..2 {
        assert_eq!(node.raw_block(&hash).await.unwrap(), block);
    }
    assert!(server.heard().iter().any(|heard| heard.text().contains(&format!("[\"{hash}\",0]"))));
    assert!(!node.state().ejected);
    verbs(&server)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn rest_that_is_off_is_remembered() {
    for rest in [
        empty("404 Not Found"),
        empty("403 Forbidden"),
        with_status("401 Unauthorized", "who?"),
        with_status("404 Not Found", "<html><h1>404 Not Found</h1></html>"),
        binary(b"welcome to our page"),
    ] {
        assert_eq!(asked_with(rest).await, ["GET", "POST", "POST"]);
    }
}

#[tokio::test]
async fn rest_without_this_block_is_asked_again_for_the_next() {
    for rest in [
        with_status("404 Not Found", "00ab not found\r\n"),
        with_status("404 Not Found", "00ab not available (pruned data)\r\n"),
        with_status("503 Service Unavailable", "Service temporarily unavailable: Loading\r\n"),
    ] {
        assert_eq!(asked_with(rest).await, ["GET", "POST", "GET", "POST"]);
    }
}

#[tokio::test]
async fn rest_is_tried_again_after_its_time() {
    let (block, hash) = block();
    let (body, text) = (block.clone(), hex(&block));
    let on = Arc::new(AtomicBool::new(false));
    let switch = on.clone();
    let server = Scripted::answering(move |heard| match heard.head.starts_with("GET") {
        true if switch.load(Ordering::SeqCst) => binary(&body),
        true => empty("404 Not Found"),
        false => result(&format!("\"{text}\"")),
    })
    .await;
    let (_pool, node) = lone_with(&server, |config| config.route_retry = Duration::ZERO);
    assert_eq!(node.raw_block(&hash).await.unwrap(), block);
    on.store(true, Ordering::SeqCst);
    assert_eq!(node.raw_block(&hash).await.unwrap(), block);
    assert_eq!(verbs(&server), ["GET", "POST", "GET"]);
}

#[tokio::test]
async fn boolean_verbosity_is_learnt_from_the_refusal() {
    let (block, hash) = block();
    let text = hex(&block);
    let server = Scripted::answering(move |heard| {
        if heard.head.starts_with("GET") {
            return empty("404 Not Found");
        }
        match heard.text().contains(",false]") {
            true => result(&format!("\"{text}\"")),
            false => rpc_error(-1, "JSON value is not a boolean as expected"),
        }
    })
    .await;
    let pool = pool("doge", "regtest", vec![NodeConfig::new(server.url())]);
    let node = pool.pick(&Tried::new()).unwrap();
    for _ in 0..2 {
        assert_eq!(node.raw_block(&hash).await.unwrap(), block);
    }
    assert_eq!(verbs(&server), ["GET", "POST", "POST", "POST"]);
}

#[tokio::test]
async fn nodes_error_and_another_block_are_told() {
    let (block, hash) = block();
    let text = hex(&block);
    let other = "5".repeat(64);
    let unknown = "6".repeat(64);
    let says_unknown = unknown.clone();
    let server = Scripted::answering(move |heard| match heard.head.starts_with("GET") {
        true => empty("404 Not Found"),
        false if heard.text().contains(&says_unknown) => rpc_error(-5, "Block not found"),
        false => result(&format!("\"{text}\"")),
    })
    .await;
    let (_pool, node) = lone(&server);
    assert!(node.raw_block(&hash.to_uppercase()).await.is_ok());
    let error = node.raw_block(&unknown).await.unwrap_err();
    assert!(matches!(error, CallError::Rpc { code: -5, .. }));
    assert!(matches!(node.raw_block(&other).await.unwrap_err(), CallError::Shape { .. }));
    for bad in ["", "00", "../../../etc/passwd", &"é".repeat(32)] {
        assert!(matches!(node.raw_block(bad).await.unwrap_err(), CallError::Node(_)));
    }
}

async fn live(more: &[&str]) -> (Litecoind, Arc<Node>) {
    let litecoind = Litecoind::start(Login::Cookie, more).await.unwrap();
    let config =
        NodeConfig { cookie: Some(litecoind.cookie()), ..NodeConfig::new(litecoind.url()) };
    let node = pool("ltc", "regtest", vec![config]).pick(&Tried::new()).unwrap();
    (litecoind, node)
}

#[tokio::test]
async fn live_node_gives_the_same_block_with_and_without_rest() {
    for more in [&[][..], &["-rest=0"]] {
        let (litecoind, node) = live(more).await;
        let hash = litecoind.mine(2).await.unwrap().remove(0);
        let expected = litecoind.call("getblock", json!([hash, 0])).await.unwrap();
        for _ in 0..2 {
            let raw = node.raw_block(&hash).await.unwrap();
            assert_eq!(hex(&raw), expected.as_str().unwrap());
        }
        let (status, body) =
            node.get(&format!("/rest/block/{hash}.bin"), Weight::Internal).await.unwrap();
        assert_eq!(
            (status == StatusCode::OK, body.is_empty()),
            (more.is_empty(), !more.is_empty())
        );
        let error = node.raw_block(&"0".repeat(64)).await.unwrap_err();
        assert!(matches!(error, CallError::Rpc { code: -5, .. }), "{error}");
    }
}

#[tokio::test]
async fn live_node_answers_a_batch_in_order() {
    let (litecoind, node) = live(&[]).await;
    litecoind.mine(3).await.unwrap();
    let mut calls: Vec<(&str, String)> =
        (0..4).map(|height| ("getblockhash", format!("[{height}]"))).collect();
    calls.insert(2, ("getblockhash", "[99]".to_owned()));
    let answers = node.call_batch(&calls, Weight::Internal).await.unwrap();
    for ((_, params), answer) in calls.iter().zip(&answers) {
        let height: Vec<u32> = serde_json::from_str(params).unwrap();
        match answer {
            Ok(hash) => {
                let expected = litecoind.call("getblockhash", json!(height)).await.unwrap();
                assert_eq!(hash.get(), expected.to_string());
            }
            Err(error) => assert_eq!((height[0], error.code), (99, -8)),
        }
    }
    assert_eq!(answers.iter().filter(|answer| answer.is_err()).count(), 1);
    let none: &[(&str, &str)] = &[];
    assert!(node.call_batch(none, Weight::Internal).await.unwrap().is_empty());
    assert_eq!(PoolConfig::default().route_retry, Duration::from_secs(300));
}

#[tokio::test]
async fn recorded_zebrad_and_dcrd_give_their_blocks_as_hex() {
    for (slug, network, flag) in [("zec", "regtest", ",0]"), ("dcr", "simnet", ",false]")] {
        let replay = replay::Replay::start(slug, replay::ReplayOptions::default()).await.unwrap();
        let pool = pool(slug, network, vec![NodeConfig::new(replay.url())]);
        let node = pool.pick(&Tried::new()).unwrap();
        let mut blocks = 0;
        for line in replay::recorded(slug).unwrap() {
            let Some(hash) =
                line.params().strip_suffix(flag).filter(|_| line.method() == "getblock")
            else {
                continue;
            };
            let Some(recorded) = line.result() else { continue };
            replay.set_phase(line.phase());
            let hash = hash.trim_matches(['[', '"']);
            if hash.len() != 64 {
                // What dcrd makes of a short one.
                continue;
            }
            let raw = node.raw_block(hash).await.unwrap();
            assert_eq!(recorded, format!("\"{}\"", const_hex::encode(&raw)).as_bytes(), "{hash}");
            blocks += 1;
        }
        assert!(blocks > 100, "{slug}: {blocks}");
    }
}
