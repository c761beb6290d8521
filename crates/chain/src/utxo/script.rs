//! The class of an output script, as the chain's node names it.
//!
//! Sources: `Solver` in src/script/solver.cpp of Bitcoin Core 31 and in src/script/standard.cpp of
//! Litecoin Core 0.21, Bitcoin Cash Node 28, Bitcoin ABC 0.33 and Dogecoin Core 1.14; for scripts
//! of stakes `script/staked.rs` beside this file.

mod staked;

use super::Kind;
use super::destination::{is_mweb, witness_parts};
use super::format::{KeyPushes, ScriptRules, WitnessNames};
use super::opcodes::{
    OP_0, OP_8, OP_CHECKMULTISIG, OP_CHECKSIG, OP_DUP, OP_EQUAL, OP_EQUALVERIFY, OP_HASH160,
    OP_HASH256, OP_RETURN, Op, Ops, is_push_only,
};
use super::stake_tag;
use super::transaction::is_commitment;

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
    /// To an Ed25519 key.
    PubkeyEd25519,
    /// To a key of Schnorr signatures.
    PubkeySchnorr,
    /// To the hash of an Ed25519 key.
    PubkeyHashEd25519,
    /// To the hash of a key of Schnorr signatures.
    PubkeyHashSchnorr,
    /// To the hash of a key or a script, made for something by a stake transaction.
    Staked(StakeTag, TaggedHash),
    /// To nobody; says whom the vote of a ticket is to pay.
    StakeCommitment,
    /// To the treasury.
    TreasuryAdd,
    /// Anything else.
    Nonstandard,
}

/// What a stake transaction makes an output for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StakeTag {
    /// A ticket.
    Submission,
    /// What a vote gives back.
    Generation,
    /// What a revocation gives back.
    Revocation,
    /// Change of a ticket or of a gift to the treasury.
    Change,
    /// What the treasury spends.
    Treasury,
}

/// Whose hash stands behind a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaggedHash {
    /// That of a public key.
    Pubkey,
    /// That of a script.
    Script,
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
            ScriptClass::PubkeyEd25519 => "pubkey-ed25519",
            ScriptClass::PubkeySchnorr => "pubkey-schnorr-secp256k1",
            ScriptClass::PubkeyHashEd25519 => "pubkeyhash-ed25519",
            ScriptClass::PubkeyHashSchnorr => "pubkeyhash-schnorr-secp256k1",
            ScriptClass::Staked(tag, hash) => staked::name(tag, hash),
            ScriptClass::StakeCommitment => "sstxcommitment",
            ScriptClass::TreasuryAdd => "treasuryadd",
            ScriptClass::Nonstandard => "nonstandard",
        }
    }

    /// The class of an output of a transaction, which may tell more than the script alone: every
    /// other output of a ticket is a commitment.
    ///
    /// `version` is that of the script, `place` that of the output in the transaction.
    pub fn of_output(
        script: &[u8],
        version: u16,
        kind: Kind,
        place: usize,
        rules: &ScriptRules,
    ) -> ScriptClass {
        match kind {
            _ if version != 0 => ScriptClass::Nonstandard,
            Kind::Ticket if is_commitment(place) => ScriptClass::StakeCommitment,
            _ => ScriptClass::of(script, rules),
        }
    }

    /// The class of an output script, without a token prefix.
    pub fn of(script: &[u8], rules: &ScriptRules) -> ScriptClass {
        if rules.stake {
            return staked::class(script);
        }
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

impl ScriptRules {
    /// Whether an output of that value and script can never be spent, so that no node keeps it.
    pub fn never_spent(&self, value: u64, script: &[u8]) -> bool {
        match self.stake {
            false => is_unspendable(script),
            true => staked::never_spent(value, script),
        }
    }

    /// The script by which an output is counted: balances and histories are those of whoever can
    /// satisfy it, whatever a stake transaction made the output for.
    pub fn counted<'s>(&self, script: &'s [u8]) -> &'s [u8] {
        match stake_tag::split(script) {
            Some((_, counted)) if self.stake => counted,
            _ => script,
        }
    }
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
