//! The opcode in front of a script that says what a stake transaction makes the output for.
//!
//! Source: dcrd, txscript/opcode.go and txscript/stdscript/scriptv0.go. Invariant: behind a tag
//! stands a script that pays the hash of a key or of a script, else it is none.

use super::opcodes::{
    OP_CHECKSIG, OP_DUP, OP_EQUAL, OP_EQUALVERIFY, OP_HASH160, OP_SSGEN, OP_SSRTX, OP_SSTX,
    OP_SSTXCHANGE, OP_TGEN,
};

/// Parts a script into its tag and the script behind it; `None` where it has no tag.
pub(super) fn split(script: &[u8]) -> Option<(u8, &[u8])> {
    let [tag @ (OP_SSTX | OP_SSGEN | OP_SSRTX | OP_SSTXCHANGE | OP_TGEN), rest @ ..] = script
    else {
        return None;
    };
    let pays_hash = match rest {
        [OP_DUP, OP_HASH160, 20, hash @ .., OP_EQUALVERIFY, OP_CHECKSIG] => hash.len() == 20,
        [OP_HASH160, 20, hash @ .., OP_EQUAL] => hash.len() == 20,
        _ => false,
    };
    pays_hash.then_some((*tag, rest))
}
