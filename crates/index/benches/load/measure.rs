//! What one side of the comparison did, and how it is told.

use std::time::{Duration, Instant};

/// What one side did.
#[derive(Clone, Copy)]
pub struct Run {
    pub time: Duration,
    /// Processor time of all threads, which tells more than the clock on a machine that is shared.
    pub cpu_secs: f64,
    pub blocks: u64,
    pub transactions: u64,
    pub bytes: u64,
}

/// A clock, and one of processor time.
#[derive(Clone, Copy)]
pub struct Clock(Instant, f64);

impl Clock {
    pub fn start() -> Clock {
        Clock(Instant::now(), cpu_secs())
    }

    /// What was done since.
    pub fn stop(self, blocks: u64, transactions: u64, bytes: u64) -> Run {
        let (time, cpu_secs) = (self.0.elapsed(), cpu_secs() - self.1);
        Run { time, cpu_secs, blocks, transactions, bytes }
    }
}

impl Run {
    fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.time.as_secs_f64()
    }

    pub fn row(&self, name: &str) -> String {
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

/// Seconds of processor time that the process took so far, in a clock of 100 ticks a second.
fn cpu_secs() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// The most memory that the process ever held, in MiB.
pub fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib / 1024)
}
