//! Who an output pays, where that is exactly one destination.
//!
//! Writing it as an address is left to `address`. Invariant: a destination and its script
//! determine each other, so that one rule serves transactions, balances and histories.

use super::format::{ScriptRules, WitnessNames};
use super::opcodes::{
    OP_0, OP_1, OP_8, OP_9, OP_16, OP_CHECKSIG, OP_CHECKSIGALT, OP_DUP, OP_ED25519, OP_EQUAL,
    OP_EQUALVERIFY, OP_HASH160, OP_HASH256, OP_SCHNORR,
};

/// The one destination of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// Whoever has the key with this hash.
    PubkeyHash([u8; 20]),
    /// Whoever satisfies the script with this hash.
    ScriptHash([u8; 20]),
    /// The same with a longer hash.
    ScriptHash32([u8; 32]),
    /// A witness program.
    Witness(WitnessProgram),
    /// Whoever has the Ed25519 key with this hash.
    Ed25519KeyHash([u8; 20]),
    /// Whoever has the key of Schnorr signatures with this hash.
    SchnorrKeyHash([u8; 20]),
}

/// A witness program: a version, 0 to 16, and 2 to 40 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct WitnessProgram {
    version: u8,
    length: u8,
    bytes: [u8; 40],
}

impl WitnessProgram {
    /// A program of that version and those bytes, if they are in range (BIP 141: version 0 has 20
    /// or 32 bytes).
    pub fn new(version: u8, program: &[u8]) -> Option<WitnessProgram> {
        let fits = match version {
            0 => matches!(program.len(), 20 | 32),
            _ => version <= 16 && (2..=40).contains(&program.len()),
        };
        let mut bytes = [0; 40];
        bytes.get_mut(..program.len())?.copy_from_slice(program);
        fits.then_some(WitnessProgram { version, length: program.len() as u8, bytes })
    }

    /// The version, 0 to 16.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// The bytes, 2 to 40.
    pub fn program(&self) -> &[u8] {
        &self.bytes[..self.length.into()]
    }
}

impl std::fmt::Debug for WitnessProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "v{} {}", self.version, const_hex::encode(self.program()))
    }
}

impl Destination {
    /// The destination of an output script, if it has exactly one: public key and script hashes
    /// and witness programs in their usual form. Bare keys, bare multisig, data and scripts of
    /// the MimbleWimble extension have none.
    ///
    /// A tag of a stake transaction makes no difference ([`ScriptRules::counted`]).
    pub fn of_script(script: &[u8], rules: &ScriptRules) -> Option<Destination> {
        match *rules.counted(script) {
            [OP_DUP, OP_HASH160, 20, ref hash @ .., OP_EQUALVERIFY, OP_CHECKSIG] => {
                hash.try_into().ok().map(Destination::PubkeyHash)
            }
            [OP_HASH160, 20, ref hash @ .., OP_EQUAL] => {
                hash.try_into().ok().map(Destination::ScriptHash)
            }
            [OP_HASH256, 32, ref hash @ .., OP_EQUAL] if rules.script_hash_32 => {
                hash.try_into().ok().map(Destination::ScriptHash32)
            }
            [OP_DUP, OP_HASH160, 20, ref hash @ .., OP_EQUALVERIFY, kind, OP_CHECKSIGALT]
                if rules.stake =>
            {
                let hash = hash.try_into().ok()?;
                match kind {
                    OP_ED25519 => Some(Destination::Ed25519KeyHash(hash)),
                    OP_SCHNORR => Some(Destination::SchnorrKeyHash(hash)),
                    _ => None,
                }
            }
            _ if rules.witness == WitnessNames::All && !is_mweb(script, rules) => {
                let (version, program) = witness_parts(script)?;
                WitnessProgram::new(version, program).map(Destination::Witness)
            }
            _ => None,
        }
    }

    /// The output script that pays this destination.
    pub fn script(&self) -> Vec<u8> {
        match self {
            Destination::PubkeyHash(hash) => {
                [&[OP_DUP, OP_HASH160, 20], &hash[..], &[OP_EQUALVERIFY, OP_CHECKSIG]].concat()
            }
            Destination::ScriptHash(hash) => [&[OP_HASH160, 20], &hash[..], &[OP_EQUAL]].concat(),
            Destination::ScriptHash32(hash) => [&[OP_HASH256, 32], &hash[..], &[OP_EQUAL]].concat(),
            Destination::Ed25519KeyHash(hash) => alternative(hash, OP_ED25519),
            Destination::SchnorrKeyHash(hash) => alternative(hash, OP_SCHNORR),
            Destination::Witness(program) => {
                let version = match program.version {
                    0 => OP_0,
                    version => OP_1 - 1 + version,
                };
                [&[version, program.length], program.program()].concat()
            }
        }
    }
}

/// To the hash of a key of another kind of signature.
fn alternative(hash: &[u8; 20], kind: u8) -> Vec<u8> {
    [&[OP_DUP, OP_HASH160, 20], &hash[..], &[OP_EQUALVERIFY, kind, OP_CHECKSIGALT]].concat()
}

/// Version and program of a script that has the form of a witness program (BIP 141), of any
/// length a program may have.
pub(super) fn witness_parts(script: &[u8]) -> Option<(u8, &[u8])> {
    let [version, length, program @ ..] = script else { return None };
    let version = match *version {
        OP_0 => 0,
        code @ OP_1..=OP_16 => code - OP_1 + 1,
        _ => return None,
    };
    (usize::from(*length) == program.len() && (2..=40).contains(&program.len()))
        .then_some((version, program))
}

/// Whether a script belongs to the MimbleWimble extension.
pub(super) fn is_mweb(script: &[u8], rules: &ScriptRules) -> bool {
    rules.mweb && script.len() == 34 && matches!(script[..2], [OP_8 | OP_9, 32])
}
