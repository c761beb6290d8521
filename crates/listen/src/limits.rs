//! What a listener allows its clients.
//!
//! Leaves the sizes and times of bodies to the services. Invariant: a connection that neither
//! sends a whole head nor reads its answer ends by itself.

use std::time::Duration;

/// Limits of one listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Open connections; further ones wait in the backlog of the socket.
    pub max_connections: usize,
    /// Bytes of a request head: request line and all headers. hyper allows no less than 8,192.
    pub max_head_bytes: usize,
    /// From the first byte of a head, or the start of a connection, to its last.
    pub head_timeout: Duration,
    /// Between two requests on one connection.
    pub idle_timeout: Duration,
    /// Without a byte written while an answer waits to be sent.
    pub write_stall_timeout: Duration,
    /// For a TLS handshake.
    pub handshake_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_connections: 16_384,
            max_head_bytes: 32 * 1024,
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            write_stall_timeout: Duration::from_secs(60),
            handshake_timeout: Duration::from_secs(10),
        }
    }
}
