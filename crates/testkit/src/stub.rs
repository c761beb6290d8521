//! A node of the Core family whose chain a test makes: any block, any reorganisation, at once.
//!
//! Blocks come from a [`Forge`](crate::Forge), or from a file for benchmarks. Invariants: what it
//! serves is real serialised blocks over real HTTP; every change of its chain is seen whole or not
//! at all.

mod blocks;
mod coins;
mod file;
mod ledger;
mod methods;
mod misfit;
mod outcome;
mod parameters;
mod publisher;
mod transactions;
mod wire;

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use chain::{Chain, Hash32, Network};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

pub use misfit::Misfit;

use crate::ForgedBlock;
use crate::genesis::genesis;
use ledger::Ledger;
use publisher::Publisher;

/// What a stub node can do.
#[derive(Clone, Debug)]
pub struct StubOptions {
    /// `-rest`: blocks by `/rest/block/….bin`.
    pub rest: bool,
    /// `-txindex`: `getrawtransaction` finds what is in the chain.
    pub txindex: bool,
    /// `getrawmempool` has its second parameter, as Core has it since 0.21.
    pub mempool_sequence: bool,
    /// `getblock` refuses a verbosity that is no boolean, as Dogecoin Core did before 1.14.7.
    pub boolean_verbosity: bool,
    /// `getnetworkinfo.version`.
    pub version: u32,
}

impl Default for StubOptions {
    fn default() -> StubOptions {
        StubOptions {
            rest: true,
            txindex: false,
            mempool_sequence: true,
            boolean_verbosity: false,
            version: 310_000,
        }
    }
}

/// A running stub node of a regtest network. Dropping it ends it.
#[derive(Debug)]
pub struct StubNode {
    shared: Arc<Shared>,
    address: SocketAddr,
    publishing_at: SocketAddr,
    serving: Vec<AbortHandle>,
    /// Whether what serves now was stopped.
    over: Arc<AtomicBool>,
}

/// What a stub node's connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    chain: &'static Chain,
    network: &'static Network,
    options: StubOptions,
    started: Instant,
    ledger: Mutex<Ledger>,
    calls: Mutex<HashMap<String, u64>>,
    publisher: Publisher,
    publishing_at: Mutex<SocketAddr>,
}

impl StubNode {
    /// Starts one with the first block of a chain's regtest network, on the current runtime.
    ///
    /// # Errors
    /// A chain whose blocks are not in Bitcoin's format; no port to listen on.
    pub async fn start(slug: &str, options: StubOptions) -> io::Result<StubNode> {
        let (chain, first) = first_block(slug)?;
        let ledger = Ledger::new(chain, first, true, options.txindex).map_err(invalid)?;
        StubNode::with(chain, options, ledger).await
    }

    /// Starts one with the chain in a file of raw blocks, each with its length (u32 little-endian)
    /// before it, as benchmarks make it, on the first block of the chain's regtest network.
    ///
    /// The file is mapped, not read: only places and headers are held. There are no unspent
    /// outputs to count, and no transaction index.
    ///
    /// # Errors
    /// As for [`start`](StubNode::start); a file that cannot be read, is cut off, or whose blocks
    /// do not stand on each other.
    pub async fn serve_file(slug: &str, path: &Path, options: StubOptions) -> io::Result<StubNode> {
        let (chain, first) = first_block(slug)?;
        let options = StubOptions { txindex: false, ..options };
        let mut ledger = Ledger::new(chain, first, false, false).map_err(invalid)?;
        file::load(path, &mut ledger)?;
        StubNode::with(chain, options, ledger).await
    }

    async fn with(
        chain: &'static Chain,
        options: StubOptions,
        ledger: Ledger,
    ) -> io::Result<StubNode> {
        let network = chain.network("regtest").ok_or_else(|| invalid("there is no regtest"))?;
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let shared = Arc::new(Shared {
            chain,
            network,
            options,
            started: Instant::now(),
            ledger: Mutex::new(ledger),
            calls: Mutex::default(),
            publisher: Publisher::new(),
            publishing_at: Mutex::new(address),
        });
        let (serving, over) = (Vec::new(), Arc::default());
        let mut stub = StubNode { shared, address, publishing_at: address, serving, over };
        stub.restart().await?;
        Ok(stub)
    }

    /// Where it is reached, without a path. It asks for no credentials.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it publishes by ZMQ: `hashblock` with every new tip, `hashtx` with every transaction
    /// that begins to wait.
    pub fn zmq(&self) -> String {
        format!("tcp://{}", self.publishing_at)
    }

    /// Stops listening and closes every connection; the chain stays. What is asked from now on is
    /// not answered.
    pub fn stop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        self.serving.drain(..).for_each(|task| task.abort());
    }

    /// Listens again, on the same ports.
    ///
    /// # Errors
    /// Another process took a port.
    pub async fn restart(&mut self) -> io::Result<()> {
        self.stop();
        let (calls, news) = (bind(self.address).await?, bind(self.publishing_at).await?);
        self.address = calls.local_addr()?;
        self.publishing_at = news.local_addr()?;
        *self.shared.publishing_at.lock().unwrap_or_else(PoisonError::into_inner) =
            self.publishing_at;
        self.over = Arc::default();
        let (shared, over) = (Arc::clone(&self.shared), Arc::clone(&self.over));
        let serving = tokio::spawn(wire::serve(calls, shared, over));
        let publishing = tokio::spawn(publisher::serve(news, Arc::clone(&self.shared)));
        self.serving = vec![serving.abort_handle(), publishing.abort_handle()];
        Ok(())
    }

    /// Height and hash of the tip.
    pub fn tip(&self) -> (u32, Hash32) {
        let ledger = self.shared.ledger();
        (ledger.height(), ledger.tip().header.hash)
    }

    /// Puts a block on the tip. Transactions that it has, or makes impossible, leave the mempool.
    ///
    /// # Errors
    /// A block that does not stand on the tip, or spends what is not there.
    pub fn extend(&self, block: &ForgedBlock) -> Result<(), Misfit> {
        self.extend_raw(block.raw.clone())
    }

    /// Puts a block of any origin on the tip, by its bytes.
    ///
    /// # Errors
    /// As for [`extend`](StubNode::extend); bytes that are no block.
    pub fn extend_raw(&self, raw: Bytes) -> Result<(), Misfit> {
        self.shared.change(|ledger| ledger.extend(raw))
    }

    /// Takes the last blocks away, so that the chain is shorter. Their transactions do not come
    /// back into the mempool.
    ///
    /// # Errors
    /// There are fewer blocks than that above the first one.
    pub fn rewind(&self, blocks: u32) -> Result<(), Misfit> {
        self.shared.change(|ledger| ledger.rewind(blocks))
    }

    /// Replaces what lies above the parent of the branch's first block by the branch, be it longer
    /// or shorter, in one step.
    ///
    /// # Errors
    /// A branch that stands on no block of the chain; a block as for [`extend`](StubNode::extend),
    /// after which those before it stay.
    pub fn switch(&self, branch: &[ForgedBlock]) -> Result<(), Misfit> {
        let branch = branch.iter().map(|block| block.raw.clone()).collect();
        self.shared.change(|ledger| ledger.switch(branch))
    }

    /// Replaces the transactions that wait for a block.
    ///
    /// # Errors
    /// Bytes that are no transaction.
    pub fn mempool(&self, transactions: Vec<Bytes>) -> Result<(), Misfit> {
        let came = self.shared.ledger().set_pool(transactions)?;
        came.iter().for_each(|txid| self.shared.publisher.publish("hashtx", txid));
        Ok(())
    }

    /// Makes the bytes of the blocks below a height unavailable, as on a pruned node.
    pub fn prune(&self, below: u32) {
        self.shared.ledger().prune(below);
    }

    /// Gives the bytes of these blocks with the last one wrong, and of no others any more: headers
    /// are right, transactions are not theirs.
    pub fn spoil(&self, heights: &[u32]) {
        self.shared.ledger().spoil(heights);
    }

    /// Lists these waiting transactions and does not give them, and no others any more.
    pub fn withhold(&self, txids: &[Hash32]) {
        self.shared.ledger().withhold(txids);
    }

    /// Lists these ids with those of the transactions that wait, though there is nothing of them.
    pub fn make_up(&self, txids: &[Hash32]) {
        self.shared.ledger().make_up(txids);
    }

    /// How often a method was called, each call of a batch for itself. REST counts as
    /// `rest/block` and, for a route that is not there, `rest/none`; batches
    /// besides as `batch`.
    pub fn calls(&self, method: &str) -> u64 {
        self.shared.counters().get(method).copied().unwrap_or_default()
    }

    /// Begins to count anew.
    pub fn forget_calls(&self) {
        self.shared.counters().clear();
    }

    /// What is unspent: how many outputs, and their sum in the smallest unit; `None` where a file
    /// is served.
    pub fn unspent(&self) -> Option<(u64, u128)> {
        let ledger = self.shared.ledger();
        ledger.coins().map(|coins| (coins.count() as u64, coins.total()))
    }
}

impl Drop for StubNode {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the chain, and publishes its tip if that is another one.
    fn change<T>(&self, change: impl FnOnce(&mut Ledger) -> T) -> T {
        let mut ledger = self.ledger();
        let before = ledger.tip().header.hash;
        let outcome = change(&mut ledger);
        let after = ledger.tip().header.hash;
        drop(ledger);
        if after != before {
            self.publisher.publish("hashblock", &after);
        }
        outcome
    }

    fn counters(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, method: &str) {
        *self.counters().entry(method.to_owned()).or_default() += 1;
    }
}

/// A listener of an address that may have been in use until just now: it closes when its task is
/// dropped, which takes a moment.
async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let mut tries = 0;
    loop {
        match TcpListener::bind(address).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries < 100 => {
                tries += 1;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            bound => return bound,
        }
    }
}

fn first_block(slug: &str) -> io::Result<(&'static Chain, Bytes)> {
    let chain = chain::find(slug).ok_or_else(|| invalid("there is no such chain"))?;
    let first = genesis(chain).ok_or_else(|| invalid("its blocks are not in Bitcoin's format"))?;
    Ok((chain, first))
}

fn invalid(problem: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem.to_string())
}
