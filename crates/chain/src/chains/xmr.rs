//! Monero.
//!
//! Sources: monero 0.18, src/cryptonote_config.h (address tags, ports); the genesis hashes are what
//! `get_block_header_by_height` answers for height 0. A regtest daemon has the main network's genesis
//! and address tags.

use std::sync::LazyLock;

use crate::{
    AddressParams, Chain, Dialect, Family, MethodSet, MoneroAddresses, Network, NetworkKind,
    method_file,
};

pub(super) static CHAIN: Chain = Chain {
    slug: "xmr",
    name: "Monero",
    symbol: "XMR",
    decimals: 12,
    ordinal: 8,
    family: Family::Ring,
    dialect: Dialect::Monerod,
    // CRYPTONOTE_MINED_MONEY_UNLOCK_WINDOW, src/cryptonote_config.h.
    final_depth: 60,
    networks: &NETWORKS,
    methods: &METHODS,
};

static METHODS: LazyLock<MethodSet> = LazyLock::new(|| {
    method_file::parse(include_str!("../../methods/xmr.txt"))
        .expect("a test reads every method file")
});

const MAIN_ADDRESSES: AddressParams =
    AddressParams::Monero(MoneroAddresses { standard: 18, integrated: 19, subaddress: 42 });

const TEST_ADDRESSES: AddressParams =
    AddressParams::Monero(MoneroAddresses { standard: 53, integrated: 54, subaddress: 63 });

const STAGENET_ADDRESSES: AddressParams =
    AddressParams::Monero(MoneroAddresses { standard: 24, integrated: 25, subaddress: 36 });

static NETWORKS: [Network; 4] = [
    Network {
        name: "mainnet",
        kind: NetworkKind::Main,
        default_port: Some(18081),
        genesis: Some("418015bb9ae982a1975da7d79277c2705727a56894ba0fb246adaabb1f4632e3"),
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: MAIN_ADDRESSES,
        difficulty: None,
    },
    Network {
        name: "testnet",
        kind: NetworkKind::Test,
        default_port: Some(28081),
        genesis: Some("48ca7cd3c8de5b6a4d53d2861fbdaedca141553559f9be9520068053cda8430b"),
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: TEST_ADDRESSES,
        difficulty: None,
    },
    Network {
        name: "stagenet",
        kind: NetworkKind::Test,
        default_port: Some(38081),
        genesis: Some("76ee3cc98646292206cd3e86f74d88b4dcc1d937088645e9b0cbca84b7ce74eb"),
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: STAGENET_ADDRESSES,
        difficulty: None,
    },
    Network {
        name: "regtest",
        kind: NetworkKind::Regtest,
        default_port: Some(18081),
        genesis: Some("418015bb9ae982a1975da7d79277c2705727a56894ba0fb246adaabb1f4632e3"),
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: MAIN_ADDRESSES,
        difficulty: None,
    },
];
