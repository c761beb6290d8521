//! What a node is shown, and what happens when it does not like it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use md5::{Digest, Md5};
use node::{Auth, Cause, Node, NodeConfig, Pool, Secret, Tried};

use crate::scripted::*;

fn with_login(server: &Scripted, auth: Auth, password: &str) -> (Arc<Pool>, Arc<Node>) {
    let config = NodeConfig {
        user: Some("user".into()),
        password: Some(Secret::new(password)),
        auth,
        ..NodeConfig::new(server.url())
    };
    let pool = pool("xmr", "regtest", vec![config]);
    let node = pool.pick(&Tried::new()).unwrap();
    (pool, node)
}

fn unauthorized(challenge: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n{challenge}Content-Type: text/html\r\n\r\nno!\n"
    )
    .into_bytes()
}

#[tokio::test]
async fn basic_goes_with_every_request() {
    let server = Scripted::answering(|_| ok("1")).await;
    let (_pool, node) = with_login(&server, Auth::Basic, "päss:word");
    call(&node).await.unwrap();
    call(&node).await.unwrap();
    for heard in server.heard() {
        assert_eq!(heard.header("authorization").unwrap(), "Basic dXNlcjpww6Rzczp3b3Jk");
    }
}

#[tokio::test]
async fn refused_password_is_not_tried_again_and_not_shown() {
    let server =
        Scripted::answering(|_| unauthorized("WWW-Authenticate: Basic realm=\"jsonrpc\"\r\n"))
            .await;
    let (_pool, node) = with_login(&server, Auth::Basic, "hunter2");
    let error = call(&node).await.unwrap_err();
    assert_eq!(error.cause, Cause::Unauthorized);
    assert_eq!(server.heard().len(), 1);
    let shown = format!("{error} {error:?} {node:?} {:?}", node.state());
    assert!(!shown.contains("hunter2") && !shown.contains("dXNlcjpodW50ZXIy"), "{shown}");
}

#[tokio::test]
async fn forbidden_is_our_misconfiguration_too() {
    let server = Scripted::answering(|_| with_status("403 Forbidden", "")).await;
    let (_pool, node) = lone(&server);
    assert_eq!(call(&node).await.unwrap_err().cause, Cause::Unauthorized);
}

#[tokio::test]
async fn new_cookie_is_used_within_the_same_attempt() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(".cookie");
    std::fs::write(&path, "__cookie__:one").unwrap();
    let wanted = Arc::new(Mutex::new("Basic X19jb29raWVfXzpvbmU=".to_owned()));
    let expected = wanted.clone();
    let server = Scripted::answering(move |heard| {
        match heard.header("authorization").as_deref() == Some(expected.lock().unwrap().as_str()) {
            true => ok("1"),
            false => unauthorized("WWW-Authenticate: Basic realm=\"jsonrpc\"\r\n"),
        }
    })
    .await;
    let config = NodeConfig { cookie: Some(path.clone()), ..NodeConfig::new(server.url()) };
    let pool = pool("btc", "regtest", vec![config]);
    let node = pool.pick(&Tried::new()).unwrap();
    call(&node).await.unwrap();
    assert_eq!(server.heard().len(), 1);

    // The node restarts with a new cookie of the same length.
    *wanted.lock().unwrap() = "Basic X19jb29raWVfXzp0d28=".to_owned();
    std::fs::write(&path, "__cookie__:two").unwrap();
    call(&node).await.unwrap();
    assert_eq!(server.heard().len(), 3);
    assert_eq!(server.connections(), 1, "the connection of a 401 lives on");

    // A cookie that did not change is not tried again.
    *wanted.lock().unwrap() = "another".to_owned();
    assert_eq!(call(&node).await.unwrap_err().cause, Cause::Unauthorized);
    assert_eq!(server.heard().len(), 4);
}

#[tokio::test]
async fn cookie_written_after_our_start_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(".cookie");
    let server = Scripted::answering(|heard| match heard.header("authorization") {
        Some(_) => ok("1"),
        None => unauthorized(""),
    })
    .await;
    let config = NodeConfig { cookie: Some(path.clone()), ..NodeConfig::new(server.url()) };
    let pool = pool("btc", "regtest", vec![config]);
    let node = pool.pick(&Tried::new()).unwrap();
    assert_eq!(call(&node).await.unwrap_err().cause, Cause::Unauthorized);
    std::fs::write(&path, "__cookie__:one").unwrap();
    call(&node).await.unwrap();
}

/// A server that makes a nonce for each connection and counts its uses, as monerod does.
struct DigestServer {
    password: &'static str,
    algorithm: &'static str,
    /// Uses of a nonce before it is stale.
    uses: u32,
    /// Closes the connection with each 401.
    closes: bool,
    nonces: AtomicUsize,
}

fn md5(text: String) -> String {
    Md5::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl DigestServer {
    async fn start(self) -> Scripted {
        let server = Arc::new(self);
        Scripted::start(move |peer| Arc::clone(&server).serve(peer)).await
    }

    async fn serve(self: Arc<DigestServer>, mut peer: Peer) {
        let mut nonce = self.nonce();
        let mut used = 0;
        while let Some(heard) = peer.hear().await {
            let given = heard.header("authorization");
            let right = given.as_ref().map(|text| self.is_right(text, &nonce, used + 1, &heard));
            if right == Some(true) && used < self.uses {
                used += 1;
                peer.say(ok("1")).await;
                continue;
            }
            let stale = right == Some(true);
            (nonce, used) = (self.nonce(), 0);
            let close = if self.closes { "Connection: close\r\n" } else { "" };
            peer.say(unauthorized(&format!(
                "{close}WWW-authenticate: Digest qop=\"auth\",algorithm=MD5-sess,realm=\"monero-rpc\",nonce=\"{nonce}\",stale={stale}\r\n\
                 WWW-authenticate: Digest qop=\"auth\",algorithm={},realm=\"monero-rpc\",nonce=\"{nonce}\",stale={stale}\r\n",
                self.algorithm
            )))
            .await;
            if self.closes {
                return peer.close().await;
            }
        }
    }

    fn nonce(&self) -> String {
        format!("nonce{}==", self.nonces.fetch_add(1, Ordering::SeqCst))
    }

    fn is_right(&self, given: &str, nonce: &str, uses: u32, heard: &Heard) -> bool {
        let fields: HashMap<&str, &str> = given
            .strip_prefix("Digest ")
            .unwrap()
            .split(", ")
            .map(|field| field.split_once('=').unwrap())
            .map(|(name, value)| (name, value.trim_matches('"')))
            .collect();
        assert_eq!((fields["username"], fields["uri"]), ("user", "/json_rpc"));
        assert_eq!(heard.path(), "/json_rpc");
        let known = |name: &str| match self.closes {
            true => name.starts_with("nonce"),
            false => name == nonce,
        };
        if !known(fields["nonce"]) || fields["nc"] != format!("{uses:08x}") {
            return false;
        }
        let mut who = md5(format!("user:monero-rpc:{}", self.password));
        if fields["algorithm"] == "MD5-sess" {
            who = md5(format!("{who}:{}:{}", fields["nonce"], fields["cnonce"]));
        }
        let what = md5("POST:/json_rpc".to_owned());
        let (nonce, nc, cnonce) = (fields["nonce"], fields["nc"], fields["cnonce"]);
        fields["response"] == md5(format!("{who}:{nonce}:{nc}:{cnonce}:auth:{what}"))
    }
}

fn digest_server() -> DigestServer {
    DigestServer {
        password: "secret",
        algorithm: "MD5",
        uses: 1000,
        closes: false,
        nonces: AtomicUsize::new(0),
    }
}

#[tokio::test]
async fn digest_challenge_is_answered_once_a_connection() {
    let server = digest_server().start().await;
    let (_pool, node) = with_login(&server, Auth::Digest, "secret");
    for _ in 0..5 {
        assert_eq!(call(&node).await.unwrap(), "1");
    }
    assert_eq!((server.heard().len(), server.connections()), (6, 1));
}

#[tokio::test]
async fn digest_sessions_of_connections_do_not_mix() {
    let server = digest_server().start().await;
    let (_pool, node) = with_login(&server, Auth::Digest, "secret");
    for _ in 0..10 {
        let all = tokio::join!(call(&node), call(&node), call(&node), call(&node));
        for answer in [all.0, all.1, all.2, all.3] {
            assert_eq!(answer.unwrap(), "1");
        }
    }
    assert_eq!(server.heard().len(), 40 + server.connections());
}

#[tokio::test]
async fn stale_nonce_is_replaced() {
    let server = DigestServer { uses: 2, ..digest_server() }.start().await;
    let (_pool, node) = with_login(&server, Auth::Digest, "secret");
    for _ in 0..7 {
        assert_eq!(call(&node).await.unwrap(), "1");
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn digest_answers_on_a_new_connection_where_the_old_one_was_closed() {
    let server = DigestServer { closes: true, ..digest_server() }.start().await;
    let (_pool, node) = with_login(&server, Auth::Digest, "secret");
    for _ in 0..3 {
        assert_eq!(call(&node).await.unwrap(), "1");
    }
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn session_variant_is_answered_where_it_is_all_there_is() {
    let server = DigestServer { algorithm: "MD5-sess", ..digest_server() }.start().await;
    let (_pool, node) = with_login(&server, Auth::Digest, "secret");
    assert_eq!(call(&node).await.unwrap(), "1");
    assert_eq!(call(&node).await.unwrap(), "1");
}

#[tokio::test]
async fn wrong_digest_password_is_not_tried_for_ever() {
    let server = digest_server().start().await;
    let (_pool, node) = with_login(&server, Auth::Digest, "wrong");
    for calls in 1..4 {
        assert_eq!(call(&node).await.unwrap_err().cause, Cause::Unauthorized);
        assert!(server.heard().len() <= 3 * calls);
    }
}
