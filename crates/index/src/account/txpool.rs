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
use super::index::Index;
use super::quantity::Hex;
use super::questions::Unanswered;
use super::shapes::TransactionShape;
use super::upstream::{blocking, read};
use crate::sync::UpstreamError;

/// So long a pool that was read is shown without another look.
const FRESH: Duration = Duration::from_secs(3);
/// So long it is shown while the node is not heard (decision E11).
const LIVES: Duration = Duration::from_secs(60);

/// A transaction that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Hash.
    pub hash: Hash,
    /// Sender.
    pub from: Address,
    /// Receiver; none where it creates a contract.
    pub to: Option<Address>,
    /// EIP-2718 type.
    pub kind: u8,
    /// How many the sender has sent before.
    pub nonce: u64,
    /// What it moves.
    pub value: U256,
    /// Gas that it may use.
    pub gas_limit: u64,
    /// Most it pays for a unit of gas, as the node gives it.
    pub gas_price: U256,
    /// The same, of types 2 and above.
    pub max_fee: Option<U256>,
    /// For the block's maker, a unit of gas.
    pub max_tip: Option<U256>,
    /// Call data, or the code that creates a contract.
    pub input: Vec<u8>,
}

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
    fn get(&self, hash: &Hash, followed: Duration) -> Option<&Arc<Pending>> {
        self.by_hash.get(hash).or_else(|| self.gone.get(hash, followed))
    }
}

/// What was read last.
#[derive(Debug, Default)]
pub(super) struct PoolCache {
    counts: Mutex<Option<(u64, u64, Instant)>>,
    last: tokio::sync::Mutex<Option<(Arc<Txpool>, Instant)>>,
}

impl PoolCache {
    /// Pending and queued; none where no node tells, or none was heard for a minute.
    pub(super) fn counts(&self) -> Option<(u64, u64)> {
        let counts = *self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts
            .filter(|(_, _, at)| at.elapsed() < LIVES)
            .map(|(pending, queued, _)| (pending, queued))
    }
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

impl Index {
    /// Pending and queued transactions of the pool; none where no node tells.
    pub fn pool_counts(&self) -> Option<(u64, u64)> {
        self.txpool.counts()
    }

    /// Asks for the pool's counts; whether the node told them, or cannot.
    pub(super) async fn look_at_pool_counts(&self, node: &Arc<Node>) -> bool {
        let method = "txpool_status";
        let answer = self.upstream.call(node, method, "[]").await;
        match answer.and_then(|text| read::<Counts>(method, &text)) {
            Ok(counts) => {
                let told = (counts.pending.0, counts.queued.0, Instant::now());
                *self.txpool.counts.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
                true
            }
            Err(UpstreamError::Missing { .. }) => true,
            Err(_) => false,
        }
    }

    /// The pool, at most three seconds old, or sixty while no node is heard.
    ///
    /// # Errors
    /// No node shows its pool.
    pub async fn txpool(&self) -> Result<Arc<Txpool>, Unanswered> {
        let mut last = self.txpool.last.lock().await;
        if let Some((pool, _)) = last.as_ref().filter(|(_, at)| at.elapsed() < FRESH) {
            return Ok(Arc::clone(pool));
        }
        match self.read_pool().await {
            Ok(mut pool) => {
                if let Some((before, _)) = &*last {
                    let (followed, now) = (self.followed(), self.born.elapsed());
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

    async fn read_pool(&self) -> Result<Txpool, Unanswered> {
        let method = "txpool_content";
        let mut tried = Tried::new();
        let mut last = Unanswered::Silent;
        while let Ok(node) = self.node(&tried) {
            let answer = async {
                let text = self.upstream.call(&node, method, "[]").await?;
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

    /// A transaction that waits, by the pool; by the node's word on its hash alone where nodes show
    /// no pool.
    ///
    /// # Errors
    /// No node gave an answer.
    pub async fn waiting(&self, hash: &Hash) -> Result<Option<Arc<Pending>>, Unanswered> {
        match self.txpool().await {
            Ok(pool) => Ok(pool.get(hash, self.followed()).cloned()),
            Err(Unanswered::Unable) => Ok(self.pending_by_hash(hash).await?.map(Arc::new)),
            Err(error) => Err(error),
        }
    }

    async fn pending_by_hash(&self, hash: &Hash) -> Result<Option<Pending>, Unanswered> {
        let method = "eth_getTransactionByHash";
        let node = self.node(&Tried::new()).map_err(|_| Unanswered::Silent)?;
        let answer = self.upstream.call(&node, method, &format!(r#"["{hash}"]"#)).await;
        let shape = answer.and_then(|text| read::<Option<TransactionShape>>(method, &text));
        let shape = shape.map_err(|error| Unanswered::of(&error))?;
        Ok(shape
            .filter(|shape| shape.block_hash.is_none() && shape.hash.0 == *hash)
            .and_then(pending))
    }
}

fn pending(shape: TransactionShape) -> Option<Pending> {
    let (price, most) = (shape.gas_price.map(|it| it.0), shape.max_fee_per_gas.map(|it| it.0));
    Some(Pending {
        hash: shape.hash.0,
        from: shape.from.0,
        to: shape.to.map(|to| to.0),
        kind: shape.kind.map_or(0, |kind| kind.0).try_into().ok()?,
        nonce: shape.nonce.0,
        value: shape.value.0,
        gas_limit: shape.gas.0,
        gas_price: price.or(most).unwrap_or_default(),
        max_fee: most,
        max_tip: shape.max_priority_fee_per_gas.map(|it| it.0),
        input: shape.input.0,
    })
}

/// Those of each sender by nonce.
fn by_sender(senders: Senders) -> HashMap<Address, BTreeMap<u64, Arc<Pending>>> {
    let mut all: HashMap<Address, BTreeMap<u64, Arc<Pending>>> = HashMap::new();
    let shapes = senders.into_values().flat_map(BTreeMap::into_values);
    for tx in shapes.filter_map(pending) {
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
