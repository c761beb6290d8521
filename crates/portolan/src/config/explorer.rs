//! `[explorer]`: where the explorer listens, what it allows, and what its indexes may use.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use explorer::Settings;
use index::Memory;
use index::SyncOptions;
use serde::Deserialize;

use super::listener::{clients, millis};

/// The explorer's listener, limits and indexes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExplorerConfig {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// PEM file of the certificate chain, leaf first; TLS where it is given.
    pub tls_cert: Option<PathBuf>,
    /// PEM file of its private key.
    pub tls_key: Option<PathBuf>,
    /// The chains that this process serves and keeps indexes of, by slug. Default: all that are
    /// configured, but for those that say `explorer = false`.
    pub chains: Option<Vec<String>>,
    /// Web pages that may call it from a browser; `*` is any.
    pub cors_origins: Vec<String>,
    /// Networks of proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<ipnet::IpNet>,
    /// Open connections. Default: 16,384, or what the limit of open files allows.
    pub max_connections: Option<usize>,
    /// Requests in flight in the whole process.
    pub max_in_flight: usize,
    /// Reads at once that are long or may wait for the disk; of these an account has half.
    pub max_reads: usize,
    /// Bytes of answers under way, in MiB; of these an account has a sixteenth.
    pub max_answer_mb: u64,
    /// Longest time of a request, in milliseconds.
    pub timeout_ms: u64,
    /// Memory for rows that were read, of all chains together, in MiB.
    pub cache_mb: usize,
    /// Memory for rows that are not yet in files, of all chains together, in MiB.
    pub write_buffer_mb: usize,
    /// Memory for the mempool of a chain, in MiB; beyond it only ids are kept.
    pub mempool_mb: u64,
    /// No block is connected while less is free on the disk, in MiB.
    pub least_free_mb: u64,
    /// Between two looks at a node, in milliseconds.
    pub poll_ms: u64,
    /// Blocks that are fetched at once.
    pub fetch_window: usize,
}

impl Default for ExplorerConfig {
    fn default() -> Self {
        let (settings, sync) = (Settings::default(), SyncOptions::default());
        ExplorerConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], 8490)),
            tls_cert: None,
            tls_key: None,
            chains: None,
            cors_origins: vec!["*".into()],
            trusted_proxies: settings.clients.trusted_proxies,
            max_connections: None,
            max_in_flight: settings.max_in_flight,
            max_reads: settings.max_reads,
            max_answer_mb: settings.max_answer_bytes >> 20,
            timeout_ms: millis(settings.timeout),
            cache_mb: 256,
            write_buffer_mb: 128,
            mempool_mb: sync.mempool_bytes >> 20,
            least_free_mb: sync.least_free_bytes >> 20,
            poll_ms: millis(sync.poll),
            fetch_window: sync.window,
        }
    }
}

impl ExplorerConfig {
    /// Returns the settings that the explorer itself goes by.
    pub fn settings(&self) -> Settings {
        Settings {
            max_in_flight: self.max_in_flight,
            max_reads: self.max_reads,
            max_answer_bytes: self.max_answer_mb << 20,
            timeout: Duration::from_millis(self.timeout_ms),
            clients: clients(&self.cors_origins, &self.trusted_proxies),
        }
    }

    /// Returns what its listener goes by.
    pub fn limits(&self) -> listen::Limits {
        let defaults = listen::Limits::default();
        let max_connections = self.max_connections.unwrap_or(defaults.max_connections);
        listen::Limits { max_connections, ..defaults }
    }

    /// Returns whether this process serves that chain, if the chain's own section lets it.
    pub fn serves(&self, slug: &str) -> bool {
        self.chains.as_ref().is_none_or(|chains| chains.iter().any(|chain| chain == slug))
    }

    /// Returns how its indexes are kept at the tip.
    pub fn sync(&self) -> SyncOptions {
        SyncOptions {
            poll: Duration::from_millis(self.poll_ms),
            window: self.fetch_window,
            mempool_bytes: self.mempool_mb << 20,
            least_free_bytes: self.least_free_mb << 20,
            ..SyncOptions::default()
        }
    }

    /// Returns the memory that its indexes share.
    pub fn memory(&self) -> Memory {
        Memory::new(self.cache_mb << 20, self.write_buffer_mb << 20)
    }
}

#[cfg(test)]
mod tests;
