//! One full node: its address, credentials, slots and health in one place.
//!
//! Choosing among nodes is left to `choice`, sending again to the caller. Invariant: nothing is
//! sent without a lease.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use chain::{Chain, Dialect, Network};
use http::uri::PathAndQuery;

use crate::address::Address;
use crate::connections::Connections;
use crate::credentials::Credentials;
use crate::flow::{FlowLimits, Flows};
use crate::gate::{Gate, GateCaps, Lease, Weight};
use crate::health::Health;
use crate::optional_route::OptionalRoutes;
use crate::websocket::kept::Websocket;
use crate::zmq::Publisher;
use crate::{Busy, Cause, NodeConfig, NodeError, NodeState, PoolConfig, PoolError, tls};

/// Calls at once by dialect, below what the nodes take by default: Core family 16 (ABC: 4 threads
/// and a queue of 16), dcrd 8 (`rpcmaxclients` 10), monerod by its limits of 25 connections a
/// private address and 3 a public one (`cryptonote_config.h`).
const CORE_SLOTS: usize = 16;
const DCRD_SLOTS: usize = 8;
const GETH_SLOTS: usize = 64;
const MONEROD_SLOTS: usize = 20;
const PUBLIC_MONEROD_SLOTS: usize = 2;
/// Connections to a zebrad, below the 100 that jsonrpsee takes unless told otherwise
/// (`ServerBuilder::max_connections`).
const ZEBRAD_CONNECTIONS: usize = 96;
/// Answers at once that are being read without a slot.
const OPEN_ANSWERS: usize = 200;
/// Bitcoin Core answers JSON-RPC 2.0 from 28.0 on.
const CORE_WITH_V2: u64 = 280_000;

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

/// Which of a node's paths a request goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// Where the dialect takes JSON-RPC.
    Rpc,
    /// A plain path, with its leading slash (monerod).
    Path(&'a str),
}

/// One full node.
pub struct Node {
    id: u64,
    chain: &'static Chain,
    network: &'static Network,
    pub(crate) config: NodeConfig,
    pub(crate) connections: Arc<Connections>,
    pub(crate) credentials: Credentials,
    pub(crate) gate: Arc<Gate>,
    pub(crate) health: Arc<Health>,
    pub(crate) flows: Arc<Flows>,
    pub(crate) flow_limits: FlowLimits,
    pub(crate) first_byte: Duration,
    pub(crate) whole: Duration,
    pub(crate) probe_limit: Duration,
    /// Which optional routes the node has.
    pub(crate) routes: OptionalRoutes,
    /// Where our own calls go over one.
    pub(crate) websocket: Option<Websocket>,
    pub(crate) publisher: Option<Publisher>,
    rpc: PathAndQuery,
}

impl Node {
    pub(crate) fn new(
        chain: &'static Chain,
        network: &'static Network,
        index: usize,
        pool: &PoolConfig,
        flows: &Arc<Flows>,
    ) -> Result<Arc<Node>, PoolError> {
        let config = pool.nodes[index].clone();
        let address =
            Address::parse(&config.url).map_err(|problem| PoolError::Url { index, problem })?;
        let setting = |problem| PoolError::Setting { index, problem };
        let credentials = Credentials::new(&config, address.shown()).map_err(setting)?;
        let tls = match address.tls {
            false if config.ca.is_some() => return Err(setting("ca needs an https url")),
            false => None,
            true => {
                let name = address.server_name(config.server_name.as_deref()).map_err(setting)?;
                let connector = tls::connector(config.ca.as_deref()).map_err(|problem| {
                    PoolError::File { index, path: config.ca.clone().unwrap_or_default(), problem }
                })?;
                Some((connector, name))
            }
        };
        let rpc = rpc_path(chain.dialect, &address.prefix)
            .parse()
            .map_err(|_| PoolError::Url { index, problem: "has a path that cannot be used" })?;
        let publisher = config.zmq.as_deref().map(Publisher::parse).transpose().map_err(setting)?;
        let caps = caps(chain.dialect, &config, &address);
        let gate = Gate::new(caps, pool.queue_wait);
        let timeouts = pool.timeouts;
        Ok(Arc::new(Node {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            chain,
            network,
            connections: Arc::new(Connections::new(address, tls, timeouts, caps.most())),
            credentials,
            gate,
            health: Health::new(pool.ejection),
            flows: Arc::clone(flows),
            flow_limits: FlowLimits::new(pool),
            first_byte: timeouts.first_byte,
            whole: timeouts.whole,
            probe_limit: timeouts.probe,
            routes: OptionalRoutes::new(pool.route_retry),
            websocket: Websocket::of(chain.dialect, pool.route_retry),
            publisher,
            rpc,
            config,
        }))
    }

    /// A number that no other node of this process has.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Host and port, the only part of the URL that is ever shown.
    pub fn host(&self) -> &str {
        self.connections.address().shown()
    }

    /// The chain it is configured for.
    pub fn chain(&self) -> &'static Chain {
        self.chain
    }

    /// The network it is configured for.
    pub fn network(&self) -> &'static Network {
        self.network
    }

    /// Waits for a slot, first in, first out, at most `queue_wait`.
    ///
    /// `account` tells who is not to hold more than half of the slots; it does not matter for
    /// [`Weight::Internal`].
    ///
    /// # Errors
    /// `Busy` when none became free.
    pub async fn lease(self: &Arc<Node>, account: u64, weight: Weight) -> Result<Lease, Busy> {
        self.gate.enter(account, weight).await
    }

    /// Counts an answer that its reader found good: earlier failures are forgiven.
    pub fn credit(&self) {
        self.health.call_answered();
    }

    /// Counts an answer that only its reader could see to be useless (no JSON, cut off) as a
    /// failure of the node.
    pub fn strike(&self) {
        self.health.call_failed();
    }

    /// Tells the operator of a call that failed. A node's failures are one line of the log a minute,
    /// however many they are; `what` may hold no secret.
    pub fn complain(&self, what: &dyn std::fmt::Display) {
        self.health.complaints.add(what);
    }

    /// Writes the line about failed calls, if it is time for one.
    pub(crate) fn tell_complaints(&self, now: Instant) {
        if let Some(line) = self.health.complaints.due(now) {
            let (chain, node) = (self.chain.slug, self.host());
            let (calls, last) = (line.calls, line.last);
            match line.is_warning {
                true => tracing::warn!(chain, node, calls, "calls to a node failed: {last}"),
                false => tracing::info!(chain, node, calls, "calls to a node failed: {last}"),
            }
        }
    }

    /// Whether the node treats a call tagged `"jsonrpc":"2.0"` as JSON-RPC 2.0: status 200 for
    /// errors, and no answer to a call without an id. Unknown versions of Bitcoin Core count as
    /// new ones.
    pub fn speaks_v2(&self) -> bool {
        match self.chain.dialect {
            Dialect::Core => !(1..CORE_WITH_V2).contains(&self.health.version_number()),
            Dialect::Zebrad | Dialect::Geth => true,
            Dialect::LegacyCore | Dialect::Dcrd | Dialect::Monerod => false,
        }
    }

    /// What the node calls itself, e.g. `/Satoshi:28.0.0/`, once a probe has asked it.
    pub fn version(&self) -> Option<String> {
        self.health.facts().version.clone()
    }

    /// Height of its best block, as last probed.
    pub fn height(&self) -> Option<u64> {
        self.health.height()
    }

    /// Calls that hold a slot or wait for one.
    pub fn in_flight(&self) -> usize {
        self.gate.in_flight()
    }

    /// What is known of it.
    pub fn state(&self) -> NodeState {
        let facts = self.health.facts();
        NodeState {
            host: self.host().to_owned(),
            reachable: facts.reachable,
            probed: *self.health.probed.borrow(),
            verdict: self.health.verdict(),
            height: self.health.height(),
            version: facts.version.clone(),
            identity: facts.identity,
            ejected: self.health.is_ejected(),
            in_flight: self.in_flight(),
            open_answers: self.gate.open_answers(),
            idle_connections: self.connections.idle_connections(),
            note: facts.note.clone(),
            unread_file: self.credentials.unread().map(|unread| unread.to_string()),
        }
    }

    /// Whether the node builds a whole answer before it sends its head, so that the slot can be
    /// freed then (decision G15). geth encodes a result into memory before it writes it
    /// (`rpc/json.go`), zebrad's jsonrpsee makes one string of it; dcrd does too, but counts a client
    /// until its answer is written (`rpcmaxclients`).
    pub(crate) fn builds_before_sending(&self) -> bool {
        self.chain.dialect != Dialect::Dcrd
    }

    /// Whether it is said to publish the hashes of blocks and transactions by ZMQ.
    pub(crate) fn publishes_hashes(&self) -> bool {
        self.publisher.is_some()
            && matches!(self.chain.dialect, Dialect::Core | Dialect::LegacyCore)
    }

    pub(crate) fn path(&self, route: Route<'_>) -> Result<PathAndQuery, NodeError> {
        match route {
            Route::Rpc => Ok(self.rpc.clone()),
            Route::Path(path) => format!("{}{path}", self.connections.address().prefix)
                .parse()
                .map_err(|_| NodeError::unsent(Cause::Malformed, "the path is no path")),
        }
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node").field("chain", &self.chain).field("host", &self.host()).finish()
    }
}

fn rpc_path(dialect: Dialect, prefix: &str) -> String {
    match dialect {
        Dialect::Monerod => format!("{prefix}/json_rpc"),
        _ if prefix.is_empty() => "/".to_owned(),
        _ => prefix.to_owned(),
    }
}

fn caps(dialect: Dialect, config: &NodeConfig, address: &Address) -> GateCaps {
    let slots = config.slots.unwrap_or(match dialect {
        Dialect::Core | Dialect::LegacyCore | Dialect::Zebrad => CORE_SLOTS,
        Dialect::Dcrd => DCRD_SLOTS,
        Dialect::Geth => GETH_SLOTS,
        Dialect::Monerod if address.is_private() => MONEROD_SLOTS,
        Dialect::Monerod => PUBLIC_MONEROD_SLOTS,
    });
    // These count connections, and an answer that is still being read holds one.
    let connections = match dialect {
        Dialect::Monerod => Some(slots),
        Dialect::Zebrad => Some(ZEBRAD_CONNECTIONS),
        Dialect::Core | Dialect::LegacyCore | Dialect::Dcrd | Dialect::Geth => None,
    };
    GateCaps::new(slots, config.open_answers.unwrap_or(OPEN_ANSWERS), connections)
}
