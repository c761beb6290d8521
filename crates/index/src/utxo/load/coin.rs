//! An unspent output of a load, and its name.
//!
//! Invariant: names depend on the secret of the store, so that nobody can make two outputs of one
//! name.

use std::hash::Hasher;

use chain::Hash32;
use siphasher::sip128::{Hasher128, SipHasher24};

use crate::utxo::script_id::{HashKey, ScriptId};

/// The first 12 bytes of the keyed hash of an output's place.
pub(super) type CoinName = [u8; 12];

/// Bytes of a coin in a file: name, txnum u40, vout u24, value u64, script id, marks.
pub(super) const COIN_BYTES: usize = 12 + 27;
/// Gives outputs their names.
pub(super) struct Namer(SipHasher24);

impl Namer {
    pub(super) fn new(key: &HashKey) -> Namer {
        Namer(SipHasher24::new_with_key(key.bytes()))
    }

    pub(super) fn name(&self, txid: &Hash32, vout: u32) -> CoinName {
        let mut hasher = self.0;
        hasher.write(txid.wire());
        hasher.write(&vout.to_be_bytes());
        *hasher.finish128().as_bytes().first_chunk().expect("the hash has 16 bytes")
    }
}

/// An unspent output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Coin {
    pub(super) txnum: u64,
    pub(super) vout: u32,
    pub(super) value: u64,
    pub(super) script: ScriptId,
    pub(super) coinbase: bool,
    pub(super) token: bool,
}

impl Coin {
    pub(super) fn bytes(&self) -> [u8; 27] {
        let mut out = [0; 27];
        out[..5].copy_from_slice(&self.txnum.to_be_bytes()[3..]);
        out[5..8].copy_from_slice(&self.vout.to_be_bytes()[1..]);
        out[8..16].copy_from_slice(&self.value.to_be_bytes());
        out[16..26].copy_from_slice(&self.script.0);
        out[26] = u8::from(self.coinbase) | u8::from(self.token) << 1;
        out
    }

    pub(super) fn read(bytes: &[u8; 27]) -> Coin {
        let mut word = [0; 8];
        word[3..].copy_from_slice(&bytes[..5]);
        let txnum = u64::from_be_bytes(word);
        let vout = u32::from_be_bytes([0, bytes[5], bytes[6], bytes[7]]);
        word.copy_from_slice(&bytes[8..16]);
        let mut script = [0; 10];
        script.copy_from_slice(&bytes[16..26]);
        Coin {
            txnum,
            vout,
            value: u64::from_be_bytes(word),
            script: ScriptId(script),
            coinbase: bytes[26] & 1 != 0,
            token: bytes[26] & 2 != 0,
        }
    }
}
