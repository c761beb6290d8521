//! The class of an output script, as the chain's node names it.
//!
//! Sources: `Solver` in src/script/solver.cpp of Bitcoin Core 31 and in src/script/standard.cpp of
//! Litecoin Core 0.21, Bitcoin Cash Node 28, Bitcoin ABC 0.33 and Dogecoin Core 1.14.

use super::destination::{is_mweb, witness_parts};
use super::format::{KeyPushes, ScriptRules, WitnessNames};
use super::opcodes::{
    OP_0, OP_8, OP_CHECKMULTISIG, OP_CHECKSIG, OP_DUP, OP_EQUAL, OP_EQUALVERIFY, OP_HASH160,
    OP_HASH256, OP_RETURN, Op, Ops, is_push_only,
};

/// The longest script that can be spent (Bitcoin Core, `MAX_SCRIPT_SIZE`).
const SPENDABLE_BYTES: usize = 10_000;

/// The class of an output script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScriptClass {
    /// To the hash of a public key.
    PubkeyHash,
    /// To the hash of a script.
    ScriptHash,
    /// To a public key.
    Pubkey,
    /// To some of several public keys.
    Multisig,
    /// To nobody; carries data.
    NullData,
    /// Witness program of version 0, 20 bytes.
    WitnessV0KeyHash,
    /// Witness program of version 0, 32 bytes.
    WitnessV0ScriptHash,
    /// Witness program of version 1, 32 bytes.
    WitnessV1Taproot,
    /// Witness program of another version or length.
    WitnessUnknown,
    /// To anybody, for raising a fee.
    Anchor,
    /// Into the MimbleWimble extension.
    MwebPegin,
    /// What the MimbleWimble extension holds.
    MwebHogaddr,
    /// Anything else.
    Nonstandard,
}

impl ScriptClass {
    /// The node's spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            ScriptClass::PubkeyHash => "pubkeyhash",
            ScriptClass::ScriptHash => "scripthash",
            ScriptClass::Pubkey => "pubkey",
            ScriptClass::Multisig => "multisig",
            ScriptClass::NullData => "nulldata",
            ScriptClass::WitnessV0KeyHash => "witness_v0_keyhash",
            ScriptClass::WitnessV0ScriptHash => "witness_v0_scripthash",
            ScriptClass::WitnessV1Taproot => "witness_v1_taproot",
            ScriptClass::WitnessUnknown => "witness_unknown",
            ScriptClass::Anchor => "anchor",
            ScriptClass::MwebPegin => "witness_mweb_pegin",
            ScriptClass::MwebHogaddr => "witness_mweb_hogaddr",
            ScriptClass::Nonstandard => "nonstandard",
        }
    }

    /// The class of an output script, without a token prefix.
    pub fn of(script: &[u8], rules: &ScriptRules) -> ScriptClass {
        if is_script_hash(script, rules) {
            return ScriptClass::ScriptHash;
        }
        if rules.witness != WitnessNames::None
            && let Some((version, program)) = witness_parts(script)
        {
            return witness_class(script, version, program, rules);
        }
        match script {
            [OP_RETURN, data @ ..] if is_push_only(data) => ScriptClass::NullData,
            _ if is_pubkey(script, rules.keys) => ScriptClass::Pubkey,
            _ if is_pubkey_hash(script, rules.keys) => ScriptClass::PubkeyHash,
            _ if is_multisig(script, rules) => ScriptClass::Multisig,
            _ => ScriptClass::Nonstandard,
        }
    }
}

/// Whether an output with that script can never be spent, so that no node keeps it.
pub fn is_unspendable(script: &[u8]) -> bool {
    script.first() == Some(&OP_RETURN) || script.len() > SPENDABLE_BYTES
}

fn is_script_hash(script: &[u8], rules: &ScriptRules) -> bool {
    match script {
        [OP_HASH160, 20, hash @ .., OP_EQUAL] => hash.len() == 20,
        [OP_HASH256, 32, hash @ .., OP_EQUAL] => rules.script_hash_32 && hash.len() == 32,
        _ => false,
    }
}

fn witness_class(script: &[u8], version: u8, program: &[u8], rules: &ScriptRules) -> ScriptClass {
    match (version, program.len()) {
        (0, 20) => ScriptClass::WitnessV0KeyHash,
        (0, 32) => ScriptClass::WitnessV0ScriptHash,
        (0, _) => ScriptClass::Nonstandard,
        _ if rules.witness == WitnessNames::Version0 => ScriptClass::Nonstandard,
        (1, 32) => ScriptClass::WitnessV1Taproot,
        (1, 2) if rules.anchor && program == b"\x4e\x73" => ScriptClass::Anchor,
        _ if is_mweb(script, rules) && script[0] == OP_8 => ScriptClass::MwebHogaddr,
        _ if is_mweb(script, rules) => ScriptClass::MwebPegin,
        _ => ScriptClass::WitnessUnknown,
    }
}

fn is_pubkey_hash(script: &[u8], keys: KeyPushes) -> bool {
    match (script, keys) {
        ([OP_DUP, OP_HASH160, rest @ .., OP_EQUALVERIFY, OP_CHECKSIG], KeyPushes::AnyOf33To65) => {
            let mut ops = Ops::new(rest);
            ops.next().is_some_and(|op| op.data.len() == 20) && ops.is_done()
        }
        ([OP_DUP, OP_HASH160, 20, hash @ .., OP_EQUALVERIFY, OP_CHECKSIG], _) => hash.len() == 20,
        _ => false,
    }
}

fn is_pubkey(script: &[u8], keys: KeyPushes) -> bool {
    let [push @ .., OP_CHECKSIG] = script else { return false };
    let mut ops = Ops::new(push);
    let Some(op) = ops.next() else { return false };
    // Only the oldest rules take a key that is pushed by a longer opcode than needed.
    let direct = usize::from(op.code) == op.data.len() || keys == KeyPushes::AnyOf33To65;
    ops.is_done() && direct && is_key(op, keys)
}

fn is_key(op: Op<'_>, keys: KeyPushes) -> bool {
    match keys {
        KeyPushes::AnyOf33To65 => (33..=65).contains(&op.data.len()),
        KeyPushes::FittingFirstByte | KeyPushes::FittingFirstByteMinimal => match op.data {
            [2 | 3, rest @ ..] => rest.len() == 32,
            [4 | 6 | 7, rest @ ..] => rest.len() == 64,
            _ => false,
        },
    }
}

fn is_multisig(script: &[u8], rules: &ScriptRules) -> bool {
    let [body @ .., OP_CHECKMULTISIG] = script else { return false };
    let mut ops = Ops::new(body);
    let Some(required) = ops.next() else { return false };
    let mut count: usize = 0;
    let mut total = ops.next();
    while let Some(op) = total
        && is_key(op, rules.keys)
    {
        if rules.keys == KeyPushes::FittingFirstByteMinimal && !op.is_minimal() {
            return false;
        }
        count += 1;
        total = ops.next();
    }
    let Some(total) = total else { return false };
    if !ops.is_done() {
        return false;
    }
    if rules.keys == KeyPushes::AnyOf33To65 {
        // The oldest solver has named the script by the time it compares the numbers.
        let is_number = |op: Op<'_>| op.code == OP_0 || op.small_integer().is_some();
        return is_number(required) && is_number(total);
    }
    let (Some(required), Some(total)) = (number(required, rules), number(total, rules)) else {
        return false;
    };
    1 <= required && required <= total && usize::from(total) == count
}

/// A number of keys: OP_1 to OP_16, or where more than 16 are allowed a push of one byte.
fn number(op: Op<'_>, rules: &ScriptRules) -> Option<u8> {
    let pushed = match *op.data {
        [byte @ 17..0x80] if op.is_minimal() => Some(byte),
        _ => None,
    };
    op.small_integer().or(pushed).filter(|number| *number <= rules.multisig_keys)
}

#[cfg(test)]
mod tests;
