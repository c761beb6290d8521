//! Litecoin.
//!
//! Sources: Litecoin Core 0.21.5.5, src/chainparams.cpp (genesis; SCRIPT_ADDRESS2 is what it
//! prints), src/chainparamsbase.cpp (RPC ports).

use std::sync::LazyLock;

use crate::utxo::{Format, KeyPushes, Layout, ScriptRules, WitnessNames};
use crate::{
    AddressParams, BitcoinAddresses, Chain, Dialect, DifficultyScale, Family, MethodSet, Network,
    NetworkKind, method_file,
};

pub(super) static CHAIN: Chain = Chain {
    slug: "ltc",
    name: "Litecoin",
    symbol: "LTC",
    decimals: 8,
    ordinal: 1,
    family: Family::Utxo(FORMAT),
    dialect: Dialect::LegacyCore,
    // COINBASE_MATURITY, src/consensus/consensus.h.
    final_depth: 100,
    networks: &NETWORKS,
    methods: &METHODS,
};

const FORMAT: Format = Format {
    layout: Layout::Plain,
    witness: true,
    mweb: true,
    aux_pow: false,
    unsigned_version: true,
    tokens: false,
    scripts: ScriptRules {
        witness: WitnessNames::All,
        anchor: false,
        mweb: true,
        script_hash_32: false,
        keys: KeyPushes::FittingFirstByte,
        multisig_keys: 16,
        stake: false,
    },
};

static METHODS: LazyLock<MethodSet> = LazyLock::new(|| {
    method_file::parse(include_str!("../../methods/ltc.txt"))
        .expect("a test reads every method file")
});

const MAIN_ADDRESSES: AddressParams = AddressParams::Bitcoin(BitcoinAddresses {
    p2pkh: 0x30,
    p2sh: &[0x32, 0x05],
    segwit: Some("ltc"),
    mweb: Some("ltcmweb"),
    cashaddr: None,
});

const TEST_ADDRESSES: AddressParams = AddressParams::Bitcoin(BitcoinAddresses {
    p2pkh: 0x6f,
    p2sh: &[0x3a, 0xc4],
    segwit: Some("tltc"),
    mweb: Some("tmweb"),
    cashaddr: None,
});

const REGTEST_ADDRESSES: AddressParams = AddressParams::Bitcoin(BitcoinAddresses {
    p2pkh: 0x6f,
    p2sh: &[0x3a, 0xc4],
    segwit: Some("rltc"),
    mweb: Some("tmweb"),
    cashaddr: None,
});

static NETWORKS: [Network; 3] = [
    Network {
        name: "mainnet",
        kind: NetworkKind::Main,
        default_port: Some(9332),
        genesis: Some("12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2"),
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: MAIN_ADDRESSES,
        difficulty: Some(DifficultyScale::BITCOIN),
    },
    Network {
        name: "testnet",
        kind: NetworkKind::Test,
        default_port: Some(19332),
        genesis: Some("4966625a4b2851d9fdee139e56211a0d88575f59ed816ff5e6a63deb4e3e29a0"),
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: TEST_ADDRESSES,
        difficulty: Some(DifficultyScale::BITCOIN),
    },
    Network {
        name: "regtest",
        kind: NetworkKind::Regtest,
        default_port: Some(19443),
        genesis: Some("530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9"),
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: REGTEST_ADDRESSES,
        difficulty: Some(DifficultyScale::BITCOIN),
    },
];
