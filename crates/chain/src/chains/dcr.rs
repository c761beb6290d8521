//! Decred.
//!
//! Sources: dcrd 2.2.0-pre, chaincfg/mainnetparams.go, testnetparams.go, simnetparams.go and
//! regnetparams.go (genesis, address versions, limits of work), params.go (RPC ports).

use std::sync::LazyLock;

use crate::utxo::{Format, KeyPushes, Layout, ScriptRules, WitnessNames};
use crate::{
    AddressParams, Chain, DecredAddresses, Dialect, DifficultyScale, Family, MethodSet, Network,
    NetworkKind, Rounding, method_file,
};

pub(super) static CHAIN: Chain = Chain {
    slug: "dcr",
    name: "Decred",
    symbol: "DCR",
    decimals: 8,
    ordinal: 6,
    family: Family::Utxo(FORMAT),
    dialect: Dialect::Dcrd,
    // CoinbaseMaturity, chaincfg/mainnetparams.go.
    final_depth: 256,
    networks: &NETWORKS,
    methods: &METHODS,
};

const FORMAT: Format = Format {
    layout: Layout::Staked,
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
        stake: true,
    },
};

static METHODS: LazyLock<MethodSet> = LazyLock::new(|| {
    method_file::parse(include_str!("../../methods/dcr.txt"))
        .expect("a test reads every method file")
});

const MAIN_ADDRESSES: AddressParams = AddressParams::Decred(DecredAddresses {
    pubkey: [0x13, 0x86],
    pubkey_hash: [0x07, 0x3f],
    pubkey_hash_ed25519: [0x07, 0x1f],
    pubkey_hash_schnorr: [0x07, 0x01],
    script_hash: [0x07, 0x1a],
});

const TEST_ADDRESSES: AddressParams = AddressParams::Decred(DecredAddresses {
    pubkey: [0x28, 0xf7],
    pubkey_hash: [0x0f, 0x21],
    pubkey_hash_ed25519: [0x0f, 0x01],
    pubkey_hash_schnorr: [0x0e, 0xe3],
    script_hash: [0x0e, 0xfc],
});

const SIMNET_ADDRESSES: AddressParams = AddressParams::Decred(DecredAddresses {
    pubkey: [0x27, 0x6f],
    pubkey_hash: [0x0e, 0x91],
    pubkey_hash_ed25519: [0x0e, 0x71],
    pubkey_hash_schnorr: [0x0e, 0x53],
    script_hash: [0x0e, 0x6c],
});

const REGNET_ADDRESSES: AddressParams = AddressParams::Decred(DecredAddresses {
    pubkey: [0x25, 0xe5],
    pubkey_hash: [0x0e, 0x00],
    pubkey_hash_ed25519: [0x0d, 0xe0],
    pubkey_hash_schnorr: [0x0d, 0xc2],
    script_hash: [0x0d, 0xdb],
});

static NETWORKS: [Network; 4] = [
    Network {
        name: "mainnet",
        kind: NetworkKind::Main,
        default_port: Some(9109),
        genesis: Some("298e5cc3d985bfe7f81dc135f360abe089edd4396b86d2de66b0cef42b21d980"),
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: MAIN_ADDRESSES,
        difficulty: Some(DifficultyScale { unit: 0x1d00_ffff, rounding: Rounding::Places(8) }),
    },
    Network {
        name: "testnet",
        kind: NetworkKind::Test,
        default_port: Some(19109),
        genesis: Some("a649dce53918caf422e9c711c858837e08d626ecfcd198969b24f7b634a49bac"),
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: TEST_ADDRESSES,
        difficulty: Some(DifficultyScale { unit: 0x1e00_ffff, rounding: Rounding::Places(8) }),
    },
    Network {
        name: "simnet",
        kind: NetworkKind::Regtest,
        default_port: Some(19556),
        genesis: Some("6bef82c645999585f7255cb02672921ac2f5492820090cd635fe3a59d16b4f87"),
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: SIMNET_ADDRESSES,
        difficulty: Some(DifficultyScale { unit: 0x207f_ffff, rounding: Rounding::Places(8) }),
    },
    Network {
        name: "regnet",
        kind: NetworkKind::Regtest,
        default_port: Some(18656),
        genesis: Some("2ced94b4ae95bba344cfa043268732d230649c640f92dce2d9518823d3057cb0"),
        fork_block: None,
        user_agent: None,
        chain_id: None,
        addresses: REGNET_ADDRESSES,
        difficulty: Some(DifficultyScale { unit: 0x207f_ffff, rounding: Rounding::Places(8) }),
    },
];
