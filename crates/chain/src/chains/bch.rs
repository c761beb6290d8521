//! Bitcoin Cash.
//!
//! Sources: Bitcoin Cash Node 28.0.1, src/chainparams.cpp (genesis, address versions, CashAddr
//! prefixes, checkpoints 661648 and 115252), src/chainparamsbase.cpp (RPC ports).
//!
//! The fork block is the first one after the split from Bitcoin ABC in November 2020: Bitcoin has
//! another block at that height too, so that it tells this chain from both. testnet4 and chipnet have
//! one genesis and part at height 115252.

use std::sync::LazyLock;

use crate::utxo::{Format, KeyPushes, Layout, ScriptRules, WitnessNames};
use crate::{
    AddressParams, BitcoinAddresses, CashAddr, Chain, Dialect, DifficultyScale, Family, ForkBlock,
    MethodSet, Network, NetworkKind, method_file,
};

pub(super) static CHAIN: Chain = Chain {
    slug: "bch",
    name: "Bitcoin Cash",
    symbol: "BCH",
    decimals: 8,
    ordinal: 3,
    family: Family::Utxo(FORMAT),
    dialect: Dialect::LegacyCore,
    // COINBASE_MATURITY, src/consensus/consensus.h; the node itself finalizes 10 deep.
    final_depth: 100,
    networks: &NETWORKS,
    methods: &METHODS,
};

const FORMAT: Format = Format {
    layout: Layout::Plain,
    witness: false,
    mweb: false,
    aux_pow: false,
    unsigned_version: false,
    tokens: true,
    scripts: ScriptRules {
        witness: WitnessNames::None,
        anchor: false,
        mweb: false,
        script_hash_32: true,
        keys: KeyPushes::FittingFirstByteMinimal,
        multisig_keys: 16,
        stake: false,
    },
};

static METHODS: LazyLock<MethodSet> = LazyLock::new(|| {
    method_file::parse(include_str!("../../methods/bch.txt"))
        .expect("a test reads every method file")
});

const MAIN_ADDRESSES: AddressParams = AddressParams::Bitcoin(BitcoinAddresses {
    p2pkh: 0x00,
    p2sh: &[0x05],
    segwit: None,
    mweb: None,
    cashaddr: Some(CashAddr { prefix: "bitcoincash", token_prefix: None, tokens: true }),
});

const TEST_ADDRESSES: AddressParams = AddressParams::Bitcoin(BitcoinAddresses {
    p2pkh: 0x6f,
    p2sh: &[0xc4],
    segwit: None,
    mweb: None,
    cashaddr: Some(CashAddr { prefix: "bchtest", token_prefix: None, tokens: true }),
});

const REGTEST_ADDRESSES: AddressParams = AddressParams::Bitcoin(BitcoinAddresses {
    p2pkh: 0x6f,
    p2sh: &[0xc4],
    segwit: None,
    mweb: None,
    cashaddr: Some(CashAddr { prefix: "bchreg", token_prefix: None, tokens: true }),
});

static NETWORKS: [Network; 6] = [
    Network {
        name: "mainnet",
        kind: NetworkKind::Main,
        default_port: Some(8332),
        genesis: Some("000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f"),
        fork_block: Some(ForkBlock {
            height: 661_648,
            hash: "0000000000000000029e471c41818d24b8b74c911071c4ef0b4a0509f9b5a8ce",
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
        user_agent: Some(&["Bitcoin Cash Node"]),
        chain_id: None,
        addresses: TEST_ADDRESSES,
        difficulty: Some(DifficultyScale::BITCOIN),
    },
    Network {
        name: "testnet4",
        kind: NetworkKind::Test,
        default_port: Some(28332),
        genesis: Some("000000001dd410c49a788668ce26751718cc797474d3152a5fc073dd44fd9f7b"),
        fork_block: Some(ForkBlock {
            height: 115_252,
            hash: "00000000ae25e85d9e22cd6c8d72c2f5d4b0222289d801b7f633aeae3f8c6367",
        }),
        user_agent: None,
        chain_id: None,
        addresses: TEST_ADDRESSES,
        difficulty: Some(DifficultyScale::BITCOIN),
    },
    Network {
        name: "scalenet",
        kind: NetworkKind::Test,
        default_port: Some(38332),
        genesis: Some("00000000e6453dc2dfe1ffa19023f86002eb11dbb8e87d0291a4599f0430be52"),
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: TEST_ADDRESSES,
        difficulty: Some(DifficultyScale::BITCOIN),
    },
    Network {
        name: "chipnet",
        kind: NetworkKind::Test,
        default_port: Some(48332),
        genesis: Some("000000001dd410c49a788668ce26751718cc797474d3152a5fc073dd44fd9f7b"),
        fork_block: Some(ForkBlock {
            height: 115_252,
            hash: "00000000040ba9641ba98a37b2e5ceead38e4e2930ac8f145c8094f94c708727",
        }),
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
        user_agent: Some(&["Bitcoin Cash Node"]),
        chain_id: None,
        addresses: REGTEST_ADDRESSES,
        difficulty: Some(DifficultyScale::BITCOIN),
    },
];
