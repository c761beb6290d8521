//! Transactions that wait, as the node's pool shows them (decision A11).
//!
//! Leaves to its readers whether one is in the chain by now. Invariants: a pool is read when it is
//! asked for and at most once in three seconds, by one reader at a time; its counts are asked for
//! apart, since the whole may be tens of megabytes; the order is one in which they could be mined.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chain::account::{Address, Hash, U256};
use node::{Node, Tried};
use serde::Deserialize;

use super::gone::Gone;
use super::nodes::Nodes;
use super::pending::Pending;
use super::quantity::Hex;
use super::shapes::TransactionShape;
use super::unanswered::Unanswered;
use super::upstream::{Upstream, blocking, read};
use crate::sync::UpstreamError;

/// So long a pool that was read is shown without another look.
const FRESH: Duration = Duration::from_secs(3);
/// So long it is shown while the node is not heard (decision E11).
const LIVES: Duration = Duration::from_secs(60);

/// A pool at one moment.
#[derive(Debug, Default)]
pub struct Txpool {
    /// Those that could be mined next, the best paying first.
    pub pending: Vec<Arc<Pending>>,
    by_hash: HashMap<Hash, Arc<Pending>>,
    gone: Gone,
}

impl Txpool {
    /// The transaction of a hash, also one that has to wait for another one, or that left the pool
    /// for a block that the index has not yet.
    pub(super) fn get(&self, hash: &Hash, followed: Duration) -> Option<&Arc<Pending>> {
        self.by_hash.get(hash).or_else(|| self.gone.get(hash, followed))
    }
}

/// What was read last.
#[derive(Debug, Default)]
pub(super) struct PoolCache {
    counts: Mutex<Option<(u64, u64, Instant)>>,
    last: tokio::sync::Mutex<Option<(Arc<Txpool>, Instant)>>,
}

#[derive(Deserialize)]
pub(super) struct Counts {
    pending: Hex<u64>,
    queued: Hex<u64>,
}

type Senders = BTreeMap<String, BTreeMap<String, TransactionShape>>;

#[derive(Deserialize)]
pub(super) struct Content {
    #[serde(default)]
    pending: Senders,
    #[serde(default)]
    queued: Senders,
}

impl PoolCache {
    /// Pending and queued; none where no node tells, or none was heard for a minute.
    pub(super) fn counts(&self) -> Option<(u64, u64)> {
        let counts = *self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts
            .filter(|(_, _, at)| at.elapsed() < LIVES)
            .map(|(pending, queued, _)| (pending, queued))
    }

    /// Asks for the pool's counts; whether the node told them, or cannot.
    pub(super) async fn look_at_counts(&self, upstream: &Upstream, node: &Arc<Node>) -> bool {
        let method = "txpool_status";
        let answer = upstream.call(node, method, "[]").await;
        match answer.and_then(|text| read::<Counts>(method, &text)) {
            Ok(counts) => {
                let told = (counts.pending.0, counts.queued.0, Instant::now());
                *self.counts.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
                true
            }
            Err(UpstreamError::Missing { .. }) => true,
            Err(_) => false,
        }
    }

    /// The pool, at most three seconds old, or sixty while no node is heard. `times` gives when the
    /// index last began to come to its node's best block and did, and what time it is.
    pub(super) async fn txpool(
        &self,
        nodes: &Nodes,
        times: impl FnOnce() -> (Duration, Duration),
    ) -> Result<Arc<Txpool>, Unanswered> {
        let mut last = self.last.lock().await;
        if let Some((pool, _)) = last.as_ref().filter(|(_, at)| at.elapsed() < FRESH) {
            return Ok(Arc::clone(pool));
        }
        match read_pool(nodes).await {
            Ok(mut pool) => {
                if let Some((before, _)) = &*last {
                    let (followed, now) = times();
                    pool.gone = before.gone.next(&before.by_hash, &pool.by_hash, followed, now);
                }
                let pool = Arc::new(pool);
                *last = Some((Arc::clone(&pool), Instant::now()));
                Ok(pool)
            }
            Err(error) => match last.as_ref().filter(|(_, at)| at.elapsed() < LIVES) {
                Some((pool, _)) => Ok(Arc::clone(pool)),
                None => Err(error),
            },
        }
    }
}

async fn read_pool(nodes: &Nodes) -> Result<Txpool, Unanswered> {
    let method = "txpool_content";
    let mut tried = Tried::new();
    let mut last = Unanswered::Silent;
    while let Ok(node) = nodes.pick(&tried) {
        let answer = async {
            let text = nodes.upstream.call(&node, method, "[]").await?;
            blocking(move || read::<Content>(method, &text).map(pool)).await?
        };
        match answer.await {
            Ok(pool) => return Ok(pool),
            Err(error) => last = Unanswered::of(&error),
        }
        tried.add(&node);
    }
    Err(last)
}

/// A transaction that waits, by a node's word on its hash alone.
pub(super) async fn pending_by_hash(
    nodes: &Nodes,
    hash: &Hash,
) -> Result<Option<Pending>, Unanswered> {
    let method = "eth_getTransactionByHash";
    let node = nodes.pick(&Tried::new()).map_err(|_| Unanswered::Silent)?;
    let answer = nodes.upstream.call(&node, method, &format!(r#"["{hash}"]"#)).await;
    let shape = answer.and_then(|text| read::<Option<TransactionShape>>(method, &text));
    let shape = shape.map_err(|error| Unanswered::of(&error))?;
    let waits = |shape: &TransactionShape| shape.block_hash.is_none() && shape.hash.0 == *hash;
    Ok(shape.filter(waits).and_then(Pending::of))
}

/// Those of each sender by nonce.
fn by_sender(senders: Senders) -> HashMap<Address, BTreeMap<u64, Arc<Pending>>> {
    let mut all: HashMap<Address, BTreeMap<u64, Arc<Pending>>> = HashMap::new();
    let shapes = senders.into_values().flat_map(BTreeMap::into_values);
    for tx in shapes.filter_map(Pending::of) {
        all.entry(tx.from).or_default().insert(tx.nonce, Arc::new(tx));
    }
    all
}

pub(super) fn pool(content: Content) -> Txpool {
    let (ready, waiting) = (by_sender(content.pending), by_sender(content.queued));
    let mut by_hash = HashMap::new();
    for tx in waiting.values().chain(ready.values()).flat_map(BTreeMap::values) {
        by_hash.insert(tx.hash, Arc::clone(tx));
    }
    Txpool { pending: ordered(ready), by_hash, gone: Gone::default() }
}

/// The next one of a sender, and what it has besides. What pays best is the greatest.
struct Queue {
    next: Arc<Pending>,
    rest: std::vec::IntoIter<Arc<Pending>>,
}

impl Queue {
    fn of(mut rest: std::vec::IntoIter<Arc<Pending>>) -> Option<Queue> {
        rest.next().map(|next| Queue { next, rest })
    }

    fn rank(&self) -> (U256, Reverse<Hash>) {
        (self.next.max_tip.unwrap_or(self.next.gas_price), Reverse(self.next.hash))
    }
}

impl Ord for Queue {
    fn cmp(&self, other: &Queue) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Queue {
    fn partial_cmp(&self, other: &Queue) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Queue {
    fn eq(&self, other: &Queue) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Queue {}

/// The best paying first, but none before another one of its sender with a lower nonce.
fn ordered(senders: HashMap<Address, BTreeMap<u64, Arc<Pending>>>) -> Vec<Arc<Pending>> {
    let queues = senders.into_values().map(|queue| queue.into_values().collect::<Vec<_>>());
    let mut heap: BinaryHeap<Queue> =
        queues.filter_map(|queue| Queue::of(queue.into_iter())).collect();
    let mut list = Vec::new();
    while let Some(Queue { next, rest }) = heap.pop() {
        list.push(next);
        heap.extend(Queue::of(rest));
    }
    list
}
