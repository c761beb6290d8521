//! What a replayed node does on the wire: credentials, framing, errors, bad input.

use replay::{Auth, Replay, ReplayOptions, Take};
use testkit::{Connection, digest_header, exchange, get, post};

const JSON: &[(&str, &str)] = &[("Content-Type", "application/json")];

const CHAINS: [&str; 9] = ["btc", "ltc", "doge", "bch", "xec", "zec", "dcr", "eth", "xmr"];

async fn start(slug: &str) -> Replay {
    Replay::start(slug, ReplayOptions::default()).await.unwrap()
}

async fn said(replay: &Replay, body: &str) -> (u16, String) {
    let path = if replay_is_monerod(replay).await { "/json_rpc" } else { "/" };
    let answer = post(&format!("{}{path}", replay.url()), JSON, body.as_bytes()).await.unwrap();
    (answer.status, answer.text())
}

/// monerod alone has no root.
async fn replay_is_monerod(replay: &Replay) -> bool {
    let answer = post(&replay.url(), JSON, b"").await.unwrap();
    answer.status == 404
}

/// Every dialect has its own words for a call that it does not know, and for one that was not
/// recorded.
#[tokio::test]
async fn what_was_not_recorded_is_refused_in_the_dialect() {
    let unknown = [
        (
            "btc",
            404,
            "{\"result\":null,\"error\":{\"code\":-32601,\"message\":\"Method not found\"},\"id\":7}\n",
        ),
        (
            "bch",
            404,
            "{\"result\":null,\"error\":{\"code\":-32601,\"message\":\"Method not found\"},\"id\":7}\n",
        ),
        (
            "zec",
            200,
            "{\"jsonrpc\":\"1.0\",\"id\":7,\"result\":null,\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}",
        ),
        (
            "dcr",
            200,
            "{\"jsonrpc\":\"1.0\",\"result\":null,\"error\":{\"code\":-32601,\"message\":\"Method not found\"},\"id\":7}\n",
        ),
        (
            "eth",
            200,
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32600,\"message\":\"invalid request\"}}",
        ),
        (
            "xmr",
            200,
            "{\r\n  \"error\": {\r\n    \"code\": -32601,\r\n    \"message\": \"Method not found\"\r\n  },\r\n  \"id\": 7,\r\n  \"jsonrpc\": \"2.0\"\r\n}",
        ),
    ];
    for (slug, status, body) in unknown {
        let replay = start(slug).await;
        let request = r#"{"jsonrpc":"1.0","id":7,"method":"no_such_method","params":[]}"#;
        assert_eq!(said(&replay, request).await, (status, body.to_owned()), "{slug}");
    }
    for slug in CHAINS {
        let replay = start(slug).await;
        let method = match slug {
            "eth" => "eth_getBalance",
            "xmr" => "get_block",
            _ => "getblockhash",
        };
        let request =
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":[987654321]}}"#);
        let (_, body) = said(&replay, &request).await;
        assert!(body.contains("not in this recording"), "{slug}: {body}");
    }
}

/// The real node had them, so they are not said to be missing, but for what it said so of itself.
#[tokio::test]
async fn methods_of_a_chain_are_known_where_none_was_recorded() {
    for slug in CHAINS {
        let replay = start(slug).await;
        for method in chain::find(slug).unwrap().methods().iter().filter(|method| !method.path) {
            let name = method.name;
            let request =
                format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{name}","params":[987654321]}}"#);
            let (_, body) = said(&replay, &request).await;
            assert!(!body.contains("-32601"), "{slug} {name}: {body}");
        }
    }
}

/// A node whose blocks were recorded by REST has it.
#[tokio::test]
async fn rest_tells_of_the_chain_where_it_is_on() {
    let request = r#"{"id":7,"method":"getblockchaininfo"}"#;
    for slug in ["btc", "ltc", "doge", "bch", "xec"] {
        let replay = start(slug).await;
        let answer = get(&format!("{}/rest/chaininfo.json", replay.url()), &[]).await.unwrap();
        let has_rest =
            replay::recorded(slug).unwrap().any(|line| line.kind() == replay::RecordedKind::Rest);
        assert_eq!(answer.status == 200, has_rest, "{slug}: {answer:?}");
        if has_rest {
            let (_, body) = said(&replay, request).await;
            assert!(body.contains(answer.text().trim_end()), "{slug}: {}", answer.text());
        }
    }
}

/// Nothing that is sent ends a node or leaves a client waiting.
#[tokio::test]
async fn junk_gets_an_answer() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let inside = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"getblockcount","params":{deep}}}"#);
    let id = format!(r#"{{"jsonrpc":"2.0","id":{deep},"method":"getblockcount"}}"#);
    let junk = [
        "",
        " ",
        "{",
        "[",
        "null",
        "3",
        "\"x\"",
        "[[]]",
        "[null]",
        "{}",
        "[{}]",
        "{\"id\"",
        "\u{1}",
        "{\"method\":3}",
        "{\"id\":1,\"method\":\"\\ud800\"}",
        "{\"jsonrpc\":2,\"id\":1,\"method\":\"x\"}",
        "{\"id\":1e999,\"method\":\"getblockcount\"}",
        &deep,
        &inside,
        &id,
    ];
    for take in [Take::Main, Take::Anvil] {
        for slug in CHAINS.into_iter().filter(|slug| take == Take::Main || *slug == "eth") {
            let replay = Replay::start(slug, ReplayOptions { take, ..ReplayOptions::default() });
            let replay = replay.await.unwrap();
            for body in junk {
                for path in ["/", "/json_rpc", "/get_transactions", "/rest/x", "/get_outs.bin"] {
                    let url = format!("{}{path}", replay.url());
                    post(&url, JSON, body.as_bytes()).await.unwrap();
                    get(&url, &[]).await.unwrap();
                }
            }
            post(&replay.url(), JSON, b"{\"id\":\"\xff\"}").await.unwrap();
        }
    }
}

/// Broken heads and sizes end the connection, not the node.
#[tokio::test]
async fn broken_http_ends_the_connection() {
    let replay = start("btc").await;
    let endless = [&b"POST / HTTP/1.1\r\nX: "[..], &[b'x'; 70_000]].concat();
    let junk: [&[u8]; 5] = [
        b"\0\0\0\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n",
        &endless,
    ];
    for bytes in junk {
        // Some answer nothing, some reset what is still in flight.
        assert!(exchange(replay.address(), bytes).await.unwrap_or_default().is_empty());
    }
    assert_eq!(said(&replay, r#"{"id":1,"method":"getblockcount"}"#).await.0, 200);
}

#[tokio::test]
async fn requests_may_be_chunked_pipelined_and_expected() {
    let replay = start("btc").await;
    let body = r#"{"id":1,"method":"getblockcount"}"#;
    let (first, second) = body.split_at(10);
    let mut connection = Connection::open(replay.address()).await.unwrap();
    let chunked = format!(
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\na\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n",
        second.len()
    );
    let plain = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    connection.send((chunked + &plain).as_bytes()).await.unwrap();
    let wanted = b"{\"result\":140,\"error\":null,\"id\":1}\n";
    assert_eq!(connection.answer().await.unwrap().body, wanted);
    assert_eq!(connection.answer().await.unwrap().body, wanted);
    let head = format!(
        "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    connection.send(head.as_bytes()).await.unwrap();
    connection.send(body.as_bytes()).await.unwrap();
    assert_eq!(connection.answer().await.unwrap().body, wanted);
    assert_eq!(replay.calls(), 3);
    assert_eq!(replay.log()[0].method, "getblockcount");
    assert_eq!(replay.log()[0].id.as_deref(), Some("1"));
}

/// Core's own version rules, and the id that an element inherits in a batch.
#[tokio::test]
async fn core_tells_its_versions_apart() {
    let replay = start("btc").await;
    let cases = [
        (
            r#"{"jsonrpc":"1.1","id":7,"method":"getblockcount"}"#,
            400,
            "{\"result\":null,\"error\":{\"code\":-32600,\"message\":\"JSON-RPC version not supported\"},\"id\":7}\n",
        ),
        (
            r#"{"jsonrpc":2,"id":7,"method":"getblockcount"}"#,
            400,
            "{\"result\":null,\"error\":{\"code\":-32600,\"message\":\"jsonrpc field must be a string\"},\"id\":7}\n",
        ),
        (r#"{"method":"getblockcount"}"#, 200, "{\"result\":140,\"error\":null}\n"),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"getblockcount"}"#,
            200,
            "{\"jsonrpc\":\"2.0\",\"result\":140,\"id\":null}\n",
        ),
        (r#"{"jsonrpc":"2.0","method":"no_such_method"}"#, 204, ""),
        (r#"[{"jsonrpc":"2.0","method":"getblockcount"}]"#, 204, ""),
        (
            r#"[{"jsonrpc":"2.0","method":"getblockcount"},{"id":1e30,"method":"getblockcount"}]"#,
            200,
            "[{\"result\":140,\"error\":null,\"id\":1e30}]\n",
        ),
        (
            r#"[{"jsonrpc":"2.0","id":"a","method":"getblockcount"},3]"#,
            200,
            "[{\"jsonrpc\":\"2.0\",\"result\":140,\"id\":\"a\"},{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"Invalid Request object\"},\"id\":\"a\"}]\n",
        ),
        (
            r#"{"id":1,"id":2,"method":"getblockcount","method":"stop"}"#,
            200,
            "{\"result\":140,\"error\":null,\"id\":1}\n",
        ),
        (
            "3",
            500,
            "{\"result\":null,\"error\":{\"code\":-32700,\"message\":\"Top-level object parse error\"},\"id\":null}\n",
        ),
    ];
    for (request, status, body) in cases {
        assert_eq!(said(&replay, request).await, (status, body.to_owned()), "{request}");
    }
    assert_eq!(get(&replay.url(), &[]).await.unwrap().status, 405);
}

#[tokio::test]
async fn dcrd_tells_no_length_and_closes() {
    let replay = start("dcr").await;
    let body = r#"{"id":true,"method":"getblockcount"}"#;
    let request = format!(
        "POST / HTTP/1.1\r\nConnection: keep-alive\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = exchange(replay.address(), request.as_bytes()).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert_eq!(
        answer,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n\n"
    );
    let large = r#"{"id":1,"method":"getblock","params":["4949b0510bbe577b0ac9c561776066146a25ac5565f9e5e79a8a3091bfdad470"]}"#;
    let answer = post(&replay.url(), &[], large.as_bytes()).await.unwrap();
    assert!(answer.header("content-length").is_none());
    assert!(answer.text().ends_with("\"id\":1}\n"));
}

#[tokio::test]
async fn geth_and_anvil_want_json() {
    let body = br#"{"jsonrpc":"2.0","id":7,"method":"eth_chainId"}"#;
    let geth = start("eth").await;
    assert_eq!(post(&geth.url(), &[], body).await.unwrap().status, 415);
    let block =
        br#"{"jsonrpc":"2.0","id":7,"method":"eth_getBlockByNumber","params":["0x6",true]}"#;
    let answer = post(&geth.url(), JSON, block).await.unwrap();
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    let options = ReplayOptions { take: Take::Anvil, ..ReplayOptions::default() };
    let anvil = Replay::start("eth", options).await.unwrap();
    let invalid =
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request"}}"#;
    assert_eq!(post(&anvil.url(), &[], body).await.unwrap().text(), invalid);
    assert_eq!(
        said(&anvil, r#"[{"jsonrpc":"2.0","id":1,"method":"eth_chainId"},3]"#).await.1,
        invalid
    );
    assert_eq!(said(&anvil, r#"{"jsonrpc":"2.0","method":"eth_chainId"}"#).await.0, 204);
}

#[tokio::test]
async fn basic_credentials_are_asked_for() {
    let auth = Auth::Basic { user: "u".to_owned(), password: "p".to_owned() };
    assert!(!format!("{auth:?}").contains("\"p\""));
    let right = ("Authorization", "Basic dTpw");
    let wrong = ("Authorization", "Basic dTpx");
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"getblockcount","params":[]}"#;
    for slug in ["btc", "zec", "dcr"] {
        let options = ReplayOptions { auth: auth.clone(), ..ReplayOptions::default() };
        let replay = Replay::start(slug, options).await.unwrap();
        assert_eq!(post(&replay.url(), &[right], body).await.unwrap().status, 200);
        for refused in [&[wrong][..], &[]] {
            let answer = post(&replay.url(), refused, body).await;
            match slug {
                "zec" => assert!(answer.is_err()),
                _ => {
                    let answer = answer.unwrap();
                    assert_eq!(answer.status, 401);
                    assert!(answer.header("www-authenticate").unwrap().starts_with("Basic"));
                }
            }
        }
        assert_eq!(replay.calls(), 1);
    }
}

/// A nonce belongs to its connection, and its counter must grow.
#[tokio::test]
async fn digest_is_challenged_counted_and_stale() {
    let auth = Auth::Digest { user: "u".to_owned(), password: "p".to_owned() };
    let options = ReplayOptions { auth, ..ReplayOptions::default() };
    let replay = Replay::start("xmr", options).await.unwrap();
    let mut connection = Connection::open(replay.address()).await.unwrap();
    connection.request("POST", "/get_height", &[], b"{}").await.unwrap();
    let challenge = connection.answer().await.unwrap();
    assert_eq!(challenge.status, 401);
    let challenge = challenge.header("www-authenticate").unwrap().to_owned();
    let header = |password, count| {
        digest_header(&challenge, ("u", password), ("POST", "/get_height"), count).unwrap()
    };
    for (password, count, status) in [("p", 1, 200), ("p", 2, 200), ("p", 2, 401), ("p", 3, 401)] {
        let header = header(password, count);
        let headers = [("Authorization", header.as_str())];
        connection.request("POST", "/get_height", &headers, b"{}").await.unwrap();
        let answer = connection.answer().await.unwrap();
        assert_eq!(answer.status, status, "{count}");
        if status == 401 {
            assert!(answer.header("www-authenticate").unwrap().ends_with("stale=true"));
        }
    }
    let header = header("wrong", 1);
    let url = format!("{}/get_height", replay.url());
    let answer = post(&url, &[("Authorization", &header)], b"{}").await.unwrap();
    assert!(answer.header("www-authenticate").unwrap().ends_with("stale=false"));
    assert_eq!(replay.calls(), 2);
}

#[tokio::test]
async fn stopping_frees_the_port() {
    let replay = start("btc").await;
    let address = replay.address();
    let mut open = Connection::open(address).await.unwrap();
    replay.stop();
    assert!(open.rest().await.unwrap_or_default().is_empty());
    let options = ReplayOptions { listen: address, ..ReplayOptions::default() };
    // The listener is closed when its task has ended.
    while Replay::start("btc", options.clone()).await.is_err() {
        tokio::task::yield_now().await;
    }
    assert!(Replay::start("nonsense", ReplayOptions::default()).await.is_err());
}
