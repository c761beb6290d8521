//! `[serve]`: what holds for the process that serves, whatever it serves.

use std::thread::available_parallelism;

use serde::Deserialize;

/// How the process runs and ends.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServeConfig {
    /// Seconds after SIGTERM in which calls are still served while readiness already fails
    /// (decision G17), 0 to 600.
    pub drain_grace_secs: u64,
    /// Threads that serve requests, 1 to 1024. Default: as many as there are processors for us.
    pub workers: Option<usize>,
}

impl Default for ServeConfig {
    fn default() -> Self {
        ServeConfig { drain_grace_secs: 5, workers: None }
    }
}

impl ServeConfig {
    /// Returns how many threads serve requests.
    pub fn workers(&self) -> usize {
        self.workers.unwrap_or_else(|| available_parallelism().map_or(1, usize::from))
    }
}
