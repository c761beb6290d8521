//! Bitcoin.
//!
//! Sources: Bitcoin Core 31.99, src/kernel/chainparams.cpp (genesis, address versions),
//! src/chainparamsbase.cpp (RPC ports).

use std::sync::LazyLock;

use crate::utxo::{Format, KeyPushes, Layout, ScriptRules, WitnessNames};
use crate::{
    AddressParams, BitcoinAddresses, Chain, Dialect, DifficultyScale, Family, ForkBlock, MethodSet,
    Network, NetworkKind, method_file,
};

pub(super) static CHAIN: Chain = Chain {
    slug: "btc",
    name: "Bitcoin",
    symbol: "BTC",
    decimals: 8,
    ordinal: 0,
    family: Family::Utxo(FORMAT),
    dialect: Dialect::Core,
    // COINBASE_MATURITY, src/consensus/consensus.h.
    final_depth: 100,
    networks: &NETWORKS,
    methods: &METHODS,
};

const FORMAT: Format = Format {
    layout: Layout::Plain,
    witness: true,
    mweb: false,
    aux_pow: false,
    unsigned_version: true,
    tokens: false,
    scripts: ScriptRules {
        witness: WitnessNames::All,
        anchor: true,
        mweb: false,
        script_hash_32: false,
        keys: KeyPushes::FittingFirstByte,
        multisig_keys: 20,
        stake: false,
    },
};

static METHODS: LazyLock<MethodSet> = LazyLock::new(|| {
    method_file::parse(include_str!("../../methods/btc.txt"))
        .expect("a test reads every method file")
});

const MAIN_ADDRESSES: AddressParams = AddressParams::Bitcoin(BitcoinAddresses {
    p2pkh: 0x00,
    p2sh: &[0x05],
    segwit: Some("bc"),
    mweb: None,
    cashaddr: None,
});

const TEST_ADDRESSES: AddressParams = AddressParams::Bitcoin(BitcoinAddresses {
    p2pkh: 0x6f,
    p2sh: &[0xc4],
    segwit: Some("tb"),
    mweb: None,
    cashaddr: None,
});

const REGTEST_ADDRESSES: AddressParams = AddressParams::Bitcoin(BitcoinAddresses {
    p2pkh: 0x6f,
    p2sh: &[0xc4],
    segwit: Some("bcrt"),
    mweb: None,
    cashaddr: None,
});

static NETWORKS: [Network; 5] = [
    Network {
        name: "mainnet",
        kind: NetworkKind::Main,
        default_port: Some(8332),
        genesis: Some("000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f"),
        fork_block: Some(ForkBlock {
            height: 478_559,
            hash: "00000000000000000019f112ec0a9982926f1258cdcc558dd7c3b7e5dc7fa148",
        }),
        user_agent: None,
        chain_id: None,
        addresses: MAIN_ADDRESSES,
        difficulty: Some(DifficultyScale::BITCOIN),
    },
    Network {
        name: "testnet",
        kind: NetworkKind::Test,
        default_port: Some(18332),
        genesis: Some("000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943"),
        fork_block: None,
        user_agent: Some(&["Satoshi"]),
        chain_id: None,
        addresses: TEST_ADDRESSES,
        difficulty: Some(DifficultyScale::BITCOIN),
    },
    Network {
        name: "testnet4",
        kind: NetworkKind::Test,
        default_port: Some(48332),
        genesis: Some("00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043"),
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: TEST_ADDRESSES,
        difficulty: Some(DifficultyScale::BITCOIN),
    },
    Network {
        name: "signet",
        kind: NetworkKind::Test,
        default_port: Some(38332),
        genesis: Some("00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6"),
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: TEST_ADDRESSES,
        difficulty: Some(DifficultyScale::BITCOIN),
    },
    Network {
        name: "regtest",
        kind: NetworkKind::Regtest,
        default_port: Some(18443),
        genesis: Some("0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206"),
        fork_block: None,
        user_agent: Some(&["Satoshi"]),
        chain_id: None,
        addresses: REGTEST_ADDRESSES,
        difficulty: Some(DifficultyScale::BITCOIN),
    },
];
