//! Ethereum.
//!
//! Sources: go-ethereum 1.17, params/config.go (genesis hashes and chain ids), node/defaults.go
//! (port).

use std::sync::LazyLock;

use crate::{AddressParams, Chain, Dialect, Family, MethodSet, Network, NetworkKind, method_file};

pub(super) static CHAIN: Chain = Chain {
    slug: "eth",
    name: "Ethereum",
    symbol: "ETH",
    decimals: 18,
    ordinal: 7,
    family: Family::Account,
    dialect: Dialect::Geth,
    // three epochs of 32 slots; two make a block final.
    final_depth: 96,
    networks: &NETWORKS,
    methods: &METHODS,
};

static METHODS: LazyLock<MethodSet> = LazyLock::new(|| {
    method_file::parse(include_str!("../../methods/eth.txt"))
        .expect("a test reads every method file")
});

static NETWORKS: [Network; 5] = [
    Network {
        name: "mainnet",
        kind: NetworkKind::Main,
        default_port: Some(8545),
        genesis: Some("0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3"),
        fork_block: None,
        user_agent: None,
        chain_id: Some(1),
        addresses: AddressParams::Ethereum,
        difficulty: None,
    },
    Network {
        name: "sepolia",
        kind: NetworkKind::Test,
        default_port: Some(8545),
        genesis: Some("0x25a5cc106eea7138acab33231d7160d69cb777ee0c2c553fcddf5138993e6dd9"),
        fork_block: None,
        user_agent: None,
        chain_id: Some(11_155_111),
        addresses: AddressParams::Ethereum,
        difficulty: None,
    },
    Network {
        name: "holesky",
        kind: NetworkKind::Test,
        default_port: Some(8545),
        genesis: Some("0xb5f7f912443c940f21fd611f12828d75b534364ed9e95ca4e307729a4661bde4"),
        fork_block: None,
        user_agent: None,
        chain_id: Some(17000),
        addresses: AddressParams::Ethereum,
        difficulty: None,
    },
    Network {
        name: "hoodi",
        kind: NetworkKind::Test,
        default_port: Some(8545),
        genesis: Some("0xbbe312868b376a3001692a646dd2d7d1e4406380dfd86b98aa8a34d1557c971b"),
        fork_block: None,
        user_agent: None,
        chain_id: Some(560_048),
        addresses: AddressParams::Ethereum,
        difficulty: None,
    },
    Network {
        name: "dev",
        kind: NetworkKind::Regtest,
        default_port: Some(8545),
        genesis: None,
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: AddressParams::Ethereum,
        difficulty: None,
    },
];
