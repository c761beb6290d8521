//! `[chain.X]`: a chain that this operator runs.

use chain::account::RewardForks;
use chain::{Chain, Family, Network, NetworkKind, Offered};
use gateway::Remember;
use index::account::AccountOptions;
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
    /// Account family only, on private networks: the heights from which blocks create less.
    /// Default: all of them from the first block on.
    pub reward_forks: Option<RewardForksConfig>,
    /// The only methods to offer, out of the chain's own set. Default: all of it.
    pub methods: Option<Vec<String>>,
    /// Methods to offer besides. They are taken for heavy ones that must never be sent twice.
    pub extra_methods: Vec<String>,
}

/// The heights from which blocks of a private network create less, as its genesis file has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RewardForksConfig {
    /// `byzantiumBlock`: from here on 3 ether instead of 5, and receipts have a status.
    pub byzantium: u64,
    /// `constantinopleBlock`: from here on 2 ether.
    pub constantinople: u64,
    /// From here on nothing, although blocks have a difficulty; 0 on a network of signers.
    pub merge: Option<u64>,
}

impl RewardForksConfig {
    fn forks(self) -> RewardForks {
        let RewardForksConfig { byzantium, constantinople, merge } = self;
        RewardForks { byzantium, constantinople, merge }
    }
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
            reward_forks: None,
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
    /// What is said of an index of accounts alone.
    pub accounts: AccountOptions,
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
        let (gateway, explorer, accounts) =
            (self.gateway, self.explorer, self.accounts(chain, network)?);
        let remember = self.cache.remember();
        Ok(Served { chain, network, offered, pool, gateway, explorer, remember, accounts })
    }

    /// What is said of an index of accounts, which other chains have not.
    fn accounts(
        &self,
        chain: &Chain,
        network: &Network,
    ) -> Result<AccountOptions, (&'static str, String)> {
        let given = [
            ("history_from", self.history_from.is_some()),
            ("reward_forks", self.reward_forks.is_some()),
        ];
        if let Some((field, _)) = given.iter().find(|(_, given)| *given)
            && chain.family != Family::Account
        {
            return Err((field, "only chains of the account family have it".into()));
        }
        let private = network.kind == NetworkKind::Regtest;
        match self.reward_forks {
            Some(_) if !private => {
                Err(("reward_forks", format!("those of {} are known", network.name)))
            }
            Some(forks) if forks.byzantium > forks.constantinople => {
                Err(("reward_forks", "constantinople comes before byzantium".into()))
            }
            forks => Ok(AccountOptions {
                history_from: self.history_from,
                reward_forks: forks.map(RewardForksConfig::forks),
            }),
        }
    }
}
