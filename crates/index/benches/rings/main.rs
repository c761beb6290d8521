//! The first load of a chain of rings from a stub node, and rings read back from it.
//!
//! The chain is made before anything is measured: `RINGS_BLOCKS` blocks (1,000) of `RINGS_TXS`
//! transactions (50), of two inputs and two outputs, the first of each block of 16 inputs, with
//! rings of 16 members each. The node serves it over HTTP from this process, as monerod does by
//! `get_blocks.bin`; `RINGS_FALLBACK` has it do without. `RINGS_DIR` is where the index is made,
//! `RINGS_INPUTS` and `RINGS_OUTPUTS` are how many each of the others has.

#[path = "../../tests/it/ring/forge.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "shared with tests, which use all of it")]
mod forge;
#[path = "../../tests/it/ring/stub.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "shared with tests, which use all of it")]
mod stub;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chain::ring::Hash;
use forge::{Draft, Forge};
use index::ring::{Index, Store, SyncOptions, View};
use index::{Memory, Tier};
use node::{NodeConfig, Pool, PoolConfig};
use tokio::runtime::Runtime;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Members of a ring, as the main network has it since 2022.
const RING: u64 = 16;
/// Blocks that the node gives at once, as monerod does.
const SPAN: usize = 1000;
/// Blocks before the first spends, so that there is something to hide among.
const BEFORE: u64 = 200;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The error of a bench.
fn failed(error: impl ToString) -> std::io::Error {
    std::io::Error::other(error.to_string())
}

/// A ring of outputs spread over all that there are.
fn ring(seed: &mut u64, outputs: u64) -> Vec<u64> {
    let part = outputs / RING;
    let member = |place| {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        place * part + (*seed >> 33) % part
    };
    (0..RING).map(member).collect()
}

/// The chain, and the hashes of its transactions of 16 inputs.
fn chain(blocks: u64, txs: u64) -> Forge {
    let mut forge = Forge::new();
    for _ in 0..BEFORE {
        forge.mine(&[]);
    }
    let (mut outputs, mut images, mut seed) = (BEFORE, 1 << 20, 7);
    let payments = number("RINGS_OUTPUTS", 2);
    for _ in 0..blocks {
        let mut drafts = Vec::new();
        for place in 0..txs {
            let inputs = if place == 0 { 16 } else { number("RINGS_INPUTS", 2) };
            let rings: Vec<Vec<u64>> = (0..inputs).map(|_| ring(&mut seed, outputs)).collect();
            let rings: Vec<&[u64]> = rings.iter().map(Vec::as_slice).collect();
            drafts.push(Draft::hidden(&rings, images, payments));
            images += inputs;
        }
        forge.mine(&drafts);
        outputs += 1 + payments * txs;
    }
    forge
}

/// Opens the index again, which writes all that is in memory, and tells what each table takes.
fn tell_sizes(dir: &std::path::Path, count: u64) -> std::io::Result<()> {
    let chain = chain::find("xmr").ok_or_else(|| failed("no such chain"))?;
    let network = chain.network("regtest").ok_or_else(|| failed("no such network"))?;
    let store = Store::open(dir, chain, network, &Memory::default()).map_err(failed)?;
    for (table, bytes, _) in store.sizes() {
        println!("{table}: {bytes} bytes, {:.1} a transaction", bytes as f64 / count as f64);
    }
    Ok(())
}

/// The index at the tip of the node.
async fn load(url: &str, dir: &std::path::Path) -> std::io::Result<(Arc<Index>, Duration)> {
    let chain = chain::find("xmr").ok_or_else(|| failed("no such chain"))?;
    let network = chain.network("regtest").ok_or_else(|| failed("no such network"))?;
    let config = PoolConfig { nodes: vec![NodeConfig::new(url)], ..PoolConfig::default() };
    let pool = Pool::new(chain, network, config).map_err(failed)?;
    pool.start();
    pool.probed().await;
    let store = Store::open(dir, chain, network, &Memory::default()).map_err(failed)?;
    let started = Instant::now();
    let index = Index::start(store, Arc::clone(&pool), SyncOptions::default());
    while index.view().is_none() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let took = started.elapsed();
    index.stop().await;
    pool.stop();
    Ok((index, took))
}

/// Times of looking up transactions with all their rings, sorted.
fn read(view: &View, hashes: &[Hash]) -> std::io::Result<Vec<Duration>> {
    let mut times = Vec::with_capacity(hashes.len());
    for hash in hashes {
        let started = Instant::now();
        let found = view.transaction(hash).map_err(failed)?.ok_or_else(|| failed("it is gone"))?;
        let transaction = found.record.decode().map_err(failed)?;
        let rings = view.rings(&transaction.inputs, Tier::Any).map_err(failed)?;
        times.push(started.elapsed());
        assert!(rings.iter().all(|ring| ring.len() as u64 == RING));
    }
    times.sort_unstable();
    Ok(times)
}

/// The hashes of the transactions at a place of each block.
fn at(view: &View, place: u64) -> std::io::Result<Vec<Hash>> {
    let mut hashes = Vec::new();
    for height in BEFORE as u32 + 1..=view.height() {
        let block = view.block(height, Tier::Any).map_err(failed)?;
        let block = block.ok_or_else(|| failed("a block is gone"))?;
        let found = view.block_transactions(&block, place, 1, Tier::Any).map_err(failed)?;
        hashes.extend(found.iter().map(|one| one.record.hash));
    }
    Ok(hashes)
}

fn main() -> std::io::Result<()> {
    let (blocks, txs) = (number("RINGS_BLOCKS", 1000), number("RINGS_TXS", 50).max(2));
    let forge = chain(blocks, txs);
    let bytes: usize = forge.blocks.iter().map(index::ring::RawBlock::size).sum();
    let runtime = Runtime::new()?;
    let span = std::env::var_os("RINGS_FALLBACK").is_none().then_some(SPAN);
    let url = runtime.block_on(stub::Stub::start(forge, span))?.url();
    let parent = std::env::var_os("RINGS_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = tempfile::tempdir_in(parent)?;
    let (index, took) = runtime.block_on(load(&url, &dir.path().join("xmr")))?;
    let view = index.view().ok_or_else(|| failed("no view"))?;
    let (count, secs) = (view.transaction_count(), took.as_secs_f64());
    println!("{count} transactions, {} MB of blocks", bytes / 1_000_000);
    println!(
        "first load: {secs:.2} s, {:.0} tx/s, {:.1} MB/s",
        count as f64 / secs,
        bytes as f64 / 1e6 / secs
    );
    // The coinbase is the first one.
    for (name, place) in [("16 inputs of 16", 1), ("2 inputs of 16", 2)] {
        let times = read(&view, &at(&view, place)?)?;
        let of = |part: usize| times[(times.len() * part / 1000).min(times.len() - 1)];
        println!("/tx with {name}: median {:?}, p99 {:?}, most {:?}", of(500), of(990), of(1000));
    }
    drop((view, index));
    tell_sizes(&dir.path().join("xmr"), count)
}
