//! A network of a chain: what tells its nodes apart from those of others, and how its addresses
//! are written.
//!
//! Asking a node for these facts is left to the `node` crate. Invariant: names are unique within
//! a chain, hashes are lower-case hex in the spelling of the chain's own node.

use crate::{AddressParams, DifficultyScale};

/// One network of a chain.
#[derive(Debug)]
pub struct Network {
    /// Lower-case name in the configuration, e.g. `mainnet`.
    pub name: &'static str,
    /// Whether coins are worth money here and whether blocks come by themselves.
    pub kind: NetworkKind,
    /// TCP port of the node's RPC server unless it is told otherwise. `None`: the node has none.
    pub default_port: Option<u16>,
    /// Hash of block 0 as the node prints it (eth with `0x`). `None`: any, the chain is made up
    /// on the spot.
    pub genesis: Option<&'static str>,
    /// The first block after a split, where another chain or network shares the genesis block.
    pub fork_block: Option<ForkBlock>,
    /// Parts of `getnetworkinfo.subversion`, one of which the right node has, where another chain
    /// shares the genesis block and no block tells them apart.
    pub user_agent: Option<&'static [&'static str]>,
    /// `eth_chainId` where the chain has one and it is fixed.
    pub chain_id: Option<u64>,
    /// How addresses are written.
    pub addresses: AddressParams,
    /// How a target is told as a difficulty, where blocks have a target in compact form.
    pub difficulty: Option<DifficultyScale>,
}

/// Whether coins are worth money on a network and whether blocks come by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NetworkKind {
    /// The network whose coins are worth money.
    Main,
    /// A public network for tests.
    Test,
    /// A private network on which the operator makes the blocks.
    Regtest,
}

/// A block that only one of the chains or networks with a common past has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkBlock {
    /// Height of the block.
    pub height: u32,
    /// Its hash, as `getblockhash` prints it.
    pub hash: &'static str,
}
