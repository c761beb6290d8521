//! How far and how fast a first load is, and the line of the log that tells it.
//!
//! Invariant: a rate is of the last seconds, not of the whole load.

use std::time::{Duration, Instant};

/// Between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(10);
/// A rate of less time says nothing.
const SHORTEST: Duration = Duration::from_secs(1);

/// How far a load is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadProgress {
    /// Blocks that were joined.
    pub blocks: u64,
    /// Their transactions.
    pub transactions: u64,
    /// Their raw bytes, of this run of the program.
    pub bytes: u64,
}

/// What logs how far a load is, now and then.
pub(crate) struct LoadLog {
    told: Instant,
    at: LoadProgress,
    blocks_per_sec: u64,
}

impl LoadLog {
    pub(crate) fn new(at: LoadProgress) -> LoadLog {
        LoadLog { told: Instant::now(), at, blocks_per_sec: 0 }
    }

    /// Logs how far the load is, if it is time, and gives the blocks a second.
    pub(crate) fn tell(&mut self, chain: &str, height: u32, target: u32, now: LoadProgress) -> u64 {
        let took = self.told.elapsed();
        if took >= SHORTEST || self.blocks_per_sec == 0 {
            let blocks = now.blocks.saturating_sub(self.at.blocks);
            self.blocks_per_sec = (blocks as f64 / took.as_secs_f64().max(0.001)) as u64;
        }
        if took >= PROGRESS {
            self.log(chain, height, target, now, took);
            (self.told, self.at) = (Instant::now(), now);
        }
        self.blocks_per_sec
    }

    fn log(&self, chain: &str, height: u32, target: u32, now: LoadProgress, took: Duration) {
        let per_sec = |amount: u64| amount as f64 / took.as_secs_f64();
        let bytes = per_sec(now.bytes.saturating_sub(self.at.bytes));
        let transactions = per_sec(now.transactions.saturating_sub(self.at.transactions));
        let left =
            f64::from(target.saturating_sub(height)) / (self.blocks_per_sec as f64).max(0.001);
        tracing::info!(
            chain,
            height,
            target,
            blocks_per_sec = self.blocks_per_sec,
            tx_per_sec = transactions as u64,
            mb_per_sec = (bytes / 1e6) as u64,
            seconds_left = left as u64,
            "first load"
        );
    }
}
