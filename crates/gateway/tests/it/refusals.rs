//! Each reason of the specification's table, over HTTP.

use gateway::Refusals;
use meter::{KeyOptions, PlanConfig, Plans, Scopes};
use replay::{Mock, MockOptions, Replay, ReplayOptions};

use crate::rig::{Plan, Rig, call, nodes, reason, refused, wide};

const COUNT: &str = r#"{"jsonrpc":"1.0","id":"x","method":"getblockcount","params":[]}"#;

async fn on_mock() -> (Mock, Rig) {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let rig = Plan::one("btc", nodes(&[&mock.url()])).start().await;
    (mock, rig)
}

fn plan(rps: u32, daily: Option<u64>, batch: u32) -> Plans {
    let config = PlanConfig {
        requests_per_second: rps,
        daily,
        monthly: None,
        batch_size: Some(batch),
        concurrency: None,
        chains: Some(vec!["btc".into()]),
        price_usd: None,
    };
    Plans::with([("wide".to_owned(), config)]).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn key_is_taken_in_three_ways_and_the_first_wins() {
    let (_mock, rig) = on_mock().await;
    let bearer = format!("bEaReR    {}", rig.key);
    assert_eq!(rig.ask_with("btc", &[("X-API-Key", &rig.key)], COUNT).await.status, 200);
    assert_eq!(rig.ask_with("btc", &[("Authorization", &bearer)], COUNT).await.status, 200);
    assert_eq!(rig.ask_with(&format!("btc/{}", rig.key), &[], COUNT).await.status, 200);
    let both = [("X-API-Key", "ptl_wrong"), ("Authorization", bearer.as_str())];
    refused(&rig.ask_with("btc", &both, COUNT).await, 401, "INVALID_API_KEY");
    let empty = [("X-API-Key", ""), ("Authorization", bearer.as_str())];
    assert_eq!(rig.ask_with("btc", &empty, COUNT).await.status, 200);
    refused(&rig.ask_with("btc", &[], COUNT).await, 401, "MISSING_API_KEY");
    refused(
        &rig.ask_with("btc", &[("Authorization", "Basic eDp5")], COUNT).await,
        401,
        "MISSING_API_KEY",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_and_verbs_are_decided_before_the_key() {
    let (_mock, rig) = on_mock().await;
    for path in [
        "/",
        "/v1/rpc/btc/",
        "/v2/rpc/btc",
        "/v1/rpc",
        "/v1/rpc/btc/k/x",
        "/healthz",
        "/%2e%2e/v1/rpc/btc",
    ] {
        let answer =
            testkit::post(&format!("{}{path}", rig.url), &[], COUNT.as_bytes()).await.unwrap();
        assert_eq!(answer.status, 404, "{path}");
        let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(body["error"]["code"], -32601);
        assert_eq!(body["error"].get("data"), None);
        assert!(answer.header("x-request-id").is_some());
    }
    for verb in ["GET", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"] {
        let answer = testkit::request(
            verb,
            &format!("{}/v1/rpc/btc", rig.url),
            &[("Connection", "close")],
            b"",
        )
        .await;
        let Ok(answer) = answer else {
            assert_eq!(verb, "HEAD");
            continue;
        };
        assert_eq!((answer.status, answer.header("allow")), (400, Some("POST")), "{verb}");
    }
    refused(&rig.ask("BTC", COUNT).await, 404, "CHAIN_NOT_FOUND");
    refused(&rig.ask("ltc", COUNT).await, 404, "CHAIN_NOT_FOUND");
    refused(&rig.ask("nope", COUNT).await, 404, "CHAIN_NOT_FOUND");
}

#[tokio::test(flavor = "multi_thread")]
async fn preflight_needs_no_key_and_pages_may_read_answers() {
    let (_mock, rig) = on_mock().await;
    let url = format!("{}/v1/rpc/btc", rig.url);
    let asked = [("Origin", "https://w.example"), ("Access-Control-Request-Method", "POST")];
    let answer = testkit::request("OPTIONS", &url, &asked, b"").await.unwrap();
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert!(answer.header("access-control-allow-headers").unwrap().contains("X-API-Key"));
    assert!(answer.header("x-request-id").is_some());
    let answer = rig
        .ask_with("btc", &[("X-API-Key", &rig.key), ("Origin", "https://w.example")], COUNT)
        .await;
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert!(answer.header("access-control-expose-headers").unwrap().contains("Retry-After"));
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_no_requests_are_refused() {
    let (_mock, rig) = on_mock().await;
    for (body, code) in [
        ("", -32700),
        ("{\"id\":1", -32700),
        ("{} x", -32700),
        ("3", -32600),
        ("null", -32600),
        ("{}", -32600),
        ("[]", -32600),
        (r#"{"method":7}"#, -32600),
        (r#"{"method":"getblockcount","method":"stop"}"#, -32600),
        (r#"{"method":"stop","\u006dethod":"getblockcount"}"#, -32600),
        (r#"{"method":"getblockcount","params":"x"}"#, -32600),
        (r#"{"method":"getblockcount","id":[1]}"#, -32600),
        (r#"{"method":"getblockcount","jsonrpc":2.0}"#, -32600),
    ] {
        let answer = rig.ask("btc", body).await;
        refused(&answer, 400, "INVALID_REQUEST");
        let value: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(value["error"]["code"], code, "{body}");
    }
    let mut connection = rig.connect().await;
    let answer = call(&mut connection, &rig, "btc", b"{\"method\":\"getblock\xff\"}").await;
    refused(&answer, 400, "INVALID_REQUEST");
}

#[tokio::test(flavor = "multi_thread")]
async fn methods_outside_the_set_are_refused_in_every_spelling() {
    let replay =
        Replay::start("btc", ReplayOptions { log_calls: 10_000, ..ReplayOptions::default() })
            .await
            .unwrap();
    let rig = Plan::one("btc", nodes(&[&replay.url()])).start().await;
    for method in [
        "stop",
        "GETBLOCKCOUNT",
        "getblockcount ",
        "",
        "st\\u006fp",
        "gettxoutsetinfo",
        "getbalance",
    ] {
        let body = format!(r#"{{"id":"m","method":"{method}"}}"#);
        let answer = rig.ask("btc", &body).await;
        refused(&answer, 403, "METHOD_NOT_ALLOWED");
        assert!(answer.text().contains(r#""id":"m""#));
    }
    for body in [
        r#"{"method":"getblockcount","METHOD":"stop","id":1}"#,
        r#"{"METHOD":"stop","method":"get\u0062lockcount","id":1}"#,
    ] {
        let answer = rig.ask("btc", body).await;
        assert_eq!(answer.text(), "{\"result\":140,\"error\":null,\"id\":1}\n");
    }
    assert!(replay.log().iter().all(|call| !format!("{call:?}").contains("stop")));
}

#[tokio::test(flavor = "multi_thread")]
async fn plans_and_scopes_are_held() {
    let replay = Replay::start("btc", ReplayOptions::default()).await.unwrap();
    let mut both = Plan::one("btc", nodes(&[&replay.url()]));
    both.chains.push(("ltc", nodes(&[&replay.url()])));
    both.plans = plan(1000, None, 3);
    let rig = both.start().await;
    refused(&rig.ask("ltc", COUNT).await, 403, "CHAIN_NOT_IN_PLAN");
    let four = format!("[{}]", [COUNT; 4].join(","));
    refused(&rig.ask("btc", &four).await, 400, "BATCH_TOO_LARGE");
    assert_eq!(rig.ask("btc", &format!("[{}]", [COUNT; 3].join(","))).await.status, 200);
    rig.admin.set_plans("tester", Some("none"), None).unwrap();
    refused(&rig.ask("btc", COUNT).await, 403, "PLAN_UNAVAILABLE");
    rig.admin.set_plans("tester", Some("wide"), None).unwrap();
    assert_eq!(rig.ask("btc", COUNT).await.status, 200);
    rig.admin.suspend("tester").unwrap();
    refused(&rig.ask("btc", COUNT).await, 403, "ACCOUNT_SUSPENDED");
    rig.admin.resume("tester").unwrap();
    let scopes = Scopes { methods: vec!["getblockcount".into()], ..Scopes::default() };
    let narrow =
        rig.admin.add_key("tester", KeyOptions { scopes, ..KeyOptions::default() }).unwrap();
    let header = [("X-API-Key", narrow.key.reveal())];
    assert_eq!(rig.ask_with("btc", &header, COUNT).await.status, 200);
    let other = rig.ask_with("btc", &header, r#"{"id":1,"method":"getbestblockhash"}"#).await;
    refused(&other, 403, "METHOD_NOT_ALLOWED");
    rig.admin.revoke(&rig.key_id).unwrap();
    refused(&rig.ask("btc", COUNT).await, 403, "KEY_REVOKED");
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_are_refused_before_they_reach_the_node() {
    let eth = Replay::start("eth", ReplayOptions::default()).await.unwrap();
    let xmr = Replay::start("xmr", ReplayOptions::default()).await.unwrap();
    let mut both = Plan::one("eth", nodes(&[&eth.url()]));
    both.chains.push(("xmr", nodes(&[&xmr.url()])));
    let rig = both.start().await;
    let logs = |filter: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{filter}]}}"#)
    };
    refused(
        &rig.ask("eth", &logs(r#"{"fromBlock":"0x0","toBlock":"0x7d0"}"#)).await,
        400,
        "RANGE_TOO_LARGE",
    );
    refused(&rig.ask("eth", &logs(r#"{"fromBlock":0}"#)).await, 400, "INVALID_PARAMS");
    assert_eq!(
        rig.ask("eth", &logs(r#"{"fromBlock":"0x0","toBlock":"latest"}"#)).await.status,
        200
    );
    for method in ["get_block_headers_range", "getblockheadersrange"] {
        let body = format!(
            r#"{{"id":1,"method":"{method}","params":{{"start_height":0,"end_height":1000}}}}"#
        );
        refused(&rig.ask("xmr", &body).await, 400, "RANGE_TOO_LARGE");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn too_large_requests_are_told_so() {
    let (_mock, rig) = on_mock().await;
    let body =
        format!(r#"{{"id":1,"method":"getblockcount","params":["{}"]}}"#, "0".repeat(3 << 20));
    refused(&rig.ask("btc", &body).await, 413, "REQUEST_TOO_LARGE");
    let fits = format!(
        r#"{{"id":1,"method":"getblockcount","params":["{}"]}}"#,
        "0".repeat((2 << 20) - 100)
    );
    assert_eq!(rig.ask("btc", &fits).await.status, 200);
    let mut connection = rig.connect().await;
    let head = format!(
        "POST /v1/rpc/btc HTTP/1.1\r\nHost: x\r\nX-API-Key: {}\r\nTransfer-Encoding: chunked\r\n\r\n",
        rig.key
    );
    connection.send(head.as_bytes()).await.unwrap();
    let chunk = [format!("{:x}\r\n", 1 << 20).as_bytes(), &vec![b' '; 1 << 20], b"\r\n"].concat();
    for _ in 0..5 {
        connection.send(&chunk).await.unwrap();
    }
    connection.send(b"0\r\n\r\n").await.unwrap();
    refused(&connection.answer().await.unwrap(), 413, "REQUEST_TOO_LARGE");
    assert_eq!(rig.units_today(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_codings_are_refused_and_gzip_is_read() {
    use std::io::Write;
    let (_mock, rig) = on_mock().await;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(COUNT.as_bytes()).unwrap();
    let packed = gzip.finish().unwrap();
    let url = format!("{}/v1/rpc/btc", rig.url);
    let headers = |coding| [("X-API-Key", rig.key.as_str()), ("Content-Encoding", coding)];
    assert_eq!(testkit::post(&url, &headers("gzip"), &packed).await.unwrap().status, 200);
    refused(&testkit::post(&url, &headers("br"), &packed).await.unwrap(), 400, "INVALID_REQUEST");
    refused(
        &testkit::post(&url, &headers("gzip"), COUNT.as_bytes()).await.unwrap(),
        400,
        "INVALID_REQUEST",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_keys_are_throttled_and_valid_ones_are_not() {
    let (_mock, rig) = on_mock().await;
    for _ in 0..20 {
        refused(
            &rig.ask_with("btc", &[("X-API-Key", "ptl_x")], COUNT).await,
            401,
            "INVALID_API_KEY",
        );
    }
    let answer = rig.ask_with("btc", &[("X-API-Key", "ptl_x")], COUNT).await;
    refused(&answer, 429, "TOO_MANY_INVALID_KEYS");
    let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait));
    assert_eq!(rig.ask("btc", COUNT).await.status, 200);
    refused(&rig.ask_with("btc", &[], COUNT).await, 401, "MISSING_API_KEY");
}

#[tokio::test(flavor = "multi_thread")]
async fn draining_gateway_is_unavailable() {
    let (_mock, rig) = on_mock().await;
    rig.gateway.set_refusing(true);
    let answer = rig.ask("btc", COUNT).await;
    refused(&answer, 503, "SERVICE_UNAVAILABLE");
    assert_eq!(answer.header("retry-after"), Some("5"));
}

#[tokio::test(flavor = "multi_thread")]
async fn full_process_is_busy() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let mut plan = Plan::one("btc", nodes(&[&mock.url()]));
    plan.settings.max_in_flight = 0;
    let rig = plan.start().await;
    refused(&rig.ask("btc", COUNT).await, 503, "GATEWAY_BUSY");
    assert_eq!(rig.units_today(), 0);
    assert_eq!(reason(&rig.ask("btc", COUNT).await), "GATEWAY_BUSY");
    assert!(wide().find("WIDE").is_some());
}

fn text_of(answer: &testkit::Answer) -> String {
    let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    body["error"]["message"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_calls_come_with_200_where_the_operator_wants_so() {
    let mock = Mock::start(MockOptions::default()).await.unwrap();
    let mut ok = Plan::one("btc", nodes(&[&mock.url()]));
    ok.settings.refusals = Refusals::Ok;
    let rig = ok.start().await;
    for (body, name) in [
        (r#"{"method":"stop","id":7}"#, "METHOD_NOT_ALLOWED"),
        (r#"{"method":7,"id":7}"#, "INVALID_REQUEST"),
    ] {
        let answer = rig.ask("btc", body).await;
        assert_eq!((answer.status, reason(&answer).as_str()), (200, name));
        assert!(answer.text().ends_with(r#""id":7}"#), "{}", answer.text());
        assert!(answer.header("x-ratelimit-remaining").is_some());
        assert!(answer.header("x-request-id").is_some());
    }
    refused(&rig.ask_with("btc", &[("X-API-Key", "ptl_x")], COUNT).await, 401, "INVALID_API_KEY");
    refused(&rig.ask("ltc", COUNT).await, 404, "CHAIN_NOT_FOUND");
    refused(&rig.ask("btc", "[]").await, 400, "INVALID_REQUEST");
    refused(&rig.ask("btc", "no JSON").await, 400, "INVALID_REQUEST");
    assert_eq!(rig.units_today(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn trouble_of_a_node_comes_with_200_only_where_it_is_the_calls() {
    let busy = testkit::free_port().unwrap();
    let mut ok = Plan::one("btc", nodes(&[&format!("http://127.0.0.1:{busy}")]));
    ok.settings.refusals = Refusals::Ok;
    let rig = ok.start().await;
    refused(&rig.ask("btc", COUNT).await, 503, "NODE_UNAVAILABLE");
    let options = MockOptions { answer: "no JSON".into(), ..MockOptions::default() };
    let text = Mock::start(options).await.unwrap();
    let mut ok = Plan::one("btc", nodes(&[&text.url()]));
    ok.settings.refusals = Refusals::Ok;
    let rig = ok.start().await;
    let answer = rig.ask("btc", COUNT).await;
    assert_eq!((answer.status, reason(&answer).as_str()), (200, "NODE_ERROR"));
    assert_eq!(rig.units_today(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn method_of_eth_is_refused_in_the_words_of_its_nodes() {
    let eth = Replay::start("eth", ReplayOptions::default()).await.unwrap();
    let rig = Plan::one("eth", nodes(&[&eth.url()])).start().await;
    let long = "e".repeat(65);
    for (method, text) in [
        ("eth_newFilter", "the method eth_newFilter does not exist/is not available"),
        ("ETH_BLOCKNUMBER", "the method ETH_BLOCKNUMBER does not exist/is not available"),
        ("<b>", "the method does not exist/is not available"),
        (&long, "the method does not exist/is not available"),
        ("", "the method does not exist/is not available"),
    ] {
        let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":[]}}"#);
        let answer = rig.ask("eth", &call).await;
        refused(&answer, 403, "METHOD_NOT_ALLOWED");
        assert_eq!(text_of(&answer), text);
        let batch = rig.ask("eth", &format!("[{call}]")).await;
        assert!(batch.status == 200 && batch.text().contains(text), "{}", batch.text());
    }
    // Also where it is the key's scope that lacks it.
    let scopes = Scopes { methods: vec!["eth_chainId".into()], ..Scopes::default() };
    let narrow =
        rig.admin.add_key("tester", KeyOptions { scopes, ..KeyOptions::default() }).unwrap();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}"#;
    let answer = rig.ask_with("eth", &[("X-API-Key", narrow.key.reveal())], call).await;
    refused(&answer, 403, "METHOD_NOT_ALLOWED");
    assert_eq!(text_of(&answer), "the method eth_blockNumber does not exist/is not available");
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_name_what_stands_in_the_way() {
    let replay = Replay::start("btc", ReplayOptions::default()).await.unwrap();
    let mut both = Plan::one("btc", nodes(&[&replay.url()]));
    both.chains.push(("ltc", nodes(&[&replay.url()])));
    let rig = both.start().await;
    let scopes = Scopes {
        chains: vec!["btc".into()],
        methods: vec!["getblockcount".into()],
        ..Scopes::default()
    };
    let narrow =
        rig.admin.add_key("tester", KeyOptions { scopes, ..KeyOptions::default() }).unwrap();
    let header = [("X-API-Key", narrow.key.reveal())];
    let answer = rig.ask_with("ltc", &header, COUNT).await;
    refused(&answer, 403, "CHAIN_NOT_IN_PLAN");
    assert_eq!(text_of(&answer), "the API key is not for this chain, which the plan includes");
    let answer = rig.ask_with("btc", &header, r#"{"id":1,"method":"getbestblockhash"}"#).await;
    refused(&answer, 403, "METHOD_NOT_ALLOWED");
    assert_eq!(text_of(&answer), "the API key is not for this method");
    let answer = rig.ask("btc", r#"{"id":1,"method":"GetBlockCount"}"#).await;
    refused(&answer, 403, "METHOD_NOT_ALLOWED");
    assert_eq!(text_of(&answer), "the method is written getblockcount");
    let answer = rig.ask("BTC", COUNT).await;
    refused(&answer, 404, "CHAIN_NOT_FOUND");
    assert_eq!(text_of(&answer), "no such chain here: it is written btc");
    let answer = rig.ask("btc/", COUNT).await;
    assert_eq!(answer.status, 404);
    assert!(text_of(&answer).contains("write /v1/rpc/btc, without a slash"));
    rig.admin.set_plans("tester", Some("none"), None).unwrap();
    let answer = rig.ask("btc", COUNT).await;
    refused(&answer, 403, "PLAN_UNAVAILABLE");
    assert_eq!(text_of(&answer), "the account has no plan for this service");
    rig.admin.set_plans("tester", Some("wide"), None).unwrap();
    rig.gateway_meter().set_plans(Plans::default());
    let answer = rig.ask("btc", COUNT).await;
    refused(&answer, 403, "PLAN_UNAVAILABLE");
    assert_eq!(text_of(&answer), "the account's plan is not offered any more");
}
