//! The first load of a chain against fetching and decoding the same blocks alone.
//!
//! Takes a file of raw blocks, each after its length in 4 bytes, lowest first, from the block
//! after genesis on; the environment names it:
//!
//! - `LOAD_CHAIN`: the file. One of 2 million transactions takes 100 s and 370 MB:
//!   `bench/explorer/make_chain.py --blocks 2300 --txs 1000 --out chain.bin`
//! - `LOAD_SLUG`: the chain it is of; `btc`. Its genesis block is put in front.
//! - `LOAD_FROM`: `node`, a node in a process of its own that serves the file, asked as the program
//!   asks; or `file`, which is read out of the page cache; both.
//! - `LOAD_DIR`: where the index is made; a folder for temporary files.
//! - `LOAD_TABLE_MIB`: memory for the table of unspent outputs.
//! - `LOAD_THREADS`: threads that decode.
//! - `LOAD_ROUNDS`: how often; 3. The fastest one counts.
//!
//! Both sides get the blocks anew, in the same way and on all cores. Without `LOAD_CHAIN` nothing
//! is measured.

mod file;
mod measure;
mod served;

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use chain::utxo::{Block, Format};
use chain::{Chain, Network};
use index::Memory;
use index::utxo::{LoadOptions, Store};
use tokio::runtime::Runtime;

use self::measure::{Run, peak_mib};
use self::served::Served;

/// The allocator of the program: what one thread makes another one frees.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What is loaded, and how.
pub struct Setting {
    file: PathBuf,
    chain: &'static Chain,
    network: &'static Network,
    format: Format,
    genesis: Bytes,
    options: LoadOptions,
}

impl Setting {
    fn store(&self, dir: &Path) -> std::io::Result<Store> {
        Store::open(dir, self.chain, self.network, &Memory::default()).map_err(failed)
    }
}

/// A whole first load: what it did, how long merging and handing over took of it where that is
/// known, and the bytes of the index by table.
pub struct Loaded {
    run: Run,
    last_step: Option<Duration>,
    sizes: Vec<(&'static str, u64, u64)>,
}

/// The error of a bench.
pub fn failed(error: impl ToString) -> std::io::Error {
    std::io::Error::other(error.to_string())
}

/// Decodes a batch on all cores, checks it against its headers, and counts transactions.
pub fn decode(batch: &[Bytes], format: &Format) -> u64 {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let one = |raw: &Bytes| {
        let block = Block::decode(raw, format).expect("the file holds blocks");
        assert!(block.is_whole());
        block.txids.len() as u64
    };
    std::thread::scope(|scope| {
        let share = batch.len().div_ceil(threads);
        let parts: Vec<_> = batch
            .chunks(share.max(1))
            .map(|part| scope.spawn(move || part.iter().map(one).sum::<u64>()))
            .collect();
        parts.into_iter().map(|part| part.join().expect("blocks are sound")).sum()
    })
}

/// Runs both sides in turn and keeps the fastest of each.
fn rounds(
    mut floor: impl FnMut() -> std::io::Result<Run>,
    mut load: impl FnMut(&Path) -> std::io::Result<Loaded>,
) -> std::io::Result<(Run, Loaded)> {
    let (mut least, mut best): (Option<Run>, Option<Loaded>) = (None, None);
    for _ in 0..number("LOAD_ROUNDS").unwrap_or(3).max(1) {
        let alone = floor()?;
        least = least.filter(|least| least.time < alone.time).or(Some(alone));
        let parent = std::env::var_os("LOAD_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        let dir = tempfile::tempdir_in(parent)?;
        let loaded = load(&dir.path().join("index"))?;
        best = best.filter(|best| best.run.time < loaded.run.time).or(Some(loaded));
    }
    least.zip(best).ok_or_else(|| failed("no round"))
}

fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn report(what: &str, alone: Run, loaded: &Loaded) {
    let run = loaded.run;
    assert_eq!((alone.blocks, alone.transactions), (run.blocks, run.transactions));
    println!("{} blocks, {} transactions\n", run.blocks, run.transactions);
    println!("| | s | CPU s | blocks/s | tx/s | MB/s |\n|---|---|---|---|---|---|");
    println!("{}", alone.row(what));
    println!("{}", run.row("first load"));
    println!("\nratio {:.2}", run.time.as_secs_f64() / alone.time.as_secs_f64());
    println!("ratio of CPU time {:.2}", run.cpu_secs / alone.cpu_secs);
    if let Some(last_step) = loaded.last_step {
        println!("merging and handing over: {:.2} s of it", last_step.as_secs_f64());
    }
    let bytes: u64 = loaded.sizes.iter().map(|(_, bytes, _)| bytes).sum();
    println!("index: {:.1} bytes a transaction", bytes as f64 / run.transactions as f64);
    for (name, bytes, _) in &loaded.sizes {
        println!("  {name}: {:.1}", *bytes as f64 / run.transactions as f64);
    }
    println!("peak memory so far: {} MiB\n", peak_mib().unwrap_or_default());
}

fn main() -> std::io::Result<()> {
    let Some(file) = std::env::var_os("LOAD_CHAIN").map(PathBuf::from) else {
        println!("LOAD_CHAIN names no file of blocks: nothing is measured; see benches/load");
        return Ok(());
    };
    // As the program does.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    let slug = std::env::var("LOAD_SLUG").unwrap_or_else(|_| "btc".into());
    if std::env::var_os(served::SERVE).is_some() {
        return Runtime::new()?.block_on(served::serve(&slug, &file));
    }
    let chain = chain::find(&slug).expect("a chain");
    let mut options = LoadOptions::default();
    if let Some(mib) = number("LOAD_TABLE_MIB") {
        options.table_bytes = mib << 20;
    }
    if let Some(threads) = number("LOAD_THREADS") {
        options.threads = threads;
    }
    let setting = Setting {
        file,
        chain,
        network: chain.network("regtest").expect("a regtest"),
        format: *chain.format().expect("a chain of blocks that this index reads"),
        genesis: testkit::genesis(chain).expect("a genesis block").to_vec().into(),
        options,
    };
    let from = std::env::var("LOAD_FROM").ok();
    if from.as_deref() != Some("node") {
        let floor = || file::floor(&setting);
        let (alone, loaded) = rounds(floor, |dir| file::load(&setting, dir))?;
        report("reading and decoding alone", alone, &loaded);
    }
    if from.as_deref() != Some("file") {
        let (runtime, served) = (Runtime::new()?, Served::start()?);
        let floor = || runtime.block_on(served::floor(&setting, &served));
        let load = |dir: &Path| runtime.block_on(served::load(&setting, &served, dir));
        let (alone, loaded) = rounds(floor, load)?;
        report("fetching and decoding alone", alone, &loaded);
    }
    Ok(())
}
