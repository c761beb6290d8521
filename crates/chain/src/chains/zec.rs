//! Zcash.
//!
//! Sources: zebra 6.3.0, zebra-chain/src/parameters (genesis); zcashd 6.20, src/chainparams.cpp
//! (address versions, limits of work), src/chainparamsbase.cpp (RPC ports: zebrad listens only where it is told to,
//! and its documentation suggests the same numbers).

use std::sync::LazyLock;

use crate::utxo::{Format, KeyPushes, Layout, ScriptRules, WitnessNames};
use crate::{
    AddressParams, Chain, Dialect, DifficultyScale, Family, MethodSet, Network, NetworkKind,
    Rounding, ZcashAddresses, method_file,
};

pub(super) static CHAIN: Chain = Chain {
    slug: "zec",
    name: "Zcash",
    symbol: "ZEC",
    decimals: 8,
    ordinal: 5,
    family: Family::Utxo(FORMAT),
    dialect: Dialect::Zebrad,
    // MAX_BLOCK_REORG_HEIGHT, zebra-state/src/constants.rs.
    final_depth: 1000,
    networks: &NETWORKS,
    methods: &METHODS,
};

const FORMAT: Format = Format {
    layout: Layout::Shielded,
    witness: false,
    mweb: false,
    aux_pow: false,
    unsigned_version: false,
    tokens: false,
    scripts: ScriptRules {
        witness: WitnessNames::None,
        anchor: false,
        mweb: false,
        script_hash_32: false,
        keys: KeyPushes::FittingFirstByte,
        multisig_keys: 16,
        stake: false,
    },
};

static METHODS: LazyLock<MethodSet> = LazyLock::new(|| {
    method_file::parse(include_str!("../../methods/zec.txt"))
        .expect("a test reads every method file")
});

const MAIN_ADDRESSES: AddressParams = AddressParams::Zcash(ZcashAddresses {
    p2pkh: [0x1c, 0xb8],
    p2sh: [0x1c, 0xbd],
    tex: "tex",
    sapling: "zs",
    unified: "u",
    sprout: [0x16, 0x9a],
});

const TEST_ADDRESSES: AddressParams = AddressParams::Zcash(ZcashAddresses {
    p2pkh: [0x1d, 0x25],
    p2sh: [0x1c, 0xba],
    tex: "textest",
    sapling: "ztestsapling",
    unified: "utest",
    sprout: [0x16, 0xb6],
});

const REGTEST_ADDRESSES: AddressParams = AddressParams::Zcash(ZcashAddresses {
    p2pkh: [0x1d, 0x25],
    p2sh: [0x1c, 0xba],
    tex: "texregtest",
    sapling: "zregtestsapling",
    unified: "uregtest",
    sprout: [0x16, 0xb6],
});

static NETWORKS: [Network; 3] = [
    Network {
        name: "mainnet",
        kind: NetworkKind::Main,
        default_port: Some(8232),
        genesis: Some("00040fe8ec8471911baa1db1266ea15dd06b4a8a5c453883c000b031973dce08"),
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: MAIN_ADDRESSES,
        difficulty: Some(DifficultyScale { unit: 0x1f07_ffff, rounding: Rounding::None }),
    },
    Network {
        name: "testnet",
        kind: NetworkKind::Test,
        default_port: Some(18232),
        genesis: Some("05a60a92d99d85997cce3b87616c089f6124d7342af37106edc76126334a2c38"),
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: TEST_ADDRESSES,
        difficulty: Some(DifficultyScale { unit: 0x2007_ffff, rounding: Rounding::None }),
    },
    Network {
        name: "regtest",
        kind: NetworkKind::Regtest,
        default_port: Some(18232),
        genesis: Some("029f11d80ef9765602235e1bc9727e3eb6ba20839319f761fee920d63401e327"),
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: REGTEST_ADDRESSES,
        difficulty: Some(DifficultyScale { unit: 0x200f_0f0f, rounding: Rounding::None }),
    },
];
