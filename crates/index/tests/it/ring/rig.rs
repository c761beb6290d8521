//! Stores and followers of nodes, and what they hold.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chain::ring::Hash;
use chain::{Chain, Network};
use index::Memory;
use index::ring::{Index, RawBlock, Store, SyncOptions, View};
use node::{Node, NodeConfig, Pool, PoolConfig, Tried};

/// Long enough for the slowest machine; nothing waits so long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn chain() -> &'static Chain {
    chain::find("xmr").unwrap()
}

pub fn network() -> &'static Network {
    chain().network("regtest").unwrap()
}

pub fn memory() -> Memory {
    Memory::new(8 << 20, 8 << 20)
}

/// The index in a folder.
pub fn open(dir: &Path) -> Store {
    let until = Instant::now() + PATIENCE;
    loop {
        match Store::open(dir, chain(), network(), &memory()) {
            Ok(store) => return store,
            // Another one is still on its way out.
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Every row, by table and key.
pub type Rows = BTreeMap<(&'static str, Vec<u8>), Vec<u8>>;

pub fn rows(store: &Store) -> Rows {
    let mut rows = Rows::new();
    let visit =
        |table, key: &[u8], value: &[u8]| drop(rows.insert((table, key.to_vec()), value.to_vec()));
    store.rows(visit).unwrap();
    rows
}

/// Says which row differs.
pub fn assert_same(one: &Store, other: &Store) {
    let difference = one.same_rows(other).unwrap();
    assert!(difference.is_none(), "{}", difference.unwrap());
}

/// Polls often, and never loads in bulk.
pub fn options() -> SyncOptions {
    SyncOptions {
        poll: Duration::from_millis(50),
        bulk_from: u32::MAX,
        least_free_bytes: 64 << 20,
        mempool_every: Duration::from_millis(50),
        ..SyncOptions::default()
    }
}

/// Loads in bulk whatever there is.
pub fn in_bulk() -> SyncOptions {
    SyncOptions { bulk_from: 1, ..options() }
}

pub fn pool(urls: &[String]) -> Arc<Pool> {
    let nodes = urls.iter().map(NodeConfig::new).collect();
    let probe_interval = Duration::from_millis(100);
    let config = PoolConfig { nodes, probe_interval, ..PoolConfig::default() };
    let pool = Pool::new(chain(), network(), config).unwrap();
    pool.start();
    pool
}

/// A node by itself, once it was probed.
pub async fn node(url: &str) -> (Arc<Pool>, Arc<Node>) {
    let pool = pool(&[url.to_owned()]);
    pool.probed().await;
    let node = pool.pick(&Tried::new()).unwrap();
    (pool, node)
}

/// The blocks of a node, lowest first.
pub async fn raw_blocks(url: &str) -> Vec<RawBlock> {
    let (pool, node) = node(url).await;
    let genesis: Hash = network().genesis.unwrap().parse().unwrap();
    let count = node.height().unwrap() + 1;
    let mut blocks = Vec::new();
    while (blocks.len() as u64) < count {
        let from = blocks.len() as u64;
        let span = node.raw_span(&genesis.0, from).await.unwrap().unwrap();
        assert_eq!(span.start_height, from);
        assert!(!span.blocks.is_empty());
        blocks.extend(span.blocks.into_iter().map(|block| RawBlock {
            block: block.block,
            transactions: block.transactions,
            weight: None,
            output_indices: block.output_indices,
            told: None,
        }));
    }
    pool.stop();
    blocks
}

/// An index of those blocks, each connected by itself.
pub fn connected(dir: &Path, blocks: &[RawBlock]) -> Store {
    let mut store = open(dir);
    blocks.iter().for_each(|block| store.connect(block).unwrap());
    store
}

/// An index and the nodes that it follows.
pub struct Follower {
    pub index: Arc<Index>,
    pub pool: Arc<Pool>,
}

impl Follower {
    pub fn start(dir: &Path, urls: &[String], options: SyncOptions) -> Follower {
        let pool = pool(urls);
        let index = Index::start(open(dir), Arc::clone(&pool), options);
        Follower { index, pool }
    }

    /// Ends it as a program does that is asked to end.
    pub async fn end(self) {
        self.index.stop().await;
        self.pool.stop();
    }

    /// Waits until something holds.
    pub async fn until(&self, what: &str, mut holds: impl FnMut(&Index) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !holds(&self.index) {
            let standing = self.index.standing();
            assert!(Instant::now() < until, "{what}: {standing:?}, {:?}", self.pool.states());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until a block is the tip, with its mempool read.
    pub async fn in_sync_at(&self, hash: Hash) {
        self.until("in sync", |index| {
            index.standing().in_sync && index.view().is_some_and(|view| view.hash() == hash)
        })
        .await;
    }

    pub fn view(&self) -> Arc<View> {
        self.index.view().unwrap()
    }

    /// Asserts that its rows are those of a store.
    pub fn assert_rows(&self, store: &Store) {
        assert_same(&self.index.store().lock().unwrap(), store);
    }
}

/// The hashes of the pool of a view, in its order.
pub fn waiting(view: &View) -> Vec<Hash> {
    let waiting = view.waiting(0, u64::MAX).unwrap_or_default();
    waiting.iter().map(|transaction| transaction.record.hash).collect()
}
