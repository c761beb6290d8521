//! What a request may look like: paths, verbs, parameters, and what no client should send.

use std::time::Duration;

use explorer::Settings;
use serde_json::{Value, json};

use crate::utxo::rig::{Plan, Rig, json, reason, refused};

const FAMILIES: [(&str, &[&str]); 4] = [
    ("zec", &["/status", "/blocks", "/block/1", "/tx/x", "/address/x/utxo", "/mempool"]),
    ("dcr", &["/status", "/block/x/txs", "/address/x", "/address/x/txs", "/search/1"]),
    ("eth", &["/status", "/gas", "/contract/0x", "/address/x/txs?cursor=x", "/mempool", "/tx/x"]),
    ("xmr", &["/status", "/blocks?limit=0", "/block/1", "/tx/x", "/mempool?page=0", "/search/1"]),
];

async fn rig() -> Rig {
    Plan { bare: vec!["zec", "dcr", "eth", "xmr"], ..Plan::of(&["btc"]) }.start().await
}

fn tip() -> (u64, String) {
    let expected = testkit::expected("btc", replay::Phase::A);
    (expected["tip"].as_u64().unwrap(), expected["best"].as_str().unwrap().to_owned())
}

/// The address with the longest history.
fn address() -> (String, u64) {
    let expected = testkit::expected("btc", replay::Phase::A);
    let addresses = expected["addresses"].as_object().unwrap();
    let count = |one: &Value| one["tx_count"].as_u64().unwrap();
    let (address, one) = addresses.iter().max_by_key(|(_, one)| count(one)).unwrap();
    (address.clone(), count(one))
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_are_plain_numbers_within_bounds_given_once() {
    let rig = rig().await;
    let mut client = rig.client().await;
    let (address, _) = address();
    let bad = [
        "0",
        "-1",
        "+7",
        "%2B7",
        "007",
        "",
        "a",
        "1.0",
        "1e3",
        "0x1",
        "%201",
        "1%20",
        "1%00",
        "18446744073709551616",
        "%ff",
        "%",
        "%zz",
        "1;2",
        "1,2",
        "%D9%A1",
        "null",
        "true",
        "1'%20or%201=1",
        "99999999999999999999999999999999999999999999999999",
    ];
    for path in ["/block/7/txs".to_owned(), format!("/address/{address}/txs")] {
        let path = format!("/api/v1/btc{path}");
        for value in bad {
            for name in ["page", "page_size"] {
                client.refused(&format!("{path}?{name}={value}"), 400, "BAD_REQUEST").await;
            }
        }
        for query in ["page_size=51", "page=1&page=1", "page_size=5&x&page_size=5", "page", "page&"]
        {
            client.refused(&format!("{path}?{query}"), 400, "BAD_REQUEST").await;
        }
        let plain = client.ok(&path).await;
        for query in ["", "page=1", "page=1&page_size=25", "&&", "x=1&x=1&y", "PAGE=0&limit=99&=="]
        {
            assert_eq!(client.ok(&format!("{path}?{query}")).await, plain);
        }
    }
    for value in bad {
        client.refused(&format!("/api/v1/btc/blocks?limit={value}"), 400, "BAD_REQUEST").await;
    }
    for query in ["limit=26", "limit=1&limit=2", "start=1&start=1", "start=999999&limit=26"] {
        client.refused(&format!("/api/v1/btc/blocks?{query}"), 400, "BAD_REQUEST").await;
    }
    let list = client.ok("/api/v1/btc/blocks?page=0&page_size=x").await;
    assert_eq!(list.as_array().unwrap().len(), 10);
    assert_eq!(client.ok("/api/v1/btc/blocks?start=0").await.as_array().unwrap().len(), 1);
    assert_eq!(client.ok("/api/v1/btc/blocks?limit=25&start=3").await.as_array().unwrap().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_says_what_is_wrong_and_what_is_near() {
    let rig = rig().await;
    let cases = [
        (
            "GET",
            "/btc/block/7/txs?page=0",
            400,
            "page is out of bounds: it is from 1 to what 64 bits hold",
        ),
        (
            "GET",
            "/btc/block/7/txs?page_size=51",
            400,
            "page_size is out of bounds: it is from 1 to 50",
        ),
        ("GET", "/btc/blocks?limit=26", 400, "limit is out of bounds: it is from 1 to 25"),
        ("GET", "/btc/blocks?start=x", 400, "start is not a plain whole number"),
        ("GET", "/btc/blocks?limit=1&limit=1", 400, "limit is given twice"),
        ("GET", "/BTC/status", 404, "no such chain; names are in lower case: btc"),
        ("GET", "/LTC/status", 404, "no such chain is served here"),
        ("GET", "/btc/status/", 404, "no such path; without the slash at its end there is one"),
        ("GET", "/btc/Status", 404, "no such path; in lower case there is one"),
        ("GET", "/btc/nothing", 404, "no such path"),
        ("POST", "/btc/status", 404, "this path is asked with GET or HEAD"),
        ("OPTIONS", "/btc/status", 404, "this path is asked with GET or HEAD"),
        ("GET", "/xmr/tx/x/outputs/check", 404, "this path is asked with POST"),
    ];
    for (verb, path, status, message) in cases {
        let (url, key) = (format!("{}/api/v1{path}", rig.url), [("X-API-Key", rig.key.as_str())]);
        let answer = testkit::request(verb, &url, &key, b"").await.unwrap();
        let body = json(&answer);
        let told = (answer.status, body["error"]["message"].as_str().unwrap());
        assert_eq!(told, (status, message), "{verb} {path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_past_the_end_is_empty() {
    let rig = rig().await;
    let mut client = rig.client().await;
    let (address, confirmed) = address();
    let pool = client.ok(&format!("/api/v1/btc/address/{address}")).await;
    let waiting = pool["unconfirmed"]["tx_count"].as_u64().unwrap_or(0);
    let total = confirmed + waiting;
    for page in [total.div_ceil(50) + 1, 1 << 32, 1 << 62, u64::MAX] {
        let path = format!("/api/v1/btc/address/{address}/txs?page={page}&page_size=50");
        let found = client.ok(&path).await;
        assert_eq!((&found["page"], &found["txs"]), (&json!(page), &json!([])));
        assert_eq!(found["total_pages"], total.div_ceil(50));
        assert_eq!(found["tx_count"], total);
        let found = client.ok(&format!("/api/v1/btc/block/7/txs?page={page}")).await;
        assert_eq!((&found["page"], &found["txs"]), (&json!(page), &json!([])));
        assert_eq!((&found["total_pages"], &found["tx_count"]), (&json!(1), &json!(1)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn heights_and_hashes_are_read_strictly() {
    let rig = rig().await;
    let mut client = rig.client().await;
    let (tip, best) = tip();
    let above = [
        (tip + 1).to_string(),
        u32::MAX.to_string(),
        ((1_u64 << 32) + 1).to_string(),
        u64::MAX.to_string(),
        "18446744073709551616".to_owned(),
        "1".repeat(63),
        // 64 digits are a hash.
        "1".repeat(64),
        "1".repeat(65),
        "1".repeat(5000),
    ];
    for height in &above {
        for path in [format!("/block/{height}"), format!("/block/{height}/txs")] {
            client.refused(&format!("/api/v1/btc{path}"), 404, "NOT_FOUND").await;
        }
        let query = format!("/api/v1/btc/blocks?start={height}");
        client.refused(&query, 404, "NOT_FOUND").await;
        let none = json!({ "kind": "none" });
        assert_eq!(client.ok(&format!("/api/v1/btc/search/{height}")).await, none);
    }
    let malformed = [
        "007", "00", "+7", "%2B7", "-1", "%207", "7%20", "1.0", "1e2", "0x7", "tip", "latest",
        "7%2F", "7%00", "%D9%A1", "%", "%ff", "%zz", "..", "%2e%2e", "*", "null",
    ];
    let short = &best[1..];
    let (long, prefixed) = (format!("{best}0"), format!("0x{best}"));
    let strange = format!("{short}g");
    for place in malformed.into_iter().chain([short, &long, &prefixed, &strange]) {
        for path in [format!("/block/{place}"), format!("/block/{place}/txs")] {
            client.refused(&format!("/api/v1/btc{path}"), 400, "BAD_REQUEST").await;
        }
        client.refused(&format!("/api/v1/btc/tx/{place}"), 400, "BAD_REQUEST").await;
        client.refused(&format!("/api/v1/btc/blocks?start={place}"), 400, "BAD_REQUEST").await;
    }
    client.refused(&format!("/api/v1/btc/blocks?start={best}"), 400, "BAD_REQUEST").await;
    client.refused("/api/v1/btc/tx/7", 400, "BAD_REQUEST").await;
    let by_hash = client.ok(&format!("/api/v1/btc/block/{best}")).await;
    assert_eq!(by_hash["height"], tip);
    assert_eq!(client.ok("/api/v1/btc/block/%37").await["height"], 7);
    // One kind of hash is never taken for the other.
    let coinbase = client.ok(&format!("/api/v1/btc/block/{best}/txs")).await;
    let txid = coinbase["txs"][0]["txid"].as_str().unwrap();
    client.refused(&format!("/api/v1/btc/block/{txid}"), 404, "NOT_FOUND").await;
    client.refused(&format!("/api/v1/btc/tx/{best}"), 404, "NOT_FOUND").await;
    let upper = client.ok(&format!("/api/v1/btc/tx/{}", txid.to_uppercase())).await;
    assert_eq!(upper["txid"], txid);
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_and_verbs_that_no_family_has_are_no_endpoints() {
    let rig = rig().await;
    let paths = [
        "/",
        "/api",
        "/api/v1",
        "/api/v1/",
        "/api/v1/btc",
        "/api/v1/btc/",
        "/api/v1//status",
        "/api/v1/btc/status/",
        "/api/v1/btc/Status",
        "/api/v1/btc/%73tatus",
        "/api/v2/btc/status",
        "/API/v1/btc/status",
        "/api/v1/btc/block",
        "/api/v1/btc/block/",
        "/api/v1/btc/block/7/",
        "/api/v1/btc/block/7/txs/",
        "/api/v1/btc/block/7/tx",
        "/api/v1/btc/tx/a/outputs",
        "/api/v1/btc/tx/a/outputs/check",
        "/api/v1/xmr/tx/a/outputs/check",
        "/api/v1/btc/search/",
        "/api/v1/btc/search",
        "/api/v1/btc/address/a/utxos",
        "/api/v1/btc/fees",
        "/v1/rpc/btc",
        "//api/v1/btc/status",
        "/api/v1/btc//status",
        "/api/v1/btc/../btc/status",
        "/metrics",
        "/api/v1/nochain/nothing",
    ];
    for path in paths {
        // Decided before the key is looked at.
        refused(&rig.get_with(path, &[]).await, 404, "ENDPOINT_NOT_FOUND");
    }
    for verb in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get", "BREW"] {
        for path in ["/api/v1/btc/status", "/api/v1/btc/search/7", "/api/v1/eth/gas"] {
            let answer = testkit::request(verb, &format!("{}{path}", rig.url), &[], b"{}").await;
            refused(&answer.unwrap(), 404, "ENDPOINT_NOT_FOUND");
        }
    }
    assert_eq!(rig.units_today(), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn endpoints_of_other_families_are_not_on_this_chain() {
    let rig = rig().await;
    let mut client = rig.client().await;
    let foreign = [
        ("btc", &["/gas", "/contract/x", "/contract/%ff"][..]),
        ("zec", &["/gas", "/contract/x"]),
        ("dcr", &["/gas", "/contract/x"]),
        ("eth", &["/address/x/utxo", "/address/%ff/utxo?page=0"]),
        ("xmr", &["/address/x", "/address/x/txs?page=0", "/address/x/utxo", "/gas", "/contract/x"]),
    ];
    for (slug, paths) in foreign {
        for path in paths {
            client.refused(&format!("/api/v1/{slug}{path}"), 404, "NOT_ON_THIS_CHAIN").await;
        }
    }
    let key = [("X-API-Key", rig.key.as_str())];
    for slug in ["btc", "eth", "dcr"] {
        let url = format!("{}/api/v1/{slug}/tx/x/outputs/check", rig.url);
        let answer = testkit::post(&url, &key, b"{}").await.unwrap();
        refused(&answer, 404, "NOT_ON_THIS_CHAIN");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn chains_without_an_index_say_so_on_their_own_paths() {
    let rig = rig().await;
    for (slug, paths) in FAMILIES {
        for path in paths {
            let answer = rig.get(&format!("/api/v1/{slug}{path}")).await;
            refused(&answer, 503, "SERVICE_UNAVAILABLE");
            assert_eq!(answer.header("x-ratelimit-limit"), None);
        }
    }
    let key = [("X-API-Key", rig.key.as_str())];
    let url = format!("{}/api/v1/xmr/tx/x/outputs/check", rig.url);
    let answer = testkit::post(&url, &key, &[b'x'; 4096]).await.unwrap();
    refused(&answer, 503, "SERVICE_UNAVAILABLE");
    assert_eq!(rig.units_today(), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_read_within_a_bound_and_whole() {
    let settings = Settings { timeout: Duration::from_millis(500), ..Settings::default() };
    let rig = Plan { bare: vec!["xmr"], settings, ..Plan::of(&[]) }.start().await;
    let path = "/api/v1/xmr/tx/x/outputs/check";
    let key = ("X-API-Key", rig.key.as_str());
    let mut connection = testkit::Connection::open(rig.address).await.unwrap();
    let zipped = ("Content-Encoding", "gzip");
    let asked = [
        (vec![key], 4096, 503),
        (vec![key], 4097, 400),
        (vec![key, zipped], 30, 400),
        (vec![key, ("Content-Encoding", "identity")], 0, 503),
        (vec![key], 60_000, 400),
    ];
    for (headers, length, status) in asked {
        let body = vec![b'x'; length];
        connection.request("POST", path, &headers, &body).await.unwrap();
        let answer = connection.answer().await.unwrap();
        assert_eq!(answer.status, status, "{length}: {}", answer.text());
    }
    assert_eq!(rig.units_today(), (0, 3), "a body that is refused is an answer");
    let head = |fields: &str| {
        let key = &rig.key;
        format!("POST {path} HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\n{fields}\r\n\r\n")
    };
    // In chunks the length is not told before; and one that never comes to its end.
    let chunks = format!("1000\r\n{0}\r\n1000\r\n{0}\r\n0\r\n\r\n", "x".repeat(4096));
    let chunked = head("Transfer-Encoding: chunked\r\nConnection: close") + &chunks;
    let unfinished = head("Content-Length: 10") + "{";
    for bytes in [chunked, unfinished] {
        let answer = testkit::exchange(rig.address, bytes.as_bytes()).await.unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        assert!(answer.contains("BAD_REQUEST"), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn chains_that_are_not_served_cost_a_unit() {
    let rig = rig().await;
    // Known chains that are not configured, unknown ones, and names that are not exact.
    for (n, slug) in ["ltc", "doge", "sol", "BTC", "btc%20", "%62tc", "x'--"].iter().enumerate() {
        let answer = rig.get(&format!("/api/v1/{slug}/status")).await;
        refused(&answer, 404, "CHAIN_NOT_FOUND");
        assert!(answer.header("x-ratelimit-limit").is_some());
        assert_eq!(rig.units_today(), (0, n as u64 + 1));
    }
    refused(&rig.get_with("/api/v1/sol/status", &[]).await, 401, "MISSING_API_KEY");
    assert_eq!(rig.units_today(), (0, 7));
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_is_refused_and_never_our_failure() {
    let rig = rig().await;
    let mut client = rig.client().await;
    let long = "a".repeat(10_000);
    let nonsense = [
        "%",
        "%2",
        "%zz",
        "%ff",
        "%c3%28",
        "%ed%a0%80",
        "%00",
        "%0d%0aX-Evil:%201",
        "%2e%2e%2f",
        "..;",
        "'--",
        "%22%3E%3Cscript%3E",
        "{}",
        "$where",
        "%F0%9F%92%A9",
        "a%2Fb",
        "%25%32%35",
        "bc1q",
        "bcrt1q",
        ":",
        "::",
        "bchreg:",
        "1%7Fx",
        &long,
    ];
    for text in nonsense {
        for path in [
            "/block/~",
            "/block/~/txs",
            "/tx/~",
            "/address/~",
            "/address/~/txs",
            "/address/~/utxo",
            "/block/7/txs?page=~",
            "/blocks?start=~",
            "/blocks?limit=~",
        ] {
            let path = format!("/api/v1/btc{}", path.replace('~', text));
            client.refused(&path, 400, "BAD_REQUEST").await;
        }
        let found = client.get(&format!("/api/v1/btc/search/{text}")).await;
        assert_eq!((found.status, json(&found)), (200, json!({ "kind": "none" })), "{text}");
        assert_eq!(
            client.get(&format!("/api/v1/btc/mempool?{text}&{text}={text}")).await.status,
            200
        );
        let answer = client.get(&format!("/api/v1/{text}/status")).await;
        refused(&answer, 404, "CHAIN_NOT_FOUND");
    }
    assert_eq!(client.ok("/api/v1/btc/search/%20%20").await, json!({ "kind": "none" }));
    let spaced = client.ok("/api/v1/btc/search/%207%0a").await;
    assert_eq!((&spaced["kind"], &spaced["height"]), (&json!("block"), &json!(7)));
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_request_get_an_answer_too() {
    let rig = rig().await;
    let long = [b"GET /api/v1/btc/tx/".as_slice(), &[b'a'; 100_000], b" HTTP/1.1"].concat();
    let lines: [&[u8]; 8] = [
        b"GET /api/v1/btc/tx/\xff\xfe HTTP/1.1",
        b"GET /api/v1/btc/search/\xc3\xa9 HTTP/1.1",
        b"GET /api/v1/btc/status\x00 HTTP/1.1",
        b"GET /api/v1/btc/search/a b HTTP/1.1",
        b"GET api/v1/btc/status HTTP/1.1",
        b"GET * HTTP/1.1",
        b"nonsense",
        &long,
    ];
    for line in lines {
        let answer = rig.raw(line).await;
        let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{shown}"));
        let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
        assert!(matches!(status, 200 | 400 | 404 | 431), "{shown}: {head}");
        assert!(head.to_lowercase().contains("x-request-id: "), "{shown}: {head}");
        assert!(head.to_lowercase().contains("content-type: application/json"), "{shown}: {head}");
        let body: Value = serde_json::from_str(body).unwrap();
        assert!(status == 200 || body["error"]["reason"].is_string(), "{shown}: {body}");
    }
    // The whole form of a target is taken as the path in it.
    let line = format!("GET {}/api/v1/btc/block/0 HTTP/1.1", rig.url);
    assert!(rig.raw(line.as_bytes()).await.starts_with("HTTP/1.1 200"));
    // A body of a GET means nothing, and the connection stays usable.
    let mut connection = testkit::Connection::open(rig.address).await.unwrap();
    for _ in 0..2 {
        let key = [("X-API-Key", rig.key.as_str())];
        connection.request("GET", "/api/v1/btc/block/0", &key, b"{\"page\":0}").await.unwrap();
        assert_eq!(connection.answer().await.unwrap().status, 200);
    }
    let answer = rig.get("/api/v1/btc/tx/00").await;
    assert_eq!(reason(&answer), "BAD_REQUEST");
}
