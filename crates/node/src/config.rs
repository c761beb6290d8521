//! What an operator says about the nodes of a chain.
//!
//! Reading the file is left to the program, checking it to `Pool::new`. Invariant: every default
//! stands here, once.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use crate::Secret;

/// One node, as a table of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeConfig {
    /// `http://host:port/` or `https://host:port/`. A path is a prefix of every request; without
    /// a port it is the scheme's (80, 443). Credentials in it are refused.
    pub url: String,
    /// User of Basic or Digest credentials.
    #[serde(default)]
    pub user: Option<String>,
    /// Password of `user`.
    #[serde(default)]
    pub password: Option<Secret>,
    /// File that holds the password of `user`, read again when it changes.
    #[serde(default)]
    pub password_file: Option<PathBuf>,
    /// Cookie file that the node writes at its start, read again when it changes.
    #[serde(default)]
    pub cookie: Option<PathBuf>,
    /// PEM file of certificates to trust instead of the public authorities: a private authority,
    /// or the node's own certificate (dcrd's `rpc.cert`).
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// How `user` and password are presented.
    #[serde(default)]
    pub auth: Auth,
    /// Address of the node's ZMQ publisher of `hashblock` and `hashtx`, as `tcp://host:port`
    /// (Core family). It only wakes those who wait for news; not used for calls.
    #[serde(default)]
    pub zmq: Option<String>,
    /// Calls at once. Default: Core family and zebrad 16, dcrd 8, geth 64, monerod 20 at a
    /// private address and 2 at a public one.
    #[serde(default)]
    pub slots: Option<usize>,
    /// Answers at once that are still being read although the node has finished building them
    /// (all but dcrd); default 200.
    #[serde(default)]
    pub open_answers: Option<usize>,
    /// Name to ask for and to check in the certificate, where it is not the host of `url`.
    #[serde(default)]
    pub server_name: Option<String>,
}

impl NodeConfig {
    /// A node at `url` without credentials.
    pub fn new(url: impl Into<String>) -> NodeConfig {
        NodeConfig { url: url.into(), ..NodeConfig::default() }
    }
}

/// How user and password are presented to a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Auth {
    /// RFC 7617, with every request.
    #[default]
    Basic,
    /// RFC 7616, after the node's challenge (monerod).
    Digest,
}

/// The nodes of one chain and the limits that hold for each of them.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolConfig {
    /// The nodes; at least one.
    pub nodes: Vec<NodeConfig>,
    /// Time limits of calls and connections.
    pub timeouts: Timeouts,
    /// Between two probes of a node; 2 s.
    pub probe_interval: Duration,
    /// Longest wait for a slot of a node; 250 ms.
    pub queue_wait: Duration,
    /// Largest answer in bytes; 256 MiB.
    pub response_limit: u64,
    /// An answer may go on past `timeouts.whole` while its reader takes at least this many bytes
    /// a second; 1 MB.
    pub fast_reader_bytes_per_sec: u64,
    /// A reader below this many bytes a second is cut when others wait; 64 kB.
    pub slow_reader_bytes_per_sec: u64,
    /// Over which time a reader is judged; 10 s.
    pub reader_window: Duration,
    /// A node this many blocks behind the best is still as good as it; 2.
    pub max_lag_blocks: u64,
    /// After this time a route that a node did not have is tried again, since it may have been
    /// started anew with it (`-rest`); 5 min.
    pub route_retry: Duration,
    /// When a failing node is left out.
    pub ejection: Ejection,
}

impl Default for PoolConfig {
    fn default() -> PoolConfig {
        PoolConfig {
            nodes: Vec::new(),
            timeouts: Timeouts::default(),
            probe_interval: Duration::from_secs(2),
            queue_wait: Duration::from_millis(250),
            response_limit: 256 << 20,
            fast_reader_bytes_per_sec: 1_000_000,
            slow_reader_bytes_per_sec: 64_000,
            reader_window: Duration::from_secs(10),
            max_lag_blocks: 2,
            route_retry: Duration::from_secs(300),
            ejection: Ejection::default(),
        }
    }
}

/// Time limits of calls and connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Name look-up and TCP, and the same again for the TLS handshake; 2 s.
    pub connect: Duration,
    /// From the start of an attempt to the head of the answer; 30 s.
    pub first_byte: Duration,
    /// From the start of an attempt to the last byte, whatever the reader does; 60 s.
    pub whole: Duration,
    /// The same for a reader that stays fast; 300 s.
    pub whole_fast: Duration,
    /// An unused connection is closed after this time, which must be shorter than the node's own
    /// (Core: `rpcservertimeout` 30 s); 15 s.
    pub idle: Duration,
    /// One call of a probe, and of `check`; 5 s.
    pub probe: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            connect: Duration::from_secs(2),
            first_byte: Duration::from_secs(30),
            whole: Duration::from_secs(60),
            whole_fast: Duration::from_secs(300),
            idle: Duration::from_secs(15),
            probe: Duration::from_secs(5),
        }
    }
}

/// When a failing node is left out, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ejection {
    /// Failures in a row (connect, time-out, broken connection, refused credentials); 3.
    pub failures: u32,
    /// The first time out; it doubles with each further one; 1 s.
    pub first: Duration,
    /// The longest time out; 60 s.
    pub longest: Duration,
}

impl Default for Ejection {
    fn default() -> Ejection {
        Ejection { failures: 3, first: Duration::from_secs(1), longest: Duration::from_secs(60) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_field_is_refused_and_secrets_stay_hidden() {
        let json = r#"{"url":"http://n:1","user":"u","password":"hunter2","auth":"digest"}"#;
        let config: NodeConfig = serde_json::from_str(json).unwrap();
        assert_eq!(config.auth, Auth::Digest);
        assert!(!format!("{config:?}").contains("hunter2"));
        assert!(serde_json::from_str::<NodeConfig>(r#"{"url":"http://n","pass":"x"}"#).is_err());
    }
}
