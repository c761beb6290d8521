//! The cheapest node there can be: one answer to everything, every call counted.
//!
//! For load tests and benchmarks: it parses no more than it must. A call's id takes the place of
//! the answer's, unless that is told off. Invariant: a request that was
//! read whole is counted exactly once, before its answer is written.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use crate::chunks::Chunks;
use crate::json;
use crate::node::Node;
use crate::options::Tls;
use crate::server::Server;
use crate::wire::{Framing, Reply, Request};

/// What a [`Mock`] answers, and how.
#[derive(Debug, Clone)]
pub struct MockOptions {
    /// Where it listens. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// Over TLS, where given.
    pub tls: Option<Tls>,
    /// The HTTP status.
    pub status: u16,
    /// The body, the same each time but for the id.
    pub answer: Bytes,
    /// Puts the id of a single call in the place of an `"id":1` at the end of `answer`, as a node
    /// does, which costs a parse.
    pub echo_ids: bool,
    /// How the end of the body is told.
    pub framing: Framing,
    /// How long it waits before it answers.
    pub delay: Option<Duration>,
    /// Also counts the `id` of each call (each element of a batch), which costs a parse.
    pub count_ids: bool,
}

impl Default for MockOptions {
    /// Answers `{"result":1,"error":null,"id":1}` at once, with the call's id.
    fn default() -> Self {
        MockOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            tls: None,
            status: 200,
            answer: Bytes::from_static(b"{\"result\":1,\"error\":null,\"id\":1}\n"),
            echo_ids: true,
            framing: Framing::Length,
            delay: None,
            count_ids: false,
        }
    }
}

impl MockOptions {
    /// Answers a valid legacy envelope of exactly `size` bytes to a call whose id is one digit, its
    /// newline included; the shortest possible is 35 bytes.
    pub fn of_size(size: usize) -> MockOptions {
        let (open, close) = (r#"{"result":""#, "\",\"error\":null,\"id\":1}\n");
        let filling = "0".repeat(size.saturating_sub(open.len() + close.len()));
        let answer = Bytes::from([open, &filling, close].concat());
        MockOptions { answer, ..MockOptions::default() }
    }
}

/// A mock node that listens.
#[derive(Debug)]
pub struct Mock {
    node: Arc<FixedNode>,
    server: Server,
    scheme: &'static str,
}

impl Mock {
    /// Starts it on the current runtime.
    pub async fn start(options: MockOptions) -> io::Result<Mock> {
        let scheme = if options.tls.is_some() { "https" } else { "http" };
        let (listen, tls) = (options.listen, options.tls.clone());
        let node = Arc::new(FixedNode {
            options,
            requests: AtomicU64::new(0),
            calls_by_id: Mutex::new(HashMap::new()),
        });
        let server = Server::start(listen, tls, node.clone()).await?;
        Ok(Mock { node, server, scheme })
    }

    /// Where it is reached, without a path.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.server.address())
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// HTTP requests so far.
    pub fn calls(&self) -> u64 {
        self.node.requests.load(Ordering::Acquire)
    }

    /// How often each `id` was seen, by its text; `""` for none. Empty unless
    /// [`count_ids`](MockOptions::count_ids).
    pub fn calls_by_id(&self) -> HashMap<String, u64> {
        self.node.calls_by_id.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the listener and its connections; dropping does the same.
    pub fn stop(self) {}
}

#[derive(Debug)]
struct FixedNode {
    options: MockOptions,
    requests: AtomicU64,
    calls_by_id: Mutex<HashMap<String, u64>>,
}

impl FixedNode {
    /// The answer, with the id of the call in `body`.
    fn echoed(&self, body: &[u8]) -> Option<Chunks> {
        const ID: &[u8] = b"\"id\":1}";
        let answer = &self.options.answer;
        let at = answer.len() - answer.iter().rev().take(64).count();
        let place = at + answer[at..].windows(ID.len()).rposition(|part| part == ID)?;
        let raw = json::value(body).ok()?;
        let (_, id) = json::members(raw)?.into_iter().find(|(name, _)| name == "id")?;
        let (before, after) = (place + ID.len() - 2, place + ID.len() - 1);
        Some(Chunks::default().shared(answer.slice(..before)).own(id).shared(answer.slice(after..)))
    }

    fn count_ids(&self, body: &[u8]) {
        let raw = json::value(body).unwrap_or("null");
        let calls = json::items(raw).unwrap_or_else(|| vec![raw]);
        let mut counts = self.calls_by_id.lock().unwrap_or_else(PoisonError::into_inner);
        for call in calls {
            let members = json::members(call).unwrap_or_default();
            let id = members.iter().find(|(name, _)| name == "id").map_or("", |(_, id)| *id);
            *counts.entry(id.to_owned()).or_default() += 1;
        }
    }
}

impl Node for FixedNode {
    type Session = ();

    fn answer(&self, _session: &mut (), request: &Request) -> Reply {
        self.requests.fetch_add(1, Ordering::AcqRel);
        if self.options.count_ids {
            self.count_ids(&request.body);
        }
        let echoed = self.options.echo_ids.then(|| self.echoed(&request.body)).flatten();
        let body = echoed.unwrap_or_else(|| Chunks::default().shared(self.options.answer.clone()));
        let mut reply = Reply::new(self.options.status, "application/json", body);
        reply.framing = self.options.framing;
        reply.delay = self.options.delay;
        reply
    }
}
