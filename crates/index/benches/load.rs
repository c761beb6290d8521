//! The first load of a chain against fetching and decoding the same blocks alone.
//!
//! Reads a file of raw blocks, each after its length in 4 bytes, lowest first, from the block
//! after genesis on; the environment names it:
//!
//! - `LOAD_CHAIN`: the file. One of 2 million transactions takes 100 s and 320 MB:
//!   `make_chain.py --blocks 2130 --txs 1000 --out chain.bin`
//! - `LOAD_SLUG`: the chain it is of; `btc`. Its genesis block is put in front.
//! - `LOAD_DIR`: where the index is made; a folder for temporary files.
//! - `LOAD_TABLE_MIB`: memory for the table of unspent outputs.
//! - `LOAD_ROUNDS`: how often; 3. The fastest one counts.
//!
//! Both sides read the file anew, with the same batches and on all cores. Without `LOAD_CHAIN`
//! nothing is measured.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use chain::utxo::{Block, Format};
use index::Memory;
use index::utxo::{LoadOptions, Loader, Store};

/// The allocator of the program: what one thread makes another one frees.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Raw bytes that are handed over at once.
const BATCH_BYTES: usize = 8 << 20;

/// The blocks of a file, in batches.
struct Blocks {
    file: BufReader<File>,
    genesis: Option<Bytes>,
}

impl Blocks {
    fn open(path: &Path, genesis: Bytes) -> std::io::Result<Blocks> {
        let file = BufReader::with_capacity(1 << 20, File::open(path)?);
        Ok(Blocks { file, genesis: Some(genesis) })
    }

    /// The next batch; empty at the end.
    fn batch(&mut self) -> std::io::Result<Vec<Bytes>> {
        let mut batch: Vec<Bytes> = self.genesis.take().into_iter().collect();
        let mut bytes = 0;
        while bytes < BATCH_BYTES {
            let mut length = [0; 4];
            if self.file.read(&mut length[..1])? == 0 {
                break;
            }
            self.file.read_exact(&mut length[1..])?;
            let mut raw = vec![0; u32::from_le_bytes(length) as usize];
            self.file.read_exact(&mut raw)?;
            bytes += raw.len();
            batch.push(raw.into());
        }
        Ok(batch)
    }
}

/// What one side did.
#[derive(Clone, Copy)]
struct Run {
    time: Duration,
    /// Processor time of all threads, which tells more than the clock on a machine that is shared.
    cpu_secs: f64,
    blocks: u64,
    transactions: u64,
    bytes: u64,
}

impl Run {
    fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.time.as_secs_f64()
    }

    fn row(&self, name: &str) -> String {
        format!(
            "| {name} | {:.2} | {:.2} | {:.0} | {:.0} | {:.0} |",
            self.time.as_secs_f64(),
            self.cpu_secs,
            self.per_second(self.blocks),
            self.per_second(self.transactions),
            self.per_second(self.bytes) / 1e6,
        )
    }
}

/// Decodes a batch on `threads` threads, checks it against its headers, and counts transactions.
fn decode(batch: &[Bytes], format: &Format, threads: usize) -> u64 {
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

/// Fetching and decoding alone.
fn floor(path: &Path, genesis: &Bytes, format: &Format) -> std::io::Result<Run> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let mut blocks = Blocks::open(path, genesis.clone())?;
    let (time, cpu_secs) = (Duration::ZERO, cpu_secs());
    let mut run = Run { time, cpu_secs, blocks: 0, transactions: 0, bytes: 0 };
    let start = Instant::now();
    loop {
        let batch = blocks.batch()?;
        if batch.is_empty() {
            break;
        }
        run.blocks += batch.len() as u64;
        run.bytes += batch.iter().map(|raw| raw.len() as u64).sum::<u64>();
        run.transactions += decode(&batch, format, threads);
    }
    run.time = start.elapsed();
    run.cpu_secs = self::cpu_secs() - run.cpu_secs;
    Ok(run)
}

/// A whole first load; also how long its last step took, and the bytes of the index by table.
type Loaded = (Run, Duration, Vec<(&'static str, u64, u64)>);

fn load(
    path: &Path,
    genesis: &Bytes,
    dir: &Path,
    options: &LoadOptions,
) -> std::io::Result<Loaded> {
    let slug = std::env::var("LOAD_SLUG").unwrap_or_else(|_| "btc".into());
    let chain = chain::find(&slug).expect("a chain");
    let network = chain.network("regtest").expect("a regtest");
    let memory = Memory::default();
    let failed = |error: index::IndexError| std::io::Error::other(error.to_string());
    let mut store = Store::open(dir, chain, network, &memory, None).map_err(failed)?;
    let mut blocks = Blocks::open(path, genesis.clone())?;
    let (start, cpu) = (Instant::now(), cpu_secs());
    let mut loader = Loader::open(&store, options.clone()).map_err(failed)?;
    loop {
        let batch = blocks.batch()?;
        if batch.is_empty() {
            break;
        }
        loader.push(batch).map_err(failed)?;
    }
    let pushed = start.elapsed();
    let done = loader.progress().bytes;
    let tip = loader.finish(&mut store).map_err(failed)?;
    let time = start.elapsed();
    let bytes = std::fs::metadata(path)?.len().max(done);
    let (blocks, transactions) = (u64::from(tip.height) + 1, tip.next_txnum);
    let run = Run { time, cpu_secs: cpu_secs() - cpu, blocks, transactions, bytes };
    Ok((run, time - pushed, store.sizes()))
}

/// Seconds of processor time that the process took so far, in a clock of 100 ticks a second.
fn cpu_secs() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// The most memory that the process ever held, in MiB.
fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib / 1024)
}

fn main() -> std::io::Result<()> {
    let Some(path) = std::env::var_os("LOAD_CHAIN").map(PathBuf::from) else {
        println!("LOAD_CHAIN names no file of blocks: nothing is measured; see benches/load.rs");
        return Ok(());
    };
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<usize>().ok());
    let mut options = LoadOptions::default();
    if let Some(mib) = number("LOAD_TABLE_MIB") {
        options.table_bytes = mib << 20;
    }
    let slug = std::env::var("LOAD_SLUG").unwrap_or_else(|_| "btc".into());
    let chain = chain::find(&slug).expect("a chain");
    let genesis: Bytes = testkit::genesis(chain).expect("a genesis block").to_vec().into();
    let format = chain.format.expect("a chain of blocks that this index reads");
    let mut best: Option<Loaded> = None;
    let mut least: Option<Run> = None;
    for _ in 0..number("LOAD_ROUNDS").unwrap_or(3) {
        let alone = floor(&path, &genesis, &format)?;
        least = least.filter(|least| least.time < alone.time).or(Some(alone));
        let parent = std::env::var_os("LOAD_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        let dir = tempfile::tempdir_in(parent)?;
        let loaded = load(&path, &genesis, &dir.path().join("index"), &options)?;
        best = best.filter(|best| best.0.time < loaded.0.time).or(Some(loaded));
    }
    let (Some(alone), Some((run, last_step, sizes))) = (least, best) else { return Ok(()) };
    assert_eq!((alone.blocks, alone.transactions), (run.blocks, run.transactions));
    println!("{} blocks, {} transactions\n", run.blocks, run.transactions);
    println!("| | s | CPU s | blocks/s | tx/s | MB/s |\n|---|---|---|---|---|---|");
    println!("{}", alone.row("reading and decoding alone"));
    println!("{}", run.row("first load"));
    println!("\nratio {:.2}", run.time.as_secs_f64() / alone.time.as_secs_f64());
    println!("ratio of CPU time {:.2}", run.cpu_secs / alone.cpu_secs);
    println!("merging and handing over: {:.2} s of it", last_step.as_secs_f64());
    let bytes: u64 = sizes.iter().map(|(_, bytes, _)| bytes).sum();
    println!("index: {:.1} bytes a transaction", bytes as f64 / run.transactions as f64);
    for (name, bytes, _) in &sizes {
        println!("  {name}: {:.1}", *bytes as f64 / run.transactions as f64);
    }
    println!("peak memory: {} MiB", peak_mib().unwrap_or_default());
    Ok(())
}
