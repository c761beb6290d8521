//! `[store]`: where everything embedded lives.

use std::path::PathBuf;

use serde::Deserialize;

/// The folder of accounts, keys, counters and, later, indexes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreConfig {
    /// The folder; made when it is missing. One process serves each service from it.
    pub dir: PathBuf,
}

impl Default for StoreConfig {
    fn default() -> Self {
        StoreConfig { dir: PathBuf::from("data") }
    }
}
