//! Answers that are remembered: byte for byte the node's under any id, never an error, never across a
//! send of one's own, within their bounds, and nothing at all unless it was asked for.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use gateway::{Remember, Settings};
use listen::Counted;
use replay::{Mock, MockOptions, RecordedKind, Replay, ReplayOptions};
use serde_json::{Value, json};
use testkit::Answer;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::counting::Counting;
use crate::rig::{Plan, Rig, call as call_on, nodes};

const PURE: &str = r#"{"id":1,"method":"decodescript","params":["51"]}"#;

fn remembering(slug: &'static str, url: &str) -> Plan {
    Plan { remember: Remember::Tip, ..Plan::one(slug, nodes(&[url])) }
}

fn how(answer: &Answer) -> Option<&str> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.header("x-cache")
}

fn result(answer: &Answer) -> Value {
    serde_json::from_slice::<Value>(&answer.body).unwrap()["result"].clone()
}

fn metric(rig: &Rig, name: &str) -> f64 {
    let text =
        prometheus::TextEncoder::new().encode_to_string(&rig.gateway.registry().gather()).unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{text}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

/// Every recorded read that may be remembered, against a gateway that remembers nothing.
async fn hold_against(slug: &'static str) {
    let replay = Replay::start(slug, ReplayOptions::default()).await.unwrap();
    let keeping = remembering(slug, &replay.url()).start().await;
    let plain = Plan::one(slug, nodes(&[&replay.url()])).start().await;
    keeping.pools[0].start();
    keeping.pools[0].probed().await;
    let methods = chain::find(slug).unwrap().methods();
    let mut connections = (keeping.connect().await, plain.connect().await);
    let (mut hits, mut seen, mut phase) = (0, HashMap::<_, HashSet<_>>::new(), None);
    for line in replay::recorded(slug).unwrap() {
        let RecordedKind::Call = line.kind() else { continue };
        let text = String::from_utf8(line.request("7").to_vec()).unwrap();
        let Ok(Value::Object(call)) = serde_json::from_str::<Value>(&text) else { continue };
        let named = call.get("method").and_then(Value::as_str).and_then(|name| methods.find(name));
        let marked = named.filter(|m| m.cache != chain::Cacheable::Never && !line.restricted());
        let Some(method) = marked else { continue };
        // Another phase of a recording is another chain, and what is final on one is not on the other.
        if phase.replace(line.phase()).is_some_and(|phase| phase != line.phase()) {
            break;
        }
        replay.set_phase(line.phase());
        let of_method = seen.entry(method.name).or_default();
        if of_method.len() == 4 || !of_method.insert(text) {
            continue;
        }
        for id in ["7", "\"b-1\"", "null", "4294967296", "-0.50"] {
            let body = line.request(id);
            let ours = call_on(&mut connections.0, &keeping, slug, &body).await;
            let nodes = call_on(&mut connections.1, &plain, slug, &body).await;
            let text = String::from_utf8_lossy(&body);
            assert_eq!((ours.status, ours.text()), (nodes.status, nodes.text()), "{slug} {text}");
            let hit = ours.header("x-cache") == Some("hit");
            assert!(!hit || !id.contains('.'), "{slug} {text}");
            hits += usize::from(hit);
        }
    }
    assert!(hits > 20, "{slug}: {hits}");
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_answers_are_the_nodes_own_under_every_id() {
    for chain in chain::ALL {
        hold_against(chain.slug).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_remembered_unless_it_is_asked_for() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let off = Plan::one("btc", nodes(&[&mock.url()])).start().await;
    for calls in 1..=3 {
        assert_eq!(how(&off.ask("btc", PURE).await), None);
        assert_eq!(mock.calls(), calls);
    }
    let plan = Plan { remember: Remember::Final, ..Plan::one("btc", nodes(&[&mock.url()])) };
    let lasting = plan.start().await;
    for expected in [None, Some("hit")] {
        assert_eq!(how(&lasting.ask("btc", PURE).await), expected);
    }
    for calls in 5..=6 {
        let tip = r#"{"id":1,"method":"getblockcount"}"#;
        assert_eq!(how(&lasting.ask("btc", tip).await), None);
        assert_eq!(mock.calls(), calls, "what changes with the tip is not final");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn identical_reads_are_asked_once_and_each_is_charged() {
    let delay = Some(Duration::from_secs(2));
    let mock = Mock::start(MockOptions { delay, ..MockOptions::default() }).await.unwrap();
    let rig = Arc::new(remembering("btc", &mock.url()).start().await);
    let ask = |id: usize| {
        let rig = rig.clone();
        let body = PURE.replacen('1', &format!("\"n{id}\""), 1);
        tokio::spawn(async move { rig.ask("btc", &body).await })
    };
    let asked: Vec<_> = (0..20).map(ask).collect();
    let mut by_node = 0;
    for (id, answer) in asked.into_iter().enumerate() {
        let answer = answer.await.unwrap();
        by_node += usize::from(how(&answer).is_none());
        let expected = format!("{{\"result\":1,\"error\":null,\"id\":\"n{id}\"}}\n");
        assert_eq!(answer.text(), expected);
        assert!(answer.header("x-ratelimit-limit").is_some());
    }
    assert_eq!((by_node, mock.calls()), (1, 1));
    assert_eq!(rig.units_today(), 20);
    let count = |word| {
        metric(
            &rig,
            &format!("portolan_gateway_cache_calls_total{{chain=\"btc\",result=\"{word}\"}}"),
        )
    };
    assert_eq!((count("miss"), count("hit") + count("joined")), (1.0, 19.0));
    assert_eq!(metric(&rig, "portolan_gateway_cache_answers"), 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_joined_is_not_harmed_by_one_who_leaves() {
    let delay = Some(Duration::from_secs(3));
    let mock = Mock::start(MockOptions { delay, ..MockOptions::default() }).await.unwrap();
    let rig = Arc::new(remembering("btc", &mock.url()).start().await);
    let mut leader = TcpStream::connect(rig.address).await.unwrap();
    let (key, length) = (&rig.key, PURE.len());
    let head = format!("POST /v1/rpc/btc HTTP/1.1\r\nX-API-Key: {key}\r\nContent-Length: {length}");
    leader.write_all(format!("{head}\r\nHost: here\r\n\r\n{PURE}").as_bytes()).await.unwrap();
    until(|| mock.calls() == 1).await;
    let joined: Vec<_> = (0..5)
        .map(|_| {
            let rig = rig.clone();
            tokio::spawn(async move { rig.ask("btc", PURE).await })
        })
        .collect();
    until(|| rig.gateway.in_flight() == 6).await;
    leader.set_zero_linger().unwrap();
    drop(leader);
    for answer in joined {
        let answer = answer.await.unwrap();
        assert_eq!((answer.status, result(&answer)), (200, json!(1)));
    }
    assert_eq!(mock.calls(), 2, "one of those who joined asked again for all");
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_and_nothing_are_not_kept_and_joiners_ask_themselves() {
    let node = Counting::start().await;
    let rig = remembering("btc", &node.url).start().await;
    for calls in 1..=3 {
        let answer = rig.ask("btc", r#"{"id":1,"method":"getblockhash","params":[900]}"#).await;
        assert_eq!(how(&answer), None);
        assert!(answer.text().contains("out of range"));
        assert_eq!(node.calls(), calls);
    }
    for calls in 4..=5 {
        assert_eq!(how(&rig.ask("btc", PURE).await), None, "null is no result to keep");
        assert_eq!(node.calls(), calls);
    }
    let dead: SocketAddr = "127.0.0.1:1".parse().unwrap();
    let rig = remembering("btc", &format!("http://{dead}")).start().await;
    for _ in 0..2 {
        assert_eq!(rig.ask("btc", PURE).await.status, 503);
    }
    assert_eq!(rig.units_today(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_follows_ones_own_send_is_never_older() {
    let node = Counting::start().await;
    let rig = remembering("btc", &node.url).start().await;
    let height = r#"{"id":1,"method":"getblockcount"}"#;
    let send = r#"{"id":2,"method":"sendrawtransaction","params":["00"]}"#;
    for round in 0..50_u64 {
        let before = rig.ask("btc", height).await;
        assert_eq!(result(&before), json!(2 * round));
        let again = rig.ask("btc", height).await;
        assert_eq!(result(&again), json!(2 * round));
        assert_eq!(rig.ask("btc", send).await.status, 200);
        let after = rig.ask("btc", height).await;
        assert_eq!((how(&after), result(&after)), (None, json!(2 * round + 1)));
        let batch = rig.ask("btc", &format!("[{send},{height}]")).await;
        let items: Vec<Value> = serde_json::from_slice(&batch.body).unwrap();
        assert_eq!(items[1]["result"], json!(2 * round + 2), "{items:?}");
    }
    assert!(
        metric(&rig, "portolan_gateway_cache_calls_total{chain=\"btc\",result=\"hit\"}") > 10.0
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_tip_that_is_known_ends_what_hung_on_it() {
    let node = Counting::start().await;
    let mut pool = nodes(&[&node.url]);
    pool.probe_interval = Duration::from_millis(20);
    let plan = Plan { remember: Remember::Tip, ..Plan::one("btc", pool) };
    let rig = plan.start().await;
    rig.pools[0].start();
    rig.pools[0].probed().await;
    let height = r#"{"id":1,"method":"getblockcount"}"#;
    for blocks in 1..=5 {
        node.height.fetch_add(1, Ordering::SeqCst);
        until(|| rig.pools[0].tip() == Some(blocks)).await;
        assert_eq!(result(&rig.ask("btc", height).await), json!(blocks));
    }
    // Without a word of it, it is a second at most.
    rig.pools[0].stop();
    node.height.store(9, Ordering::SeqCst);
    let deadline = Instant::now() + Duration::from_secs(60);
    while result(&rig.ask("btc", height).await) != json!(9) {
        assert!(Instant::now() < deadline);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn elements_of_a_batch_may_be_known() {
    let mock = Mock::start(MockOptions {
        answer: bytes::Bytes::from_static(b"[{\"result\":2,\"error\":null,\"id\":9}]\n"),
        echo_ids: false,
        ..MockOptions::default()
    })
    .await
    .unwrap();
    let one = Mock::start(MockOptions::default()).await.unwrap();
    let filled = remembering("btc", &one.url()).start().await;
    assert_eq!(how(&filled.ask("btc", PURE).await), None);
    let known = PURE.replacen('1', "\"k\"", 1);
    let all = filled.ask("btc", &format!("[{known},{PURE}]")).await;
    assert_eq!(how(&all), Some("hit"));
    let k = r#"{"result":1,"error":null,"id":"k"}"#;
    assert_eq!(all.text(), format!(r#"[{k},{{"result":1,"error":null,"id":1}}]"#));
    assert_eq!((one.calls(), filled.units_today()), (1, 3));
    // The node behind changes; what is known stays, the rest is asked of the new one.
    let pool = &filled.pools[0];
    pool.reload(nodes(&[&mock.url()])).unwrap();
    let other = r#"{"id":9,"method":"getmempoolinfo"}"#;
    let refused = r#"{"id":"r","method":"stop"}"#;
    let some = filled.ask("btc", &format!("[{known},{other},{refused},{known}]")).await;
    assert_eq!(how(&some), None);
    let items: Vec<Value> = serde_json::from_slice(&some.body).unwrap();
    assert_eq!(items[0], serde_json::from_str::<Value>(k).unwrap());
    assert_eq!((&items[1]["result"], &items[1]["id"]), (&json!(2), &json!(9)));
    assert_eq!(items[2]["error"]["data"]["reason"], "METHOD_NOT_ALLOWED");
    assert_eq!(items[3], items[0]);
    assert_eq!((mock.calls(), filled.units_today()), (1, 6));
    // Refused as a whole, nothing of it is charged.
    pool.reload(nodes(&["http://127.0.0.1:1"])).unwrap();
    assert_eq!(filled.ask("btc", &format!("[{known},{other}]")).await.status, 503);
    assert_eq!(filled.units_today(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_answers_are_kept_within_bounds_and_pass_beyond_them() {
    let mock = Mock::start(MockOptions::of_size(1 << 20)).await.unwrap();
    let small = Settings { max_cache_bytes: 1 << 20, ..Settings::default() };
    let plan = Plan { settings: small, ..remembering("btc", &mock.url()) };
    let rig = plan.start().await;
    for _ in 0..2 {
        let answer = rig.ask("btc", PURE).await;
        assert_eq!((how(&answer), answer.body.len()), (None, 1 << 20));
    }
    assert_eq!(metric(&rig, "portolan_gateway_cache_bytes"), 0.0);
    let rig = remembering("btc", &mock.url()).start().await;
    let first = rig.ask("btc", PURE).await;
    let second = rig.ask("btc", &PURE.replacen('1', "\"two\"", 1)).await;
    assert_eq!((how(&first), how(&second)), (None, Some("hit")));
    assert_eq!(second.text(), first.text().replace("\"id\":1}", "\"id\":\"two\"}"));
    for n in 0..80 {
        let body = format!(r#"{{"id":1,"method":"decodescript","params":["{n}"]}}"#);
        assert_eq!(rig.ask("btc", &body).await.body.len(), 1 << 20);
    }
    let kept = metric(&rig, "portolan_gateway_cache_bytes");
    assert!((1..=16).contains(&(kept as u64 >> 20)), "a quarter of 64 MiB for one account: {kept}");
    assert_eq!(rig.ask_with("btc", &[], PURE).await.status, 401, "a key is asked for all the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_may_read_how_an_answer_came() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let rig = remembering("btc", &mock.url()).start().await;
    let headers = [("X-API-Key", rig.key.as_str()), ("Origin", "https://wallet.example")];
    rig.ask_with("btc", &headers, PURE).await;
    let answer = rig.ask_with("btc", &headers, PURE).await;
    assert_eq!(how(&answer), Some("hit"));
    assert!(answer.header("access-control-expose-headers").unwrap().contains("X-Cache"));
}

async fn until(done: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < deadline, "it does not come");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
