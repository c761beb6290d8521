//! Names of scripts where stakes vote.
//!
//! Sources: dcrd, txscript/stdscript/scriptv0.go, script.go; txscript/engine.go and script.go
//! (`IsUnspendable`). Invariant: at most one of the forms fits a script.

use super::{ScriptClass, StakeTag, TaggedHash};
use crate::utxo::opcodes::{
    OP_0, OP_16, OP_CHECKMULTISIG, OP_CHECKSIG, OP_CHECKSIGALT, OP_DUP, OP_ED25519, OP_EQUAL,
    OP_EQUALVERIFY, OP_HASH160, OP_PUSHDATA1, OP_PUSHDATA2, OP_PUSHDATA4, OP_RETURN, OP_SCHNORR,
    OP_SSGEN, OP_SSRTX, OP_SSTX, OP_SSTXCHANGE, OP_TADD, Op, Ops,
};
use crate::utxo::stake_tag;

/// The most data that still has a name.
const NULL_DATA_BYTES: usize = 256;
/// The longest script that can be spent.
const SPENDABLE_BYTES: usize = 16_384;

pub(super) fn name(tag: StakeTag, hash: TaggedHash) -> &'static str {
    match (tag, hash) {
        (StakeTag::Submission, TaggedHash::Pubkey) => "stakesubmission-pubkeyhash",
        (StakeTag::Submission, TaggedHash::Script) => "stakesubmission-scripthash",
        (StakeTag::Generation, TaggedHash::Pubkey) => "stakegen-pubkeyhash",
        (StakeTag::Generation, TaggedHash::Script) => "stakegen-scripthash",
        (StakeTag::Revocation, TaggedHash::Pubkey) => "stakerevoke-pubkeyhash",
        (StakeTag::Revocation, TaggedHash::Script) => "stakerevoke-scripthash",
        (StakeTag::Change, TaggedHash::Pubkey) => "stakechange-pubkeyhash",
        (StakeTag::Change, TaggedHash::Script) => "stakechange-scripthash",
        (StakeTag::Treasury, TaggedHash::Pubkey) => "treasurygen-pubkeyhash",
        (StakeTag::Treasury, TaggedHash::Script) => "treasurygen-scripthash",
    }
}

/// The class of a script of version 0.
pub(super) fn class(script: &[u8]) -> ScriptClass {
    if let Some((tag, rest)) = stake_tag::split(script) {
        let tag = match tag {
            OP_SSTX => StakeTag::Submission,
            OP_SSGEN => StakeTag::Generation,
            OP_SSRTX => StakeTag::Revocation,
            OP_SSTXCHANGE => StakeTag::Change,
            _ => StakeTag::Treasury,
        };
        let is_script = rest.first() == Some(&OP_HASH160);
        let hash = if is_script { TaggedHash::Script } else { TaggedHash::Pubkey };
        return ScriptClass::Staked(tag, hash);
    }
    match *script {
        [OP_DUP, OP_HASH160, 20, ref end @ ..] if end.len() >= 22 => pubkey_hash(&end[20..]),
        [OP_HASH160, 20, ref hash @ .., OP_EQUAL] if hash.len() == 20 => ScriptClass::ScriptHash,
        [33, ref key @ .., OP_CHECKSIG] if is_key(key) => ScriptClass::Pubkey,
        [65, 4, ref key @ .., OP_CHECKSIG] if key.len() == 64 => ScriptClass::Pubkey,
        [32, ref key @ .., OP_ED25519, OP_CHECKSIGALT] if key.len() == 32 => {
            ScriptClass::PubkeyEd25519
        }
        [33, ref key @ .., OP_SCHNORR, OP_CHECKSIGALT] if is_key(key) => ScriptClass::PubkeySchnorr,
        [OP_TADD] => ScriptClass::TreasuryAdd,
        [OP_RETURN, ref data @ ..] if is_null_data(data) => ScriptClass::NullData,
        [ref body @ .., OP_CHECKMULTISIG] if is_multisig(body) => ScriptClass::Multisig,
        _ => ScriptClass::Nonstandard,
    }
}

/// By what stands behind the hash of a key.
fn pubkey_hash(end: &[u8]) -> ScriptClass {
    match *end {
        [OP_EQUALVERIFY, OP_CHECKSIG] => ScriptClass::PubkeyHash,
        [OP_EQUALVERIFY, OP_ED25519, OP_CHECKSIGALT] => ScriptClass::PubkeyHashEd25519,
        [OP_EQUALVERIFY, OP_SCHNORR, OP_CHECKSIGALT] => ScriptClass::PubkeyHashSchnorr,
        _ => ScriptClass::Nonstandard,
    }
}

fn is_key(bytes: &[u8]) -> bool {
    matches!(bytes, [2 | 3, rest @ ..] if rest.len() == 32)
}

/// Nothing, or one push that is not longer than it must be.
fn is_null_data(data: &[u8]) -> bool {
    let mut ops = Ops::new(data);
    let Some(op) = ops.next() else { return data.is_empty() };
    ops.is_done() && op.data.len() <= NULL_DATA_BYTES && is_canonical(op)
}

/// The node's own rule, which knows no opcode for the number -1.
fn is_canonical(op: Op<'_>) -> bool {
    match (op.code, op.data) {
        (OP_PUSHDATA1, data) => data.len() >= usize::from(OP_PUSHDATA1),
        (OP_PUSHDATA2, data) => data.len() > 0xff,
        (OP_PUSHDATA4, data) => data.len() > 0xffff,
        (code, [number]) if code != OP_0 => *number > 16,
        (code, _) => code <= OP_16,
    }
}

fn is_multisig(body: &[u8]) -> bool {
    let mut ops = Ops::new(body);
    let Some(required) = ops.next().and_then(Op::small_integer) else { return false };
    let mut keys = 0;
    let mut total = ops.next();
    while let Some(op) = total
        && is_key(op.data)
    {
        keys += 1;
        total = ops.next();
    }
    let total = total.and_then(Op::small_integer).map(u32::from);
    ops.is_done() && total == Some(keys) && u32::from(required) <= keys
}

/// Whether an output can never be spent; what goes to the treasury is no output any more.
pub(super) fn never_spent(value: u64, script: &[u8]) -> bool {
    value == 0
        || script.len() > SPENDABLE_BYTES
        || script.first() == Some(&OP_RETURN)
        || script == [OP_TADD]
}
