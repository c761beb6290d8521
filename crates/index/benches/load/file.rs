//! Both sides out of a file: raw blocks, each after its length in 4 bytes, lowest first.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use bytes::Bytes;
use index::utxo::Loader;

use crate::measure::{Clock, Run};
use crate::{Loaded, Setting, decode, failed};

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

/// Reading and decoding alone.
pub fn floor(setting: &Setting) -> std::io::Result<Run> {
    let mut blocks = Blocks::open(&setting.file, setting.genesis.clone())?;
    let (clock, mut count, mut transactions, mut bytes) = (Clock::start(), 0, 0, 0);
    loop {
        let batch = blocks.batch()?;
        if batch.is_empty() {
            break;
        }
        count += batch.len() as u64;
        bytes += batch.iter().map(|raw| raw.len() as u64).sum::<u64>();
        transactions += decode(&batch, &setting.format);
    }
    Ok(clock.stop(count, transactions, bytes))
}

/// A whole first load.
pub fn load(setting: &Setting, dir: &Path) -> std::io::Result<Loaded> {
    let mut store = setting.store(dir)?;
    let mut blocks = Blocks::open(&setting.file, setting.genesis.clone())?;
    let clock = Clock::start();
    let mut loader = Loader::open(&store, setting.options.clone()).map_err(failed)?;
    loop {
        let batch = blocks.batch()?;
        if batch.is_empty() {
            break;
        }
        loader.push(batch).map_err(failed)?;
    }
    let pushed = clock.stop(0, 0, 0);
    let tip = loader.finish(&mut store).map_err(failed)?;
    let bytes = std::fs::metadata(&setting.file)?.len();
    let run = clock.stop(u64::from(tip.height) + 1, tip.next_txnum, bytes);
    Ok(Loaded { last_step: Some(run.time - pushed.time), run, sizes: store.sizes() })
}
