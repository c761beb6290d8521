//! The gateway's settings: limits and lists that an operator may change while it runs.

use std::time::Duration;

use listen::Clients;

/// With which HTTP status a single call is refused (decision G20).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Refusals {
    /// With the status of its reason.
    #[default]
    Http,
    /// With 200 and the same body, for libraries that show the status alone otherwise. Refusals of
    /// keys, plans and quotas keep their status.
    Ok,
}

/// Limits and lists. `Default` gives the values of decisions G15 and G16.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Largest request body, in bytes, counted after decompression as well.
    pub max_request_bytes: usize,
    /// Most requests in flight in this process.
    pub max_in_flight: usize,
    /// Most bytes that the process buffers for large request bodies and split batches.
    pub max_buffered_bytes: usize,
    /// Most bytes of answers that are remembered, of all chains together.
    pub max_cache_bytes: usize,
    /// How long a request body may take to arrive.
    pub body_timeout: Duration,
    /// Most blocks that one `eth_getLogs` may span.
    pub log_range: u64,
    /// Most headers that one `get_block_headers_range` may span.
    pub header_range: u64,
    /// Status of refusals.
    pub refusals: Refusals,
    /// Browsers and proxies.
    pub clients: Clients,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            max_request_bytes: 2 << 20,
            max_in_flight: 8192,
            max_buffered_bytes: 256 << 20,
            max_cache_bytes: 64 << 20,
            body_timeout: Duration::from_secs(30),
            log_range: 2000,
            header_range: 1000,
            refusals: Refusals::Http,
            clients: Clients::default(),
        }
    }
}

impl Settings {
    /// Most bytes that one account may have buffered: a quarter, but always room for one body and
    /// what it was decompressed from (decision G17).
    pub(crate) fn account_buffered_bytes(&self) -> usize {
        let one = self.max_request_bytes.saturating_mul(2);
        (self.max_buffered_bytes / 4).max(one).min(self.max_buffered_bytes)
    }

    /// Most requests that one account may have in flight, a quarter (decision G17). A plan may
    /// allow fewer.
    pub(crate) fn account_in_flight(&self) -> usize {
        (self.max_in_flight / 4).max(1)
    }
}
