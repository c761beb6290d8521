//! The websocket over which a node that closes each of its HTTP connections is asked our own calls
//! (dcrd).
//!
//! Customers' calls never come this way, and probes do not, so that they meet what those meet. How
//! it is opened is left to `upgrade`, what goes over it to `multiplex`. Invariants: a node that does
//! not grant the upgrade, or hangs up before it answered anything over it, is asked by HTTP, and asked
//! for the upgrade again only after a while; what was written to a node is not written again.
//!
//! Source: dcrd, internal/rpcserver/rpcserver.go (`route`) and rpcwebsocket.go: `/` answers one
//! request a connection; `/ws` says 401 before it upgrades, accepts a client above
//! `rpcmaxwebsockets` only to hang up, as it does on one without credentials, and takes its
//! requests without counting it among `rpcmaxclients`.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::gate::Lease;
use crate::ids::Ids;
use crate::node::Node;
use crate::{Cause, NodeError, Sent};

pub(crate) mod kept;
mod multiplex;
mod stream;
mod upgrade;

use kept::Websocket;
use multiplex::{Answers, Multiplex};
use upgrade::Upgrade;

/// What is asked first over a websocket: the answer shows that it serves, and from then on the node
/// tells of its blocks. dcrd, rpcwebsocket.go, `handleNotifyBlocks`; the limited user may too.
const FIRST_CALL: &str = "notifyblocks";

impl Node {
    /// The open websocket, or a new one; nothing where the node has none for us.
    ///
    /// # Errors
    /// It cannot be reached, or refuses our credentials.
    pub(crate) async fn multiplex(self: &Arc<Node>) -> Result<Option<Arc<Multiplex>>, NodeError> {
        let Some(websocket) = &self.websocket else { return Ok(None) };
        // Whoever comes while it is being opened waits for it.
        let mut open = websocket.open.lock().await;
        if let Some(multiplex) = open.as_ref().filter(|multiplex| multiplex.is_open()) {
            return Ok(Some(Arc::clone(multiplex)));
        }
        *open = None;
        if !websocket.route.may_be_there() {
            return Ok(None);
        }
        let multiplex = self.open_multiplex(websocket).await.inspect_err(|error| {
            if error.blames_node() {
                self.health.call_failed();
            }
        })?;
        let multiplex = multiplex.map(Arc::new);
        let (chain, node) = (self.chain().slug, self.host());
        match &multiplex {
            Some(_) => tracing::debug!(chain, node, "a websocket to a node is open"),
            None => {
                websocket.route.note_missing();
                tracing::info!(chain, node, "a node grants no websocket and is asked by HTTP");
            }
        }
        open.clone_from(&multiplex);
        Ok(multiplex)
    }

    async fn open_multiplex(&self, websocket: &Websocket) -> Result<Option<Multiplex>, NodeError> {
        let (stream, progress) = match self.upgrade().await? {
            Upgrade::Granted(stream, progress) => (stream, progress),
            Upgrade::Refused => return Ok(None),
        };
        let answers = Answers::new(Arc::clone(&self.health), websocket.news.clone());
        let multiplex = Multiplex::run(*stream, progress, answers);
        let (body, ids) = self.envelope(FIRST_CALL, "[]");
        let first = multiplex.send(&ids, body, None);
        match timeout(self.probe_limit, first).await {
            Ok(Ok(_)) => Ok(Some(multiplex)),
            _ => Ok(None),
        }
    }

    /// Asks over a websocket. An answer that was not whole after the time for its head is waited
    /// for as long as bytes come, up to the time for the whole.
    ///
    /// # Errors
    /// As `send`; `Sent::Nothing` where the websocket turned out to be closed.
    pub(crate) async fn ask_over(
        &self,
        multiplex: &Arc<Multiplex>,
        lease: Lease,
        body: Bytes,
        ids: &Ids,
    ) -> Result<Bytes, NodeError> {
        let (started, read) = (Instant::now(), multiplex.read());
        let mut answer = std::pin::pin!(multiplex.send(ids, body, Some(lease)));
        let head = (started + self.first_byte).into();
        if let Ok(outcome) = tokio::time::timeout_at(head, &mut answer).await {
            return outcome;
        }
        let cause = if multiplex.read() == read {
            Cause::TimedOutFirstByte
        } else {
            match tokio::time::timeout_at((started + self.whole).into(), &mut answer).await {
                Ok(outcome) => return outcome,
                Err(_) => Cause::TimedOutWhole,
            }
        };
        if let Some(websocket) = &self.websocket {
            websocket.leave(multiplex).await;
        }
        self.health.call_failed();
        Err(NodeError::new(cause, Sent::Maybe))
    }
}

/// Ticks `woken` whenever a node tells of a block over its websocket, for ever.
pub(crate) async fn keep_hearing(node: Arc<Node>, woken: watch::Sender<u64>) {
    let Some(websocket) = &node.websocket else { return };
    let mut news = websocket.news.subscribe();
    // The sender lives as long as `node`.
    while news.changed().await.is_ok() {
        woken.send_modify(|count| *count = count.wrapping_add(1));
    }
}
