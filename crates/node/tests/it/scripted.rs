//! A node made of a script: what each connection hears and says is written in the test.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test may")]

use std::future::Future;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use node::{Answer, Ids, Node, NodeConfig, NodeError, Pool, PoolConfig, Route, Tried, Weight};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A byte stream of either kind.
pub trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

/// One request as it came.
#[derive(Clone, Debug)]
pub struct Heard {
    pub connection: usize,
    pub head: String,
    pub body: Vec<u8>,
}

impl Heard {
    /// The value of a header, by its lower-case name.
    pub fn header(&self, name: &str) -> Option<String> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut values = lines.filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v);
        values.next().map(str::to_owned)
    }

    pub fn path(&self) -> String {
        self.head.split(' ').nth(1).unwrap().to_owned()
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// The raw id of a JSON-RPC call.
    pub fn id(&self) -> Option<String> {
        let call: serde_json::Value = serde_json::from_slice(&self.body).ok()?;
        call.get("id").map(ToString::to_string)
    }

    /// An answer of `result` or `rpc_error`, with the id of this call in the place of their 0.
    pub fn echo(&self, answer: Vec<u8>) -> Vec<u8> {
        let Some(id) = self.id() else { return answer };
        let Ok(text) = String::from_utf8(answer.clone()) else { return answer };
        let Some((head, body)) = text.split_once("\r\n\r\n") else { return answer };
        let own = body.replace("\"id\":0}", &format!("\"id\":{id}}}"));
        let (old, new) = (body.len().to_string(), own.len().to_string());
        let head =
            head.replace(&format!("Content-Length: {old}"), &format!("Content-Length: {new}"));
        format!("{head}\r\n\r\n{own}").into_bytes()
    }

    /// The method of a JSON-RPC call.
    pub fn method(&self) -> String {
        let call: serde_json::Value = serde_json::from_slice(&self.body).unwrap();
        call["method"].as_str().unwrap_or_default().to_owned()
    }
}

/// The node's end of a connection.
pub struct Peer {
    pub number: usize,
    pub stream: Box<dyn Wire>,
    heard: Arc<Mutex<Vec<Heard>>>,
    pending: Vec<u8>,
}

impl Peer {
    /// The next request, or nothing once the other side is gone.
    pub async fn hear(&mut self) -> Option<Heard> {
        let heard = self.take().await?;
        self.heard.lock().unwrap().push(heard.clone());
        Some(heard)
    }

    /// The next request but those for a websocket, which are refused and not noted.
    async fn hear_call(&mut self) -> Option<Heard> {
        loop {
            let heard = self.take().await?;
            if heard.header("upgrade").is_none() {
                self.heard.lock().unwrap().push(heard.clone());
                return Some(heard);
            }
            self.say(with_status("404 Not Found", "")).await;
        }
    }

    async fn take(&mut self) -> Option<Heard> {
        let end = loop {
            if let Some(at) = self.pending.windows(4).position(|part| part == b"\r\n\r\n") {
                break at + 4;
            }
            self.more().await?;
        };
        let head = String::from_utf8(self.pending.drain(..end).collect()).unwrap();
        let mut heard = Heard { connection: self.number, head, body: Vec::new() };
        let length: usize = heard.header("content-length").map_or(0, |text| text.parse().unwrap());
        while self.pending.len() < length {
            self.more().await?;
        }
        heard.body = self.pending.drain(..length).collect();
        Some(heard)
    }

    async fn more(&mut self) -> Option<()> {
        let mut buffer = vec![0; 64 << 10];
        let bytes = self.stream.read(&mut buffer).await.ok().filter(|bytes| *bytes > 0)?;
        self.pending.extend_from_slice(&buffer[..bytes]);
        Some(())
    }

    pub async fn say(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref()).await;
        let _ = self.stream.flush().await;
    }

    /// Ends the connection in order.
    pub async fn close(mut self) {
        let _ = self.stream.shutdown().await;
    }
}

/// A listening node.
pub struct Scripted {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    heard: Arc<Mutex<Vec<Heard>>>,
    listening: JoinHandle<()>,
}

impl Scripted {
    /// Listens, and lets `script` run for each connection.
    pub async fn start<F, S>(script: F) -> Scripted
    where
        F: Fn(Peer) -> S + Send + Sync + 'static,
        S: Future<Output = ()> + Send + 'static,
    {
        Scripted::start_with(None, script).await
    }

    /// The same behind TLS.
    pub async fn start_with<F, S>(tls: Option<rustls::ServerConfig>, script: F) -> Scripted
    where
        F: Fn(Peer) -> S + Send + Sync + 'static,
        S: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (connections, heard) = (Arc::<AtomicUsize>::default(), Arc::<Mutex<_>>::default());
        let (counted, log) = (connections.clone(), heard.clone());
        let tls = tls.map(|config| tokio_rustls::TlsAcceptor::from(Arc::new(config)));
        let script = Arc::new(script);
        let listening = tokio::spawn(async move {
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                tcp.set_nodelay(true).unwrap();
                let number = counted.fetch_add(1, Ordering::SeqCst);
                let (tls, script, heard) = (tls.clone(), script.clone(), log.clone());
                tokio::spawn(async move {
                    let stream: Box<dyn Wire> = match tls {
                        None => Box::new(tcp),
                        Some(tls) => match tls.accept(tcp).await {
                            Ok(stream) => Box::new(stream),
                            Err(_) => return,
                        },
                    };
                    script(Peer { number, stream, heard, pending: Vec::new() }).await;
                });
            }
        });
        Scripted { address, connections, heard, listening }
    }

    /// A node that answers each request with what `answer` makes of it, and has no websocket.
    pub async fn answering<F>(answer: F) -> Scripted
    where
        F: Fn(&Heard) -> Vec<u8> + Send + Sync + 'static,
    {
        let answer = Arc::new(answer);
        Scripted::start(move |mut peer| {
            let answer = answer.clone();
            async move {
                while let Some(heard) = peer.hear_call().await {
                    let bytes = heard.echo(answer(&heard));
                    peer.say(bytes).await;
                }
            }
        })
        .await
    }

    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Connections so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// An answer with a length.
pub fn ok(body: &str) -> Vec<u8> {
    with_status("200 OK", body)
}

pub fn with_status(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// A JSON-RPC answer.
pub fn result(json: &str) -> Vec<u8> {
    ok(&format!("{{\"result\":{json},\"error\":null,\"id\":0}}\n"))
}

pub fn rpc_error(code: i64, message: &str) -> Vec<u8> {
    let body = format!(
        "{{\"result\":null,\"error\":{{\"code\":{code},\"message\":\"{message}\"}},\"id\":0}}\n"
    );
    with_status("500 Internal Server Error", &body)
}

/// A pool of one chain's regtest (or main) network with the given nodes.
pub fn pool(slug: &str, network: &str, nodes: Vec<NodeConfig>) -> Arc<Pool> {
    pool_with(slug, network, nodes, |_| {})
}

pub fn pool_with(
    slug: &str,
    network: &str,
    nodes: Vec<NodeConfig>,
    change: impl FnOnce(&mut PoolConfig),
) -> Arc<Pool> {
    let chain = chain::find(slug).unwrap();
    let mut config = PoolConfig { nodes, ..PoolConfig::default() };
    change(&mut config);
    Pool::new(chain, chain.network(network).unwrap(), config).unwrap()
}

/// The only node of a Bitcoin regtest pool.
pub fn lone(server: &Scripted) -> (Arc<Pool>, Arc<Node>) {
    lone_with(server, |_| {})
}

pub fn lone_with(
    server: &Scripted,
    change: impl FnOnce(&mut PoolConfig),
) -> (Arc<Pool>, Arc<Node>) {
    let pool = pool_with("btc", "regtest", vec![NodeConfig::new(server.url())], change);
    let node = pool.pick(&Tried::new()).unwrap();
    (pool, node)
}

pub const CALL: &str = r#"{"jsonrpc":"1.0","id":1,"method":"getblockcount","params":[]}"#;

/// One call of account 1.
pub async fn send(node: &Arc<Node>) -> Result<Answer, NodeError> {
    let lease = node.lease(1, Weight::Light).await?;
    let ids = Ids::One(Some(Bytes::from_static(b"1")));
    node.send(lease, Route::Rpc, Bytes::from_static(CALL.as_bytes()), ids).await
}

/// One call, read to its end.
pub async fn call(node: &Arc<Node>) -> Result<Bytes, NodeError> {
    send(node).await?.body.collect(u64::MAX).await
}

/// Waits until `done` says so.
pub async fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..12_000 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("waited too long until {what}");
}

pub fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}
