//! A chain: one row of constants that the whole program passes around by reference.
//!
//! The rows themselves stand in `chains/`, one file a chain. Invariant: two chains are the same
//! exactly if their slugs are.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

use crate::utxo::Format;
use crate::{MethodSet, Network};

/// One chain that Portolan knows: names, units, node dialect, networks and method set.
pub struct Chain {
    /// Lower-case name in paths, configuration and metric labels, e.g. `btc`.
    pub slug: &'static str,
    /// Name for people, e.g. `Bitcoin`.
    pub name: &'static str,
    /// Ticker symbol, e.g. `BTC`.
    pub symbol: &'static str,
    /// Decimal places between one coin and the smallest unit.
    pub decimals: u8,
    /// Place of this row in [`crate::ALL`].
    pub ordinal: usize,
    /// How transactions move value, which decides the explorer's shapes.
    pub family: Family,
    /// Which node software answers, with its transport habits.
    pub dialect: Dialect,
    /// Blocks on top of a block from which on it counts as final, where answers are remembered by
    /// height.
    pub final_depth: u64,
    /// The networks of this chain; the main network is the first.
    pub networks: &'static [Network],
    pub(crate) methods: &'static LazyLock<MethodSet>,
}

impl Chain {
    /// The methods that the gateway offers on this chain before an operator narrows or widens
    /// them. Parsed once from the chain's method file.
    pub fn methods(&self) -> &'static MethodSet {
        self.methods
    }

    /// The format of its blocks, where its transactions spend earlier outputs.
    pub fn format(&self) -> Option<&Format> {
        match &self.family {
            Family::Utxo(format) => Some(format),
            Family::Account | Family::Ring => None,
        }
    }

    /// The network of that exact lower-case name, e.g. `regtest`.
    pub fn network(&self, name: &str) -> Option<&'static Network> {
        self.networks.iter().find(|network| network.name == name)
    }

    /// The main network.
    pub fn mainnet(&self) -> &'static Network {
        &self.networks[0]
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slug)
    }
}

impl PartialEq for Chain {
    fn eq(&self, other: &Chain) -> bool {
        self.slug == other.slug
    }
}

impl Eq for Chain {}

impl Hash for Chain {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.slug.hash(state);
    }
}

/// How transactions move value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Transactions spend earlier outputs; blocks are in this format.
    Utxo(Format),
    /// Transactions change balances of accounts.
    Account,
    /// Transactions spend one hidden member of a ring of outputs.
    Ring,
}

impl Family {
    /// The word used in answers and documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Family::Utxo(_) => "utxo",
            Family::Account => "account",
            Family::Ring => "ring",
        }
    }
}

/// Which node software answers: its JSON-RPC version, batches and transport follow from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Bitcoin Core 28 and later: answers JSON-RPC 2.0 to a call tagged so, else the legacy form.
    Core,
    /// Older relatives of Bitcoin Core: the legacy form whatever the tag says.
    LegacyCore,
    /// zebrad: cookie, entries of a batch must be tagged 2.0.
    Zebrad,
    /// dcrd: own TLS certificate, closes the connection after each answer.
    Dcrd,
    /// go-ethereum and other execution clients: JSON-RPC 2.0 alone.
    Geth,
    /// monerod: no batches, some calls on plain paths, HTTP Digest.
    Monerod,
}
