//! The configuration: one file, overridden by variables of the environment.
//!
//! Each concern has a struct of its own in `config/`. Leaves the use of a value to whoever it is
//! for. Invariant: a [`Config`] that exists has been checked; nothing behind it fails for a value
//! that could have been refused here.

mod chain;
mod check;
mod environment;
mod explorer;
mod gateway;
mod listener;
mod log;
mod nodes;
mod problem;
mod serve;
mod store;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::chain::Chain;
use meter::{PlanConfig, Plans};
use serde::Deserialize;

pub use self::chain::{ChainConfig, Served};
pub use self::explorer::ExplorerConfig;
pub use self::gateway::GatewayConfig;
pub use self::listener::{Listener, ListenerConfig, ListenerTls, Listens};
pub use self::log::{LogConfig, LogFormat};
pub use self::nodes::NodesConfig;
pub use self::problem::{ConfigError, nearest};
pub use self::serve::ServeConfig;
pub use self::store::StoreConfig;

/// The file that is read when the command line names none.
pub const DEFAULT_FILE: &str = "portolan.toml";

/// A whole configuration. Every field has a default, so that an empty file is one.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where accounts, keys, counters and indexes live.
    pub store: StoreConfig,
    /// What is logged, and how.
    pub log: LogConfig,
    /// What holds for the process that serves.
    pub serve: ServeConfig,
    /// The JSON-RPC gateway.
    pub gateway: GatewayConfig,
    /// The explorer and its indexes.
    pub explorer: ExplorerConfig,
    /// The console; listens only where given. Not built yet.
    pub console: Option<ListenerConfig>,
    /// Metrics and health; listens only where given.
    pub metrics: Option<ListenerConfig>,
    /// What holds for every node.
    pub nodes: NodesConfig,
    /// The operator's own plans, beside Free, Starter and Pro.
    pub plan: BTreeMap<String, PlanConfig>,
    /// The chains, by slug.
    pub chain: BTreeMap<String, ChainConfig>,
}

impl Config {
    /// Reads and checks `file`, or [`DEFAULT_FILE`] if none is named and that one is there, and
    /// what `variables` override. Only variables that begin with `PORTOLAN__` are looked at.
    ///
    /// Relative paths in it are relative to the folder of the file.
    ///
    /// # Errors
    /// [`ConfigError`] for the first thing that is wrong, naming the line, the variable or the
    /// field.
    pub fn load(
        file: Option<&Path>,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Config, ConfigError> {
        let path = file.unwrap_or(Path::new(DEFAULT_FILE));
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if file.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
                String::new()
            }
            Err(source) => return Err(ConfigError::Read { path: path.to_owned(), source }),
        };
        let mut config = environment::merge(path, &text, variables)?;
        config.settle_paths(path.parent().unwrap_or(Path::new("")));
        config.check().map_err(|(field, problem)| ConfigError::Value { field, problem })?;
        Ok(config)
    }

    /// Reads what of a configuration holds for the demo: log, listener limits, metrics. Chains,
    /// store and plans are its own. Without `file` no file is read.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn of_demo(
        file: Option<&Path>,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Config, ConfigError> {
        let read = match file {
            Some(_) => Config::load(file, variables)?,
            None => environment::merge(Path::new(DEFAULT_FILE), "", variables)?,
        };
        let config = Config {
            log: read.log,
            serve: ServeConfig { workers: read.serve.workers, ..ServeConfig::default() },
            gateway: read.gateway,
            explorer: read.explorer,
            metrics: read.metrics,
            ..Config::default()
        };
        config.check().map_err(|(field, problem)| ConfigError::Value { field, problem })?;
        Ok(config)
    }

    /// Returns every plan: the built-in ones and the operator's own.
    pub fn plans(&self) -> Plans {
        Plans::with(self.plan.clone()).expect("checked when the configuration was read")
    }

    /// Returns the configured chains in the order of the table of chains.
    pub fn served(&self) -> Vec<Served> {
        let served = |chain: &&'static Chain| {
            let config = self.chain.get(chain.slug)?;
            let served = config.served(chain, &self.nodes);
            let served = served.expect("checked when the configuration was read");
            let explorer = served.explorer && self.explorer.serves(chain.slug);
            Some(Served { explorer, ..served })
        };
        ::chain::ALL.iter().filter_map(served).collect()
    }

    /// Returns how long calls are served on after the end was asked for.
    pub fn drain_grace(&self) -> Duration {
        Duration::from_secs(self.serve.drain_grace_secs)
    }

    /// Returns what differs in `new` and a running process cannot change.
    pub fn needs_restart(&self, new: &Config) -> Vec<String> {
        let (before, after) = (self.listeners(), new.listeners());
        let pair = |who: Listens| {
            let one = |all: &[Listener<'_>]| all.iter().position(|it| it.who == who);
            (one(&before).map(|at| &before[at]), one(&after).map(|at| &after[at]))
        };
        let addresses = Listens::ALL.into_iter().filter(|who| {
            let (before, after) = pair(*who);
            before.map(|it| it.listen) != after.map(|it| it.listen)
        });
        let both = |differs: fn(&Listener<'_>, &Listener<'_>) -> bool| {
            let mut pairs = Listens::ALL.into_iter().map(pair);
            pairs.any(|pair| matches!(pair, (Some(before), Some(after)) if differs(before, after)))
        };
        let memory = |config: &Config| {
            let explorer = &config.explorer;
            (explorer.cache_mb, explorer.write_buffer_mb, explorer.sync())
        };
        let accounts = |config: &Config| {
            let store = config.store.clone();
            (store.accounts, store.accounts_password_file, store.accounts_ca)
        };
        let buckets = |config: &Config| {
            let store = config.store.clone();
            (store.buckets, store.buckets_password_file, store.buckets_ca)
        };
        let changed = [
            ("store.dir", self.store.dir != new.store.dir),
            ("store.accounts", accounts(self) != accounts(new)),
            ("store.buckets", buckets(self) != buckets(new)),
            ("[log]", self.log != new.log),
            ("serve.drain_grace_secs", self.serve.drain_grace_secs != new.serve.drain_grace_secs),
            ("serve.workers", self.serve.workers != new.serve.workers),
            ("what the explorer's indexes may use", memory(self) != memory(new)),
            (
                "the name of a TLS file",
                both(|a, b| (a.tls_cert, a.tls_key) != (b.tls_cert, b.tls_key)),
            ),
            ("a limit of connections", both(|a, b| a.limits != b.limits)),
        ];
        let changed = changed.into_iter().filter(|(_, differs)| *differs);
        let changed = changed.map(|(field, _)| field.to_owned());
        changed.chain(addresses.map(|who| format!("{}.listen", who.name()))).collect()
    }

    fn settle_paths(&mut self, folder: &Path) {
        let store = &mut self.store;
        settle(&mut store.dir, folder);
        let files = [
            &mut store.accounts_password_file,
            &mut store.accounts_ca,
            &mut store.buckets_password_file,
            &mut store.buckets_ca,
        ];
        files.into_iter().flatten().for_each(|path| settle(path, folder));
        let nodes = self.chain.values_mut().flat_map(|chain| &mut chain.nodes);
        let files =
            nodes.flat_map(|node| [&mut node.password_file, &mut node.cookie, &mut node.ca]);
        files.flatten().for_each(|path| settle(path, folder));
        self.tls_files().for_each(|path| settle(path, folder));
    }
}

/// Makes a path that stands in the configuration absolute or relative to the working folder.
fn settle(path: &mut PathBuf, folder: &Path) {
    *path = folder.join(&*path);
}

#[cfg(test)]
mod tests;
