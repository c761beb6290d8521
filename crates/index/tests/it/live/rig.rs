//! An index that follows nodes, in a runtime of its own where it is to be cut off.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chain::utxo::OutPoint;
use chain::{Chain, Hash32};
use index::Memory;
use index::utxo::{HashKey, Index, LoadOptions, Store, SyncOptions, View};
use node::{NodeConfig, Pool, PoolConfig};
use testkit::{
    Draft, Forge, ForgedBlock, ForgedTransaction, StubNode, StubOptions, key_hash_script,
};
use tokio::runtime::Runtime;

/// Long enough for the slowest machine; nothing waits so long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(120);

pub fn chain(slug: &str) -> &'static Chain {
    chain::find(slug).unwrap()
}

/// The same key for every store, so that rows can be compared.
pub fn key() -> HashKey {
    HashKey::new(*b"sixteen bytes ok")
}

/// Polls often, and never loads in bulk.
pub fn options() -> SyncOptions {
    SyncOptions {
        poll: Duration::from_millis(50),
        bulk_from: u32::MAX,
        load: LoadOptions { table_bytes: 8 << 20, run_bytes: 4 << 20, ..LoadOptions::default() },
        least_free_bytes: 64 << 20,
        mempool_every: Duration::from_millis(50),
        ..SyncOptions::default()
    }
}

/// An index and the nodes that it follows.
pub struct Follower {
    pub index: Arc<Index>,
    pub pool: Arc<Pool>,
}

impl Follower {
    /// Opens the index in `dir`; waits for another one that is still on its way out.
    pub async fn open(
        slug: &str,
        nodes: Vec<NodeConfig>,
        dir: &Path,
        options: SyncOptions,
    ) -> Follower {
        let chain = chain(slug);
        let network = chain.network("regtest").unwrap();
        let memory = Memory::new(16 << 20, 16 << 20);
        let until = Instant::now() + PATIENCE;
        let store = loop {
            match Store::open_with_key(dir, chain, network, &memory, key()) {
                Ok(store) => break store,
                Err(error) => assert!(Instant::now() < until, "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let probe_interval = Duration::from_millis(100);
        let config = PoolConfig { nodes, probe_interval, ..PoolConfig::default() };
        let pool = Pool::new(chain, network, config).unwrap();
        pool.start();
        let index = Index::start(store, Arc::clone(&pool), options);
        Follower { index, pool }
    }

    /// Opens it on a stub node.
    pub async fn of(stub: &StubNode, slug: &str, dir: &Path) -> Follower {
        Follower::open(slug, vec![NodeConfig::new(stub.url())], dir, options()).await
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
    pub async fn in_sync_at(&self, hash: Hash32) {
        self.until("in sync", |index| {
            index.standing().in_sync && index.view().is_some_and(|view| view.hash() == hash)
        })
        .await;
    }

    /// Waits until the tip is the stub node's.
    pub async fn in_sync_with(&self, stub: &StubNode) {
        self.in_sync_at(stub.tip().1).await;
    }

    pub fn view(&self) -> Arc<View> {
        self.index.view().unwrap()
    }
}

/// A follower whose runtime can be taken away from under it, as a kill does.
pub struct Severed {
    pub follower: Follower,
    runtime: Runtime,
}

impl Severed {
    pub async fn open(
        slug: &str,
        nodes: Vec<NodeConfig>,
        dir: &Path,
        options: SyncOptions,
    ) -> Severed {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (slug, dir) = (slug.to_owned(), dir.to_owned());
        let open = async move { Follower::open(&slug, nodes, &dir, options).await };
        let follower = runtime.spawn(open).await.unwrap();
        Severed { follower, runtime }
    }

    /// Ends it as a program does that is asked to end.
    pub async fn end(self) {
        self.follower.end().await;
        self.runtime.shutdown_background();
    }

    /// Every task ends where it waits; nothing is told to anybody.
    pub fn sever(self) {
        self.runtime.shutdown_background();
    }
}

/// Asserts that an index has the rows of one that never saw anything but the chain as it is.
pub async fn equals_fresh(slug: &str, index: &Index, nodes: Vec<NodeConfig>, bulk: bool) {
    let dir = tempfile::tempdir().unwrap();
    let options = SyncOptions { bulk_from: if bulk { 1 } else { u32::MAX }, ..options() };
    let fresh = Follower::open(slug, nodes, dir.path(), options).await;
    fresh.in_sync_at(index.view().unwrap().hash()).await;
    {
        let (ours, theirs) = (index.store().lock().unwrap(), fresh.index.store().lock().unwrap());
        let difference = ours.same_rows(&theirs).unwrap();
        assert!(difference.is_none(), "{}", difference.unwrap());
    }
    fresh.end().await;
}

/// The ids of the pool of a view.
pub fn pool_ids(view: &View) -> HashSet<Hash32> {
    view.mempool().map(|pool| pool.newest(usize::MAX).into_iter().collect()).unwrap_or_default()
}

/// A stub node with what grows on it.
pub struct Grown {
    pub stub: StubNode,
    pub forge: Forge,
    /// What makes the next block: the forge's state below each block.
    pub below: Vec<Forge>,
    /// Outputs of coinbases that are not spent yet.
    pub coins: Vec<OutPoint>,
}

/// What a coinbase pays here.
pub const REWARD: u64 = 5_000_000_000;

/// Whose coinbases are.
pub fn miner() -> Vec<u8> {
    key_hash_script(0)
}

impl Grown {
    pub async fn new(slug: &str, blocks: u32) -> Grown {
        let stub = StubNode::start(slug, StubOptions::default()).await.unwrap();
        let forge = Forge::new(chain(slug));
        let mut grown = Grown { stub, forge, below: Vec::new(), coins: Vec::new() };
        (0..blocks).for_each(|_| drop(grown.grow(&[])));
        grown
    }

    /// Puts the next block on the tip.
    pub fn grow(&mut self, transactions: &[ForgedTransaction]) -> ForgedBlock {
        self.below.push(self.forge.clone());
        let block = self.forge.mine(REWARD, &miner(), transactions);
        self.stub.extend(&block).unwrap();
        self.coins.push(block.coinbase.output(0));
        block
    }

    /// Spends the oldest coin that was not spent, to a script.
    pub fn pay(&mut self, value: u64, script: &[u8]) -> ForgedTransaction {
        Draft::new().spend(self.coins.remove(0)).pay(value, script).finish()
    }

    /// A branch above the block of a height, each block with a transaction that none else has.
    pub fn branch(&self, height: u32, blocks: u32, salt: u32) -> Vec<ForgedBlock> {
        let mut forge = self.below[height as usize].branch(salt);
        let mut branch: Vec<ForgedBlock> = Vec::new();
        for _ in 0..blocks {
            let spend = branch.last().map(|block| {
                let coin = block.coinbase.output(0);
                Draft::new().spend(coin).pay(REWARD - 1, &key_hash_script(9)).finish()
            });
            branch.push(forge.mine(REWARD, &miner(), spend.as_slice()));
        }
        branch
    }

    pub fn nodes(&self) -> Vec<NodeConfig> {
        vec![NodeConfig::new(self.stub.url())]
    }
}
