//! `[chain.X]`: a chain that this operator runs.

use chain::{Chain, Network, Offered};
use gateway::Remember;
use node::{NodeConfig, PoolConfig};
use serde::Deserialize;

use super::nodes::NodesConfig;
use super::problem::nearest;

/// The nodes of a chain and what is offered on it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChainConfig {
    /// Name of the network, `mainnet` unless given.
    pub network: String,
    /// The nodes; at least one.
    pub nodes: Vec<NodeConfig>,
    /// Is the chain on the gateway?
    pub gateway: bool,
    /// Is the chain on the explorer?
    pub explorer: bool,
    /// Which answers of the gateway are remembered (decision G19).
    pub cache: CacheMode,
    /// Account family only: the explorer's index begins at this height (0 or more), or this many
    /// blocks back from the tip at the first start (negative). Default -2,000,000 (decision A12).
    pub history_from: Option<i64>,
    /// The only methods to offer, out of the chain's own set. Default: all of it.
    pub methods: Option<Vec<String>>,
    /// Methods to offer besides. They are taken for heavy ones that must never be sent twice.
    pub extra_methods: Vec<String>,
}

/// Which answers of the gateway are remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheMode {
    /// None.
    #[default]
    Off,
    /// Those that can never change.
    Final,
    /// Besides, those that change with the tip alone, for a second at most.
    Tip,
}

impl CacheMode {
    /// The same for the gateway.
    fn remember(self) -> Remember {
        match self {
            CacheMode::Off => Remember::Nothing,
            CacheMode::Final => Remember::Final,
            CacheMode::Tip => Remember::Tip,
        }
    }
}

impl Default for ChainConfig {
    fn default() -> Self {
        ChainConfig {
            network: "mainnet".into(),
            nodes: Vec::new(),
            gateway: true,
            explorer: true,
            cache: CacheMode::Off,
            history_from: None,
            methods: None,
            extra_methods: Vec::new(),
        }
    }
}

/// A configured chain with its names resolved.
#[derive(Debug)]
pub struct Served {
    /// The chain.
    pub chain: &'static Chain,
    /// Its network.
    pub network: &'static Network,
    /// Its methods on the gateway.
    pub offered: Offered,
    /// Its nodes and their limits.
    pub pool: PoolConfig,
    /// Is it on the gateway?
    pub gateway: bool,
    /// Is it on the explorer?
    pub explorer: bool,
    /// Which of its answers the gateway remembers.
    pub remember: Remember,
    /// Where an index of accounts begins.
    pub history_from: Option<i64>,
}

impl ChainConfig {
    /// Resolves the names. The error is the field's name and what is wrong with it.
    pub(super) fn served(
        &self,
        chain: &'static Chain,
        nodes: &NodesConfig,
    ) -> Result<Served, (&'static str, String)> {
        let network = chain.network(&self.network).ok_or_else(|| {
            let known = chain.networks.iter().map(|network| network.name);
            ("network", nearest("network", &self.network, known))
        })?;
        let offered = chain
            .methods()
            .offered(self.methods.as_deref(), &self.extra_methods)
            .map_err(|unknown| ("methods", unknown.to_string()))?;
        let pool = nodes.pool(self.nodes.clone());
        let (gateway, explorer, history_from) = (self.gateway, self.explorer, self.history_from);
        let remember = self.cache.remember();
        Ok(Served { chain, network, offered, pool, gateway, explorer, remember, history_from })
    }
}
