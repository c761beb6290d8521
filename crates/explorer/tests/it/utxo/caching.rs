//! What clients may keep, compress and read from a web page.

use std::io::Read;

use listen::Cors;
use replay::Phase;
use serde_json::Value;
use testkit::Answer;

use crate::utxo::rig::{Plan, Rig, json, refused};

/// A body of several kilobytes, one of a few bytes, and one of a list.
const TARGETS: [&str; 3] =
    ["/api/v1/btc/blocks?limit=25", "/api/v1/btc/status", "/api/v1/btc/block/133/txs?page_size=50"];

impl Rig {
    async fn with(&self, target: &str, headers: &[(&str, &str)]) -> Answer {
        let key = [("X-API-Key", self.key.as_str())];
        self.get_with(target, &[&key, headers].concat()).await
    }

    /// Head and body of an answer to any verb, as they came.
    async fn verb(&self, verb: &str, target: &str, headers: &str) -> (String, String) {
        let line = format!("{verb} {target} HTTP/1.1{headers}");
        let answer = self.raw(line.as_bytes()).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_lowercase(), body.to_owned())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_the_client_has_is_not_sent_again() {
    let rig = Plan::of(&["btc"]).start().await;
    for target in TARGETS {
        let plain = rig.get(target).await;
        let tag = plain.header("etag").unwrap();
        assert!(tag.starts_with("W/\"") && tag.ends_with('"') && tag.len() > 10, "{tag}");
        assert_eq!(plain.header("cache-control"), Some("private, no-cache"));
        assert_eq!(plain.header("vary"), Some("Accept-Encoding"));
        let (strong, list) = (&tag[2..], format!("\"x\", {tag} , W/\"y\""));
        for matches in [tag, strong, &list, "*"] {
            let kept = rig.with(target, &[("If-None-Match", matches)]).await;
            assert_eq!((kept.status, kept.body.len()), (304, 0), "{matches}");
            for name in ["etag", "cache-control", "vary"] {
                assert_eq!(kept.header(name), plain.header(name), "{name}");
            }
            assert_eq!(kept.header("content-type"), None);
            assert_eq!(kept.header("content-encoding"), None);
            assert!(kept.header("x-request-id").is_some());
        }
        // The tag is one of the body, however it is written.
        for coding in ["gzip", "br"] {
            let packed = rig.with(target, &[("Accept-Encoding", coding)]).await;
            assert_eq!(packed.header("etag"), Some(tag));
            let ask = [("Accept-Encoding", coding), ("If-None-Match", tag)];
            assert_eq!(rig.with(target, &ask).await.status, 304);
        }
        for other in ["\"x\"", "W/\"x\"", "", "W/", &tag[..tag.len() - 2], "x*"] {
            let again = rig.with(target, &[("If-None-Match", other)]).await;
            assert_eq!((again.status, &again.body), (200, &plain.body), "{other}");
        }
    }
    let refusal = rig.with("/api/v1/btc/block/007", &[("If-None-Match", "*")]).await;
    refused(&refusal, 400, "BAD_REQUEST");
    assert_eq!((refusal.header("etag"), refusal.header("cache-control")), (None, Some("no-store")));
    let missing = rig.with("/api/v1/btc/block/999999", &[("If-None-Match", "*")]).await;
    refused(&missing, 404, "NOT_FOUND");
    let unknown = rig.get_with(TARGETS[0], &[("If-None-Match", "*")]).await;
    refused(&unknown, 401, "MISSING_API_KEY");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_block_changes_the_tag() {
    let rig = Plan::of(&["btc"]).start().await;
    let before = rig.get("/api/v1/btc/block/7").await;
    let tag = before.header("etag").unwrap();
    rig.followed[0].turn(Phase::B).await;
    let after = rig.with("/api/v1/btc/block/7", &[("If-None-Match", tag)]).await;
    assert_eq!(after.status, 200);
    let count = |answer: &Answer| json(answer)["confirmations"].as_u64().unwrap();
    assert_eq!(count(&after), count(&before) + 2);
    assert_ne!(after.header("etag"), Some(tag));
}

#[tokio::test(flavor = "multi_thread")]
async fn head_is_get_without_the_body() {
    let rig = Plan::of(&["btc"]).start().await;
    let value = |head: &str, name: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.map(str::to_owned)
    };
    let missing = ["/api/v1/btc/block/999999", "/api/v1/btc/tx/7", "/api/v1/sol/status"];
    for target in TARGETS.into_iter().chain(missing) {
        for headers in ["", "\r\nAccept-Encoding: gzip", "\r\nAccept-Encoding: br"] {
            let (get, body) = rig.verb("GET", target, headers).await;
            let (head, none) = rig.verb("HEAD", target, headers).await;
            assert_eq!(none, "");
            assert_eq!(head.lines().next(), get.lines().next());
            for name in ["content-length", "content-type", "content-encoding", "etag", "vary"] {
                assert_eq!(value(&head, name), value(&get, name), "{target} {name}");
            }
            if headers.is_empty() {
                assert_eq!(value(&head, "content-length"), Some(body.len().to_string()));
            }
        }
    }
    let before = rig.units_today().1;
    let (head, _) = rig.verb("HEAD", TARGETS[0], "").await;
    assert!(value(&head, "x-ratelimit-limit").is_some());
    assert_eq!(rig.units_today().1, before + 1);
    let tag = rig.get(TARGETS[2]).await.header("etag").unwrap().to_owned();
    let (kept, none) = rig.verb("HEAD", TARGETS[2], &format!("\r\nIf-None-Match: {tag}")).await;
    assert!(kept.starts_with("http/1.1 304") && none.is_empty(), "{kept}");
}

#[tokio::test(flavor = "multi_thread")]
async fn compressed_bodies_are_the_same_bodies() {
    let rig = Plan::of(&["btc"]).start().await;
    for target in TARGETS {
        let plain = rig.get(target).await;
        assert_eq!(plain.header("content-encoding"), None);
        let small = plain.body.len() < 1024;
        let gzip = rig.with(target, &[("Accept-Encoding", "gzip")]).await;
        let brotli = rig.with(target, &[("Accept-Encoding", "gzip;q=0.5, br")]).await;
        assert_eq!(gzip.header("content-encoding"), (!small).then_some("gzip"));
        assert_eq!(brotli.header("content-encoding"), (!small).then_some("br"));
        if small {
            assert_eq!((&gzip.body, &brotli.body), (&plain.body, &plain.body));
            continue;
        }
        for answer in [&gzip, &brotli] {
            assert!(answer.body.len() < plain.body.len());
            assert_eq!(answer.header("content-length"), Some(&*answer.body.len().to_string()));
            assert_eq!(answer.header("vary"), Some("Accept-Encoding"));
        }
        let mut read = Vec::new();
        flate2::read::GzDecoder::new(&gzip.body[..]).read_to_end(&mut read).unwrap();
        assert_eq!(read, plain.body);
        let mut read = Vec::new();
        brotli::Decompressor::new(&brotli.body[..], 4096).read_to_end(&mut read).unwrap();
        assert_eq!(read, plain.body);
        for none in ["identity", "deflate", "zstd", "gzip;q=0, br;q=0", "br;q=nonsense", ""] {
            let answer = rig.with(target, &[("Accept-Encoding", none)]).await;
            assert_eq!((answer.header("content-encoding"), &answer.body), (None, &plain.body));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn web_pages_may_ask_and_read() {
    let rig = Plan::of(&["btc"]).start().await;
    let url = format!("{}/api/v1/btc/status", rig.url);
    let asks = [
        ("Origin", "https://wallet.example"),
        ("Access-Control-Request-Method", "GET"),
        ("Access-Control-Request-Headers", "x-api-key"),
    ];
    let allowed = testkit::request("OPTIONS", &url, &asks, b"").await.unwrap();
    assert_eq!((allowed.status, allowed.body.len()), (204, 0));
    assert_eq!(allowed.header("access-control-allow-origin"), Some("*"));
    assert_eq!(allowed.header("access-control-allow-methods"), Some("GET, HEAD"));
    let headers = allowed.header("access-control-allow-headers").unwrap();
    for name in ["X-API-Key", "Authorization", "Content-Type", "If-None-Match"] {
        assert!(headers.contains(name), "{headers}");
    }
    let checks = format!("{}/api/v1/xmr/tx/x/outputs/check", rig.url);
    let allowed = testkit::request("OPTIONS", &checks, &asks, b"").await.unwrap();
    assert_eq!(allowed.header("access-control-allow-methods"), Some("POST"));
    let nowhere = format!("{}/api/v1/btc/nothing", rig.url);
    let unknown = testkit::request("OPTIONS", &nowhere, &asks, b"").await.unwrap();
    refused(&unknown, 404, "ENDPOINT_NOT_FOUND");
    assert_eq!(rig.units_today(), (0, 0));
    // Refusals are read by pages too, whichever they are.
    let origin = ("Origin", "https://wallet.example");
    let answers = [
        rig.with(TARGETS[1], &[origin]).await,
        rig.with("/api/v1/btc/block/x", &[origin]).await,
        rig.get_with(TARGETS[1], &[origin]).await,
        rig.with("/nothing", &[origin]).await,
    ];
    for answer in answers {
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        let exposed = answer.header("access-control-expose-headers").unwrap();
        for (name, _) in answer.headers.iter().filter(|(name, _)| name.starts_with("x-")) {
            assert!(exposed.to_lowercase().contains(name.as_str()), "{name}");
        }
        for name in ["X-Quota-Daily-Remaining", "X-Quota-Monthly-Remaining", "ETag", "Retry-After"]
        {
            assert!(exposed.contains(name), "{exposed}");
        }
    }
    assert_eq!(rig.get(TARGETS[1]).await.header("access-control-allow-origin"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_may_name_the_pages() {
    let mut plan = Plan::of(&["btc"]);
    plan.settings.clients.cors = Cors::Only(vec!["https://wallet.example".parse().unwrap()]);
    let rig = plan.start().await;
    let known = rig.with(TARGETS[1], &[("Origin", "https://wallet.example")]).await;
    assert_eq!(known.header("access-control-allow-origin"), Some("https://wallet.example"));
    let vary = known.headers.iter().filter(|(name, _)| name == "vary").map(|(_, value)| &**value);
    assert_eq!(vary.collect::<Vec<_>>(), ["Accept-Encoding", "Origin"]);
    let stranger = rig.with(TARGETS[1], &[("Origin", "https://other.example")]).await;
    assert_eq!(stranger.status, 200);
    assert_eq!(stranger.header("access-control-allow-origin"), None);
    let body: Value = json(&stranger);
    assert_eq!(body["chain"], "btc");
}
