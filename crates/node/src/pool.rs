//! The nodes of one chain.
//!
//! Asking them is left to `node`, judging them to `probe` and `health`. Invariant: the list is
//! replaced as a whole, and a node whose settings did not change lives on with its connections.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use chain::{Chain, Network};
use tokio::runtime::Handle;
use tokio::sync::watch as news;
use tokio::task::AbortHandle;

use crate::choice::{Tried, choose};
use crate::flow::Flows;
use crate::news::keep_listening;
use crate::node::Node;
use crate::{NodeState, PoolConfig, PoolError, Unusable, Verdict, probe, websocket};

/// The nodes of one chain.
pub struct Pool {
    chain: &'static Chain,
    network: &'static Network,
    set: ArcSwap<Set>,
    /// Answers that are being read.
    flows: Arc<Flows>,
    turn: AtomicUsize,
    woken: news::Sender<u64>,
    running: Mutex<Running>,
}

/// The nodes and what they were made of.
struct Set {
    config: PoolConfig,
    nodes: Vec<Arc<Node>>,
}

/// The tasks of a started pool.
#[derive(Default)]
struct Running {
    runtime: Option<Handle>,
    watch: Option<AbortHandle>,
    /// By node: what probes it and what listens to its publisher.
    tasks: HashMap<u64, Vec<AbortHandle>>,
}

impl Pool {
    /// Makes the pool; asks no node yet.
    ///
    /// # Errors
    /// No node, a URL, setting or file that cannot be used.
    pub fn new(
        chain: &'static Chain,
        network: &'static Network,
        config: PoolConfig,
    ) -> Result<Arc<Pool>, PoolError> {
        let flows = Arc::default();
        let set = Set::new(chain, network, config, None, &flows)?;
        Ok(Arc::new(Pool {
            chain,
            network,
            set: ArcSwap::from_pointee(set),
            flows,
            turn: AtomicUsize::new(0),
            woken: news::Sender::new(0),
            running: Mutex::default(),
        }))
    }

    /// Begins to probe the nodes and to watch over their connections and answers, on the current
    /// tokio runtime. Answers have no time limit after their head, and unused connections stay
    /// open, until this is called.
    pub fn start(self: &Arc<Pool>) {
        let mut running = self.running();
        let runtime = Handle::current();
        if let Some(earlier) = running.watch.take() {
            earlier.abort();
        }
        running.watch = Some(runtime.spawn(watch(Arc::downgrade(self))).abort_handle());
        running.runtime = Some(runtime);
        self.match_tasks(&mut running);
    }

    /// Ends what `start` began.
    pub fn stop(&self) {
        let mut running = self.running();
        running.end();
        running.runtime = None;
    }

    /// Takes a changed configuration. Nodes whose settings and limits are as before stay.
    ///
    /// # Errors
    /// Those of `new`; the pool stays as it was.
    pub fn reload(self: &Arc<Pool>, config: PoolConfig) -> Result<(), PoolError> {
        self.renewed(config).map(Renewed::put)
    }

    /// Makes ready what a changed configuration asks for and changes nothing yet, so that several
    /// pools change together or not at all.
    ///
    /// # Errors
    /// Those of `new`.
    pub fn renewed(self: &Arc<Pool>, config: PoolConfig) -> Result<Renewed, PoolError> {
        let set = Set::new(self.chain, self.network, config, Some(&self.set.load()), &self.flows)?;
        Ok(Renewed { pool: Arc::clone(self), set: Arc::new(set) })
    }

    /// The node for the next call, among those that were not tried: the least loaded of those
    /// that are synced, at the tip and not failing. The last usable one is given whatever its
    /// failures.
    ///
    /// # Errors
    /// See [`Unusable`].
    pub fn pick(&self, tried: &Tried) -> Result<Arc<Node>, Unusable> {
        let set = self.set.load();
        let turn = match set.nodes.len() {
            1 => 0,
            _ => self.turn.fetch_add(1, Ordering::Relaxed),
        };
        choose(&set.nodes, tried, set.config.max_lag_blocks, turn)
    }

    /// The greatest height that a probe saw on a node of the right chain.
    pub fn tip(&self) -> Option<u64> {
        let set = self.set.load();
        let right = set.nodes.iter().filter(|node| node.health.verdict() != Verdict::Foreign);
        right.filter_map(|node| node.height()).max()
    }

    /// Changes whenever a node is known to have another tip: a probe saw another height, or a block
    /// was published by ZMQ. May change without need.
    pub fn tip_changes(&self) -> u64 {
        let set = self.set.load();
        set.nodes.iter().fold(0, |sum, node| sum.wrapping_add(node.health.tip_changes()))
    }

    /// All nodes, in the order of the configuration.
    pub fn nodes(&self) -> Vec<Arc<Node>> {
        self.set.load().nodes.clone()
    }

    /// What is known of each node, in the order of the configuration. A node that fails counts as
    /// ejected only while another takes its calls.
    pub fn states(&self) -> Vec<NodeState> {
        let mut states: Vec<NodeState> =
            self.set.load().nodes.iter().map(|node| node.state()).collect();
        if !states.iter().any(|state| state.usable() && !state.ejected) {
            states.iter_mut().for_each(|state| state.ejected = false);
        }
        states
    }

    /// What stands in the way of every call, as far as probes have seen; none where a node is well.
    /// Fit to be shown to anybody.
    pub fn hindrance(&self) -> Option<&'static str> {
        let states = self.states();
        let any = |wanted: fn(&NodeState) -> bool| states.iter().any(wanted);
        if any(|state| state.usable() && state.reachable == Some(true)) {
            return None;
        }
        Some(match () {
            () if any(|state| state.verdict == Verdict::Refused) => {
                "nothing can be read from its node: it refuses us"
            }
            () if any(|state| state.word() == "syncing") => {
                "nothing can be read from its node: it is syncing"
            }
            () if any(|state| state.reachable == Some(false)) => {
                "nothing can be read from its node: it cannot be reached"
            }
            () if any(|state| state.verdict == Verdict::Foreign) => {
                "nothing can be read from its node: it is one of another chain"
            }
            () => "nothing can be read from its node: it was not heard yet",
        })
    }

    /// Waits until every node was probed once, whichever way it ended.
    pub async fn probed(&self) {
        for node in self.nodes() {
            let mut probed = node.health.probed.subscribe();
            // The sender lives as long as `node`.
            let _ = probed.wait_for(|probed| *probed).await;
        }
    }

    /// The chain of the nodes.
    pub fn chain(&self) -> &'static Chain {
        self.chain
    }

    /// The network of the nodes.
    pub fn network(&self) -> &'static Network {
        self.network
    }

    /// Changes whenever a node of a started pool published a new block or transaction by ZMQ,
    /// where one is configured to, or told of a block over the websocket of our own calls.
    ///
    /// Only a wake-up: what happened is to be asked for, messages may be missed and may come
    /// without need, and without a publisher it never changes.
    pub fn woken(&self) -> news::Receiver<u64> {
        self.woken.subscribe()
    }

    /// Lets exactly the nodes of the list be probed and listened to.
    fn match_tasks(&self, running: &mut Running) {
        let Some(runtime) = running.runtime.clone() else { return };
        let set = self.set.load();
        running.tasks.retain(|id, tasks| {
            let stays = set.nodes.iter().any(|node| node.id() == *id);
            if !stays {
                tasks.iter().for_each(AbortHandle::abort);
            }
            stays
        });
        for node in &set.nodes {
            running.tasks.entry(node.id()).or_insert_with(|| {
                node.health.probing.store(true, Ordering::Relaxed);
                let probing = probe::keep_probing(Arc::clone(node), set.config.probe_interval);
                let mut tasks = vec![runtime.spawn(probing).abort_handle()];
                if node.publishes_hashes() {
                    let listening = keep_listening(Arc::clone(node), self.woken.clone());
                    tasks.push(runtime.spawn(listening).abort_handle());
                }
                if node.websocket.is_some() {
                    let hearing = websocket::keep_hearing(Arc::clone(node), self.woken.clone());
                    tasks.push(runtime.spawn(hearing).abort_handle());
                }
                tasks
            });
        }
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A changed list of nodes that is ready and not yet put to use.
pub struct Renewed {
    pool: Arc<Pool>,
    set: Arc<Set>,
}

impl Renewed {
    /// Puts it to use for the next calls.
    pub fn put(self) {
        let Renewed { pool, set } = self;
        let mut running = pool.running();
        pool.set.store(set);
        if running.runtime.is_some() {
            pool.match_tasks(&mut running);
        }
    }

    /// The pool that it is for.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }
}

impl std::fmt::Debug for Renewed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "changed nodes of {}", self.pool.chain.slug)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.running().end();
    }
}

impl Running {
    fn end(&mut self) {
        let tasks = self.tasks.drain().flat_map(|(_, tasks)| tasks);
        self.watch.take().into_iter().chain(tasks).for_each(|task| task.abort());
    }
}

impl Set {
    fn new(
        chain: &'static Chain,
        network: &'static Network,
        config: PoolConfig,
        earlier: Option<&Set>,
        flows: &Arc<Flows>,
    ) -> Result<Set, PoolError> {
        if config.nodes.is_empty() {
            return Err(PoolError::NoNodes);
        }
        // A node keeps the limits it was made with.
        let earlier = earlier.filter(|set| same_limits(&set.config, &config));
        let mut left = earlier.map(|set| set.nodes.clone()).unwrap_or_default();
        let mut nodes = Vec::with_capacity(config.nodes.len());
        for (index, wanted) in config.nodes.iter().enumerate() {
            match left.iter().position(|node| node.config == *wanted) {
                Some(place) => nodes.push(left.swap_remove(place)),
                None => nodes.push(Node::new(chain, network, index, &config, flows)?),
            }
        }
        Ok(Set { config, nodes })
    }
}

fn same_limits(a: &PoolConfig, b: &PoolConfig) -> bool {
    PoolConfig { nodes: Vec::new(), ..a.clone() } == PoolConfig { nodes: Vec::new(), ..b.clone() }
}

/// Looks after unused connections and open answers for as long as the pool lives.
async fn watch(pool: Weak<Pool>) {
    loop {
        let Some(pool) = pool.upgrade() else { return };
        let set = pool.set.load_full();
        let now = Instant::now();
        set.nodes.iter().for_each(|node| node.connections.sweep(now));
        set.nodes.iter().for_each(|node| node.tell_complaints(now));
        pool.flows.watch(now);
        drop(pool);
        tokio::time::sleep(watch_interval(&set.config)).await;
    }
}

/// Often enough that no limit is overrun by more than half of it.
fn watch_interval(config: &PoolConfig) -> Duration {
    let shortest = config.reader_window.min(config.timeouts.whole).min(config.timeouts.idle);
    (shortest / 2).clamp(Duration::from_millis(10), Duration::from_secs(1))
}
