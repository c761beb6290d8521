//! Our own calls over the websocket of dcrd, and by HTTP where there is none.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt, stream};
use node::{
    CallError, Cause, Ejection, Node, NodeConfig, Pool, PoolConfig, Secret, Tried, Weight, inspect,
};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use replay::{Auth, Replay, ReplayOptions, Tls};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::scripted::*;

/// The recorded dcrd behind TLS with a certificate of its own, and how it is configured.
struct Recorded {
    replay: Replay,
    config: NodeConfig,
    _dir: TempDir,
}

impl Recorded {
    async fn start(websocket: bool) -> Recorded {
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        let dir = tempfile::tempdir().unwrap();
        let ca = dir.path().join("rpc.cert");
        std::fs::write(&ca, &certificate).unwrap();
        let tls = Some(Tls::from_pem(&certificate, &key.serialize_pem()).unwrap());
        let auth = Auth::Basic { user: "u".into(), password: "p".into() };
        let options = ReplayOptions { tls, auth, websocket, ..ReplayOptions::default() };
        let replay = Replay::start("dcr", options).await.unwrap();
        let config = NodeConfig {
            ca: Some(ca),
            user: Some("u".into()),
            password: Some(Secret::new("p")),
            ..NodeConfig::new(replay.url())
        };
        Recorded { replay, config, _dir: dir }
    }

    fn node(&self, change: impl FnOnce(&mut PoolConfig)) -> (Arc<Pool>, Arc<Node>) {
        let pool = pool_with("dcr", "simnet", vec![self.config.clone()], change);
        let node = pool.pick(&Tried::new()).unwrap();
        (pool, node)
    }
}

/// Every block of the recording, eight at once, as a first load asks for them. How many calls that
/// took.
async fn all_blocks(node: &Arc<Node>) -> (Vec<bytes::Bytes>, u64) {
    let best = node.call("getblockcount", "[]", Weight::Internal).await.unwrap();
    let best: u64 = best.get().parse().unwrap();
    let calls: Vec<_> = (0..=best).map(|height| ("getblockhash", format!("[{height}]"))).collect();
    let hashes = node.call_batch(&calls, Weight::Internal).await.unwrap();
    let hashes = hashes.into_iter().map(|hash| hash.unwrap().get().trim_matches('"').to_owned());
    let raw = stream::iter(hashes)
        .map(|hash| {
            let node = Arc::clone(node);
            async move { node.raw_block(&hash).await.unwrap() }
        })
        .buffered(8);
    (raw.collect().await, best + 3)
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_recording_takes_one_handshake_and_one_a_call_without() {
    let (with, without) = (Recorded::start(true).await, Recorded::start(false).await);
    let (_pool, node) = with.node(|_| {});
    let began = Instant::now();
    let (blocks, calls) = all_blocks(&node).await;
    let fast = began.elapsed();
    assert!(calls > 160, "{calls}");
    assert_eq!(with.replay.connections(), 1);
    assert_eq!(node.state().in_flight, 0);
    let (_pool, node) = without.node(|_| {});
    let began = Instant::now();
    let (same, _) = all_blocks(&node).await;
    let slow = began.elapsed();
    assert_eq!(blocks, same);
    // One more asked for the websocket.
    assert_eq!(without.replay.connections(), calls + 1);
    println!("{calls} requests: 1 handshake in {fast:?}, {} in {slow:?}", calls + 1);
}

#[tokio::test]
async fn customers_calls_go_by_http() {
    let node = Recorded::start(true).await;
    let (_pool, one) = node.node(|_| {});
    one.call("getblockcount", "[]", Weight::Internal).await.unwrap();
    for _ in 0..2 {
        call(&one).await.unwrap();
    }
    assert_eq!(node.replay.connections(), 3);
}

#[tokio::test]
async fn wrong_password_is_refused_as_everywhere() {
    let node = Recorded::start(true).await;
    let config = NodeConfig { password: Some(Secret::new("q")), ..node.config.clone() };
    let pool = pool_with("dcr", "simnet", vec![config], |config| config.ejection = at_once());
    let one = pool.pick(&Tried::new()).unwrap();
    let error = one.call("getblockcount", "[]", Weight::Internal).await.unwrap_err();
    let CallError::Node(error) = error else { panic!("{error}") };
    assert_eq!(error.cause, Cause::Unauthorized);
    assert!(error.to_string().contains("401"), "{error}");
    assert!(one.state().ejected);
    assert_eq!((node.replay.calls(), node.replay.connections()), (0, 1));
}

#[tokio::test]
async fn new_password_file_is_read_before_it_is_refused() {
    let node = Recorded::start(true).await;
    let file = node._dir.path().join("password");
    std::fs::write(&file, "q").unwrap();
    let config =
        NodeConfig { password: None, password_file: Some(file.clone()), ..node.config.clone() };
    let pool = pool("dcr", "simnet", vec![config]);
    std::fs::write(&file, "p").unwrap();
    let one = pool.pick(&Tried::new()).unwrap();
    one.call("getblockcount", "[]", Weight::Internal).await.unwrap();
}

#[tokio::test]
async fn refused_upgrade_is_asked_for_again_only_after_a_while() {
    let node = Recorded::start(false).await;
    let (_pool, one) = node.node(|config| config.route_retry = Duration::from_secs(3600));
    for _ in 0..3 {
        one.call("getblockcount", "[]", Weight::Internal).await.unwrap();
    }
    assert_eq!(node.replay.connections(), 4);
    let (_pool, one) = node.node(|config| config.route_retry = Duration::ZERO);
    for _ in 0..3 {
        one.call("getblockcount", "[]", Weight::Internal).await.unwrap();
    }
    assert_eq!(node.replay.connections(), 10);
}

#[tokio::test]
async fn check_tells_what_dcrd_needs() {
    let (with, without) = (Recorded::start(true).await, Recorded::start(false).await);
    let told = async |config: NodeConfig| {
        let pool = pool("dcr", "simnet", vec![config]);
        let found = inspect(&pool.pick(&Tried::new()).unwrap()).await;
        found.advice.join("\n")
    };
    let said = told(with.config.clone()).await;
    assert!(!said.contains("rpcmaxwebsockets") && !said.contains("rpcmaxclients"), "{said}");
    let said = told(without.config.clone()).await;
    assert!(said.contains("rpcmaxwebsockets"), "{said}");
    let said = told(NodeConfig { slots: Some(12), ..with.config.clone() }).await;
    assert!(said.contains("rpcmaxclients=12"), "{said}");
    let said = told(NodeConfig { ca: None, ..with.config.clone() }).await;
    assert!(said.contains("rpc.cert") && said.contains("--altdnsnames"), "{said}");
    let said = told(NodeConfig { user: None, password: None, ..with.config.clone() }).await;
    assert!(said.contains("rpcuser and rpcpass"), "{said}");
}

fn at_once() -> Ejection {
    let day = Duration::from_secs(86_400);
    Ejection { failures: 1, first: day, longest: day }
}

type Socket = WebSocketStream<Box<dyn Wire>>;

/// The next call.
async fn hear(socket: &mut Socket) -> Option<Value> {
    loop {
        match socket.next().await?.ok()? {
            Message::Text(text) => return Some(serde_json::from_str(&text).unwrap()),
            Message::Close(_) => return None,
            _ => {}
        }
    }
}

fn answer(call: &Value, result: Value) -> String {
    json!({"jsonrpc": "1.0", "result": result, "error": null, "id": call["id"]}).to_string()
}

async fn say(socket: &mut Socket, text: impl Into<String>) {
    let _ = socket.send(Message::text(text.into())).await;
}

/// Lets `script` run over each websocket, from behind the first call on, which is answered. By HTTP
/// every call is answered with "http".
async fn granting<F, S>(script: F) -> Scripted
where
    F: Fn(Socket, usize) -> S + Send + Sync + 'static,
    S: Future<Output = ()> + Send + 'static,
{
    let script = Arc::new(script);
    upgrading(move |mut socket, number| {
        let script = Arc::clone(&script);
        async move {
            let first = hear(&mut socket).await.unwrap();
            assert_eq!(first["method"], "notifyblocks");
            say(&mut socket, answer(&first, Value::Null)).await;
            script(socket, number).await;
        }
    })
    .await
}

/// The same from the upgrade on.
async fn upgrading<F, S>(script: F) -> Scripted
where
    F: Fn(Socket, usize) -> S + Send + Sync + 'static,
    S: Future<Output = ()> + Send + 'static,
{
    let script = Arc::new(script);
    Scripted::start(move |mut peer| {
        let script = Arc::clone(&script);
        async move {
            let Some(heard) = peer.hear().await else { return };
            let Some(key) = heard.header("sec-websocket-key") else {
                let answer = heard.echo(result("\"http\""));
                peer.say(answer).await;
                return peer.close().await;
            };
            assert_eq!((heard.path().as_str(), heard.header("content-type")), ("/ws", None));
            let accept = derive_accept_key(key.as_bytes());
            peer.say(format!(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                 Sec-WebSocket-Accept: {accept}\r\n\r\n"
            ))
            .await;
            let socket = WebSocketStream::from_raw_socket(peer.stream, Role::Server, None).await;
            script(socket, peer.number).await;
        }
    })
    .await
}

fn lone_dcr(server: &Scripted, change: impl FnOnce(&mut PoolConfig)) -> (Arc<Pool>, Arc<Node>) {
    let pool = pool_with("dcr", "simnet", vec![NodeConfig::new(server.url())], change);
    let node = pool.pick(&Tried::new()).unwrap();
    (pool, node)
}

async fn ask(node: &Arc<Node>, method: &str) -> Result<String, CallError> {
    Ok(node.call(method, "[]", Weight::Internal).await?.get().to_owned())
}

fn cause(outcome: Result<String, CallError>) -> Cause {
    match outcome {
        Err(CallError::Node(error)) => error.cause,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn answers_find_their_calls_in_any_order() {
    let server = granting(|mut socket, _| async move {
        loop {
            let mut calls = Vec::new();
            for _ in 0..3 {
                let Some(call) = hear(&mut socket).await else { return };
                calls.push(call);
            }
            for call in calls.iter().rev() {
                say(&mut socket, answer(call, call["method"].clone())).await;
            }
        }
    })
    .await;
    let (_pool, node) = lone_dcr(&server, |_| {});
    for _ in 0..2 {
        let said = tokio::join!(ask(&node, "a"), ask(&node, "b"), ask(&node, "c"));
        let said = [said.0.unwrap(), said.1.unwrap(), said.2.unwrap()];
        assert_eq!(said, ["\"a\"", "\"b\"", "\"c\""]);
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn pings_and_news_come_between_answers() {
    let server = granting(|mut socket, _| async move {
        let call = hear(&mut socket).await.unwrap();
        socket.send(Message::Ping("are you there".into())).await.unwrap();
        let pong = socket.next().await.unwrap().unwrap();
        assert_eq!(pong, Message::Pong("are you there".into()));
        for method in ["work", "blockconnected"] {
            let news = json!({"jsonrpc": "1.0", "method": method, "params": ["00"], "id": null});
            say(&mut socket, news.to_string()).await;
        }
        say(&mut socket, answer(&call, json!(7))).await;
        hear(&mut socket).await;
    })
    .await;
    let (pool, node) = lone_dcr(&server, |_| {});
    pool.start();
    let mut woken = pool.woken();
    let before = pool.tip_changes();
    assert_eq!(ask(&node, "a").await.unwrap(), "7");
    tokio::time::timeout(Duration::from_secs(60), woken.changed()).await.unwrap().unwrap();
    assert!(pool.tip_changes() > before);
    pool.stop();
}

/// What a node does to a call that breaks its websocket, how that ends, and whether it speaks against
/// the node.
async fn breaking<F, S>(script: F) -> (Cause, bool)
where
    F: Fn(Socket, Value) -> S + Send + Sync + 'static,
    S: Future<Output = ()> + Send + 'static,
{
    let script = Arc::new(script);
    let server = granting(move |mut socket, number| {
        let script = Arc::clone(&script);
        async move {
            let Some(call) = hear(&mut socket).await else { return };
            if number == 0 {
                return script(socket, call).await;
            }
            say(&mut socket, answer(&call, json!("again"))).await;
            hear(&mut socket).await;
        }
    })
    .await;
    let (_pool, node) = lone_dcr(&server, |config| {
        config.ejection = at_once();
        config.response_limit = 1 << 20;
    });
    let cause = cause(ask(&node, "a").await);
    let struck = node.state().ejected;
    assert_eq!(ask(&node, "a").await.unwrap(), "\"again\"");
    assert_eq!((server.connections(), node.state().in_flight), (2, 0));
    (cause, struck)
}

#[tokio::test]
async fn broken_websocket_is_told_and_replaced() {
    let cut = breaking(|socket, call| async move {
        let mut stream = socket.into_inner();
        use tokio::io::AsyncWriteExt;
        let text = answer(&call, json!("half of this"));
        stream.write_all(&[0x81, text.len() as u8]).await.unwrap();
        stream.write_all(&text.as_bytes()[..20]).await.unwrap();
    });
    assert_eq!(cut.await, (Cause::Broken, true));
    let closed = breaking(|mut socket, _| async move {
        socket.close(None).await.unwrap();
        hear(&mut socket).await;
    });
    assert_eq!(closed.await, (Cause::Broken, true));
    let of_bytes = breaking(|mut socket, call| async move {
        let bytes = answer(&call, json!(1)).into_bytes();
        socket.send(Message::Binary(bytes.into())).await.unwrap();
        hear(&mut socket).await;
    });
    assert_eq!(of_bytes.await, (Cause::Broken, true));
    let garbage = breaking(|socket, _| async move {
        let mut stream = socket.into_inner();
        tokio::io::AsyncWriteExt::write_all(&mut stream, b"\xff\xff\xff\xff").await.unwrap();
    });
    assert_eq!(garbage.await, (Cause::Broken, true));
}

#[tokio::test]
async fn answer_to_nobody_ends_the_websocket() {
    for id in [json!(5), json!("a"), Value::Null, json!([1])] {
        let told = breaking(move |mut socket, _| {
            let text = answer(&json!({ "id": id }), json!("another's"));
            async move {
                say(&mut socket, text).await;
                hear(&mut socket).await;
            }
        });
        assert_eq!(told.await, (Cause::Stray, true));
    }
    let twice = breaking(|mut socket, call| async move {
        // A second answer is nobody's, and breaks the call after it.
        let text = answer(&call, json!("another's"));
        say(&mut socket, text.replace("\"id\":", "\"id\":1")).await;
        hear(&mut socket).await;
    });
    assert_eq!(twice.await, (Cause::Stray, true));
}

#[tokio::test]
async fn too_large_an_answer_is_no_fault_of_the_node() {
    let whole = breaking(|mut socket, call| async move {
        say(&mut socket, answer(&call, json!("0".repeat(1 << 20)))).await;
        hear(&mut socket).await;
    });
    assert_eq!(whole.await, (Cause::TooLarge, false));
    // Announced, and never sent.
    let announced = breaking(|socket, _| async move {
        let mut stream = socket.into_inner();
        let head = [&[0x81, 127][..], &(1u64 << 62).to_be_bytes()].concat();
        tokio::io::AsyncWriteExt::write_all(&mut stream, &head).await.unwrap();
        let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 8]).await;
    });
    assert_eq!(announced.await, (Cause::TooLarge, false));
}

#[tokio::test]
async fn one_broken_websocket_is_one_failure() {
    let server = granting(|mut socket, _| async move {
        for _ in 0..3 {
            hear(&mut socket).await;
        }
    })
    .await;
    let (_pool, node) = lone_dcr(&server, |config| config.ejection.failures = 2);
    let said = tokio::join!(ask(&node, "a"), ask(&node, "b"), ask(&node, "c"));
    for outcome in [said.0, said.1, said.2] {
        assert_eq!(cause(outcome), Cause::Broken);
    }
    assert!(!node.state().ejected);
}

#[tokio::test]
async fn websocket_that_is_cut_before_it_served_is_none() {
    // So dcrd does above rpcmaxwebsockets, and to whoever has no credentials.
    for heard in [0, 1] {
        let server = upgrading(move |mut socket, _| async move {
            for _ in 0..heard {
                hear(&mut socket).await;
            }
        })
        .await;
        let (_pool, node) = lone_dcr(&server, |config| config.ejection = at_once());
        for _ in 0..2 {
            assert_eq!(ask(&node, "a").await.unwrap(), "\"http\"");
        }
        assert!(!node.state().ejected);
        assert_eq!(server.connections(), 3);
    }
}

#[tokio::test]
async fn who_only_claims_to_upgrade_is_asked_by_http() {
    for head in [
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        "SSH-2.0-OpenSSH_9.9\r\n\r\n",
        "",
    ] {
        let server = Scripted::start(move |mut peer| async move {
            let Some(heard) = peer.hear().await else { return };
            let answer = match heard.path().as_str() {
                "/ws" => head.as_bytes().to_vec(),
                _ => heard.echo(result("\"http\"")),
            };
            peer.say(answer).await;
            peer.close().await;
        })
        .await;
        let (_pool, node) = lone_dcr(&server, |_| {});
        assert_eq!(ask(&node, "a").await.unwrap(), "\"http\"", "{head}");
    }
}

#[tokio::test]
async fn silent_websocket_is_left_in_time() {
    let server = granting(|mut socket, number| async move {
        while let Some(call) = hear(&mut socket).await {
            if number > 0 {
                say(&mut socket, answer(&call, json!("again"))).await;
            }
        }
    })
    .await;
    let (_pool, node) = lone_dcr(&server, |config| {
        config.timeouts.first_byte = millis(50);
        config.ejection = at_once();
    });
    assert_eq!(cause(ask(&node, "a").await), Cause::TimedOutFirstByte);
    assert!(node.state().ejected);
    until("its slot is free again", || node.state().in_flight == 0).await;
    assert_eq!(ask(&node, "a").await.unwrap(), "\"again\"");
}

#[tokio::test]
async fn answer_that_comes_slowly_has_the_time_of_the_whole() {
    let server = granting(|mut socket, _| async move {
        let call = hear(&mut socket).await.unwrap();
        let text = answer(&call, json!("0".repeat(60)));
        let mut stream = socket.into_inner();
        use tokio::io::AsyncWriteExt;
        stream.write_all(&[0x81, text.len() as u8]).await.unwrap();
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            stream.write_all(&rest[..1]).await.unwrap();
            rest = &rest[1..];
            tokio::time::sleep(millis(2)).await;
        }
        let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 8]).await;
    })
    .await;
    let (_pool, node) = lone_dcr(&server, |config| {
        config.timeouts.first_byte = millis(30);
        config.timeouts.whole = Duration::from_secs(60);
    });
    assert_eq!(ask(&node, "a").await.unwrap(), format!("\"{}\"", "0".repeat(60)));
}

#[tokio::test]
async fn slot_is_held_until_the_answer_whoever_waits() {
    let (go, gate) = tokio::sync::watch::channel(false);
    let (tell, mut told) = tokio::sync::watch::channel(0);
    let server = granting(move |mut socket, _| {
        let (mut gate, tell) = (gate.clone(), tell.clone());
        async move {
            while let Some(call) = hear(&mut socket).await {
                tell.send_modify(|heard| *heard += 1);
                gate.wait_for(|open| *open).await.unwrap();
                say(&mut socket, answer(&call, call["method"].clone())).await;
            }
        }
    })
    .await;
    let (_pool, node) = lone_dcr(&server, |_| {});
    let given_up = {
        let node = Arc::clone(&node);
        tokio::spawn(async move { ask(&node, "a").await })
    };
    told.wait_for(|heard| *heard == 1).await.unwrap();
    given_up.abort();
    assert!(given_up.await.unwrap_err().is_cancelled());
    assert_eq!(node.state().in_flight, 1, "the node is still at it");
    go.send_replace(true);
    until("it was answered", || node.state().in_flight == 0).await;
    assert_eq!(ask(&node, "b").await.unwrap(), "\"b\"");
    assert_eq!(server.connections(), 1);
}
