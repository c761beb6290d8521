//! Dogecoin.
//!
//! Sources: Dogecoin Core 1.14, src/chainparams.cpp (genesis, address versions),
//! src/chainparamsbase.cpp (RPC ports).

use std::sync::LazyLock;

use crate::utxo::{Format, KeyPushes, Layout, ScriptRules, WitnessNames};
use crate::{
    AddressParams, BitcoinAddresses, Chain, Dialect, DifficultyScale, Family, MethodSet, Network,
    NetworkKind, method_file,
};

pub(super) static CHAIN: Chain = Chain {
    slug: "doge",
    name: "Dogecoin",
    symbol: "DOGE",
    decimals: 8,
    ordinal: 2,
    family: Family::Utxo(FORMAT),
    dialect: Dialect::LegacyCore,
    // nCoinbaseMaturity, src/chainparams.cpp.
    final_depth: 240,
    networks: &NETWORKS,
    methods: &METHODS,
};

const FORMAT: Format = Format {
    layout: Layout::Plain,
    witness: false,
    mweb: false,
    aux_pow: true,
    unsigned_version: false,
    tokens: false,
    scripts: ScriptRules {
        witness: WitnessNames::Version0,
        anchor: false,
        mweb: false,
        script_hash_32: false,
        keys: KeyPushes::AnyOf33To65,
        multisig_keys: 16,
        stake: false,
    },
};

static METHODS: LazyLock<MethodSet> = LazyLock::new(|| {
    method_file::parse(include_str!("../../methods/doge.txt"))
        .expect("a test reads every method file")
});

const MAIN_ADDRESSES: AddressParams = AddressParams::Bitcoin(BitcoinAddresses {
    p2pkh: 0x1e,
    p2sh: &[0x16],
    segwit: None,
    mweb: None,
    cashaddr: None,
});

const TEST_ADDRESSES: AddressParams = AddressParams::Bitcoin(BitcoinAddresses {
    p2pkh: 0x71,
    p2sh: &[0xc4],
    segwit: None,
    mweb: None,
    cashaddr: None,
});

const REGTEST_ADDRESSES: AddressParams = AddressParams::Bitcoin(BitcoinAddresses {
    p2pkh: 0x6f,
    p2sh: &[0xc4],
    segwit: None,
    mweb: None,
    cashaddr: None,
});

static NETWORKS: [Network; 3] = [
    Network {
        name: "mainnet",
        kind: NetworkKind::Main,
        default_port: Some(22555),
        genesis: Some("1a91e3dace36e2be3bf030a65679fe821aa1d6ef92e7c9902eb318182c355691"),
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: MAIN_ADDRESSES,
        difficulty: Some(DifficultyScale::BITCOIN),
    },
    Network {
        name: "testnet",
        kind: NetworkKind::Test,
        default_port: Some(44555),
        genesis: Some("bb0a78264637406b6360aad926284d544d7049f45189db5664f3c4d07350559e"),
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: TEST_ADDRESSES,
        difficulty: Some(DifficultyScale::BITCOIN),
    },
    Network {
        name: "regtest",
        kind: NetworkKind::Regtest,
        default_port: Some(18332),
        genesis: Some("3d2160a3b5dc4a9d62e7e66a295f70313ac808440ef7400d6c0772171ce973a5"),
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: REGTEST_ADDRESSES,
        difficulty: Some(DifficultyScale::BITCOIN),
    },
];
