//! `[gateway]`: where the gateway listens and what it allows.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use gateway::{Refusals, Settings};
use serde::Deserialize;

use super::listener::{clients, millis};

/// The gateway's listener and limits (decisions G15 and G16).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatewayConfig {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// PEM file of the certificate chain, leaf first; TLS where it is given.
    pub tls_cert: Option<PathBuf>,
    /// PEM file of its private key.
    pub tls_key: Option<PathBuf>,
    /// HTTP status of a refused single call: that of its reason (`http`), or 200 (decision G20).
    pub refusals: RefusalStatus,
    /// Web pages that may call it from a browser, such as `https://wallet.example`; `*` is any.
    pub cors_origins: Vec<String>,
    /// Networks of proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<ipnet::IpNet>,
    /// Open connections. Default: 16,384, or what the limit of open files allows.
    pub max_connections: Option<usize>,
    /// Bytes of a request's head, 8,192 and more.
    pub max_head_bytes: usize,
    /// Time for a request's head, in milliseconds.
    pub head_timeout_ms: u64,
    /// How long a connection may wait between two requests, in milliseconds.
    pub idle_timeout_ms: u64,
    /// How long an answer may wait for a client that reads nothing, in milliseconds.
    pub write_stall_timeout_ms: u64,
    /// Time for a request's body, in milliseconds.
    pub body_timeout_ms: u64,
    /// Bytes of a request's body, counted after decompression as well.
    pub max_request_bytes: usize,
    /// Requests in flight in the whole process.
    pub max_in_flight: usize,
    /// Bytes that the whole process buffers for large bodies and split batches.
    pub max_buffered_bytes: usize,
    /// Bytes of answers that are remembered, of all chains together (decision G19).
    pub max_cache_bytes: usize,
    /// Blocks that one `eth_getLogs` may span.
    pub log_range: u64,
    /// Headers that one `get_block_headers_range` may span.
    pub header_range: u64,
}

/// HTTP status of a refused single call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum RefusalStatus {
    /// That of its reason.
    #[serde(rename = "http")]
    Http,
    /// 200, for libraries that show the status alone otherwise.
    #[serde(rename = "200")]
    Ok,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        let settings = Settings::default();
        let limits = listen::Limits::default();
        GatewayConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], 8480)),
            tls_cert: None,
            tls_key: None,
            refusals: RefusalStatus::Http,
            cors_origins: vec!["*".into()],
            trusted_proxies: settings.clients.trusted_proxies,
            max_connections: None,
            max_head_bytes: limits.max_head_bytes,
            head_timeout_ms: millis(limits.head_timeout),
            idle_timeout_ms: millis(limits.idle_timeout),
            write_stall_timeout_ms: millis(limits.write_stall_timeout),
            body_timeout_ms: millis(settings.body_timeout),
            max_request_bytes: settings.max_request_bytes,
            max_in_flight: settings.max_in_flight,
            max_buffered_bytes: settings.max_buffered_bytes,
            max_cache_bytes: settings.max_cache_bytes,
            log_range: settings.log_range,
            header_range: settings.header_range,
        }
    }
}

impl GatewayConfig {
    /// Returns the settings that the gateway itself goes by.
    pub fn settings(&self) -> Settings {
        Settings {
            max_request_bytes: self.max_request_bytes,
            max_in_flight: self.max_in_flight,
            max_buffered_bytes: self.max_buffered_bytes,
            max_cache_bytes: self.max_cache_bytes,
            body_timeout: Duration::from_millis(self.body_timeout_ms),
            log_range: self.log_range,
            header_range: self.header_range,
            refusals: match self.refusals {
                RefusalStatus::Http => Refusals::Http,
                RefusalStatus::Ok => Refusals::Ok,
            },
            clients: clients(&self.cors_origins, &self.trusted_proxies),
        }
    }

    /// Returns what its listener goes by.
    pub fn limits(&self) -> listen::Limits {
        let defaults = listen::Limits::default();
        listen::Limits {
            max_connections: self.max_connections.unwrap_or(defaults.max_connections),
            max_head_bytes: self.max_head_bytes,
            head_timeout: Duration::from_millis(self.head_timeout_ms),
            idle_timeout: Duration::from_millis(self.idle_timeout_ms),
            write_stall_timeout: Duration::from_millis(self.write_stall_timeout_ms),
            handshake_timeout: defaults.handshake_timeout,
        }
    }
}
