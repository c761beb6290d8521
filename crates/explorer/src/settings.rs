//! What an operator may set of the explorer.

use std::time::Duration;

use listen::Clients;

/// Limits and lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Most requests in flight in this process.
    pub max_in_flight: usize,
    /// Most reads at once that may wait for the disk or are long; further ones wait, up to sixteen
    /// times as many. What is short and in memory needs no place.
    pub max_reads: usize,
    /// Most bytes of answers under way; an account has a sixteenth of it (decision E17).
    pub max_answer_bytes: u64,
    /// Longest time of a request; 10 s (decision E9).
    pub timeout: Duration,
    /// Browsers and proxies.
    pub clients: Clients,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            max_in_flight: 8192,
            max_reads: 16,
            max_answer_bytes: 512 << 20,
            timeout: Duration::from_secs(10),
            clients: Clients::default(),
        }
    }
}
