//! eCash.
//!
//! Sources: Bitcoin ABC 0.33.10, src/kernel/chainparams.cpp (genesis, address versions, CashAddr
//! prefixes), src/chainparamsbase.cpp (RPC ports), src/consensus/amount.cpp (one coin is 100 units).
//!
//! The fork block is the first one after the split from Bitcoin Cash Node in November 2020.

use std::sync::LazyLock;

use crate::utxo::{Format, KeyPushes, Layout, ScriptRules, WitnessNames};
use crate::{
    AddressParams, BitcoinAddresses, CashAddr, Chain, Dialect, DifficultyScale, Family, ForkBlock,
    MethodSet, Network, NetworkKind, method_file,
};

pub(super) static CHAIN: Chain = Chain {
    slug: "xec",
    name: "eCash",
    symbol: "XEC",
    decimals: 2,
    ordinal: 4,
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
    unsigned_version: true,
    tokens: false,
    scripts: ScriptRules {
        witness: WitnessNames::None,
        anchor: false,
        mweb: false,
        script_hash_32: false,
        keys: KeyPushes::FittingFirstByteMinimal,
        multisig_keys: 16,
        stake: false,
    },
};

static METHODS: LazyLock<MethodSet> = LazyLock::new(|| {
    method_file::parse(include_str!("../../methods/xec.txt"))
        .expect("a test reads every method file")
});

const MAIN_ADDRESSES: AddressParams = AddressParams::Bitcoin(BitcoinAddresses {
    p2pkh: 0x00,
    p2sh: &[0x05],
    segwit: None,
    mweb: None,
    cashaddr: Some(CashAddr { prefix: "ecash", token_prefix: Some("etoken"), tokens: false }),
});

const TEST_ADDRESSES: AddressParams = AddressParams::Bitcoin(BitcoinAddresses {
    p2pkh: 0x6f,
    p2sh: &[0xc4],
    segwit: None,
    mweb: None,
    cashaddr: Some(CashAddr { prefix: "ectest", token_prefix: Some("etoken"), tokens: false }),
});

const REGTEST_ADDRESSES: AddressParams = AddressParams::Bitcoin(BitcoinAddresses {
    p2pkh: 0x6f,
    p2sh: &[0xc4],
    segwit: None,
    mweb: None,
    cashaddr: Some(CashAddr { prefix: "ecregtest", token_prefix: Some("etoken"), tokens: false }),
});

static NETWORKS: [Network; 3] = [
    Network {
        name: "mainnet",
        kind: NetworkKind::Main,
        default_port: Some(8332),
        genesis: Some("000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f"),
        fork_block: Some(ForkBlock {
            height: 661_648,
            hash: "000000000000000004284c9d8b2c8ff731efeaec6be50729bdc9bd07f910757d",
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
        user_agent: Some(&["Bitcoin ABC"]),
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
        user_agent: Some(&["Bitcoin ABC"]),
        chain_id: None,
        addresses: REGTEST_ADDRESSES,
        difficulty: Some(DifficultyScale::BITCOIN),
    },
];
