//! `[nodes]`: times and sizes that hold for every node of every chain.

use std::time::Duration;

use node::{Ejection, NodeConfig, PoolConfig, Timeouts};
use serde::Deserialize;

use super::listener::millis;

/// Limits of calls to nodes (decision G15) and of the watch over them (decision G11).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NodesConfig {
    /// Name look-up and TCP, and the same again for TLS, in milliseconds.
    pub connect_timeout_ms: u64,
    /// From the start of a call to the head of its answer, in milliseconds.
    pub first_byte_timeout_ms: u64,
    /// From the start of a call to the last byte of its answer, in milliseconds.
    pub whole_timeout_ms: u64,
    /// The same for a client that reads fast, in milliseconds.
    pub fast_whole_timeout_ms: u64,
    /// Bytes a second from which on a client reads fast.
    pub fast_reader_bytes_per_sec: u64,
    /// Bytes a second under which a client is cut off when others wait.
    pub slow_reader_bytes_per_sec: u64,
    /// Over which time a client's reading is judged, in milliseconds.
    pub reader_window_ms: u64,
    /// Bytes of one answer.
    pub max_response_bytes: u64,
    /// Longest wait for a free slot of a node, in milliseconds.
    pub queue_wait_ms: u64,
    /// An unused connection is closed after this time, in milliseconds; it must be shorter than
    /// the node's own.
    pub idle_timeout_ms: u64,
    /// Between two probes of a node, in milliseconds.
    pub probe_interval_ms: u64,
    /// One call of a probe, in milliseconds.
    pub probe_timeout_ms: u64,
    /// How many blocks a node may be behind the best and still be used.
    pub max_lag_blocks: u64,
    /// Failures in a row after which a node is left out.
    pub ejection_failures: u32,
    /// How long it is left out the first time, in milliseconds; doubles each time.
    pub ejection_first_ms: u64,
    /// How long at most, in milliseconds.
    pub ejection_longest_ms: u64,
}

impl Default for NodesConfig {
    fn default() -> Self {
        let pool = PoolConfig::default();
        NodesConfig {
            connect_timeout_ms: millis(pool.timeouts.connect),
            first_byte_timeout_ms: millis(pool.timeouts.first_byte),
            whole_timeout_ms: millis(pool.timeouts.whole),
            fast_whole_timeout_ms: millis(pool.timeouts.whole_fast),
            fast_reader_bytes_per_sec: pool.fast_reader_bytes_per_sec,
            slow_reader_bytes_per_sec: pool.slow_reader_bytes_per_sec,
            reader_window_ms: millis(pool.reader_window),
            max_response_bytes: pool.response_limit,
            queue_wait_ms: millis(pool.queue_wait),
            idle_timeout_ms: millis(pool.timeouts.idle),
            probe_interval_ms: millis(pool.probe_interval),
            probe_timeout_ms: millis(pool.timeouts.probe),
            max_lag_blocks: pool.max_lag_blocks,
            ejection_failures: pool.ejection.failures,
            ejection_first_ms: millis(pool.ejection.first),
            ejection_longest_ms: millis(pool.ejection.longest),
        }
    }
}

impl NodesConfig {
    /// Returns the pool of a chain that has these nodes.
    pub fn pool(&self, nodes: Vec<NodeConfig>) -> PoolConfig {
        PoolConfig {
            nodes,
            timeouts: Timeouts {
                connect: Duration::from_millis(self.connect_timeout_ms),
                first_byte: Duration::from_millis(self.first_byte_timeout_ms),
                whole: Duration::from_millis(self.whole_timeout_ms),
                whole_fast: Duration::from_millis(self.fast_whole_timeout_ms),
                idle: Duration::from_millis(self.idle_timeout_ms),
                probe: Duration::from_millis(self.probe_timeout_ms),
            },
            probe_interval: Duration::from_millis(self.probe_interval_ms),
            queue_wait: Duration::from_millis(self.queue_wait_ms),
            response_limit: self.max_response_bytes,
            fast_reader_bytes_per_sec: self.fast_reader_bytes_per_sec,
            slow_reader_bytes_per_sec: self.slow_reader_bytes_per_sec,
            reader_window: Duration::from_millis(self.reader_window_ms),
            max_lag_blocks: self.max_lag_blocks,
            ejection: Ejection {
                failures: self.ejection_failures,
                first: Duration::from_millis(self.ejection_first_ms),
                longest: Duration::from_millis(self.ejection_longest_ms),
            },
            ..PoolConfig::default()
        }
    }
}
