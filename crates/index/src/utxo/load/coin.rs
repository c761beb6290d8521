//! An unspent output of a load, and its name.
//!
//! Invariant: names depend on the secret of the store, so that nobody can make two outputs of one
//! name.

use chain::Hash32;
use siphasher::sip128::SipHasher24;

use crate::row::{of_u40, u40};
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
        let mut place = [0; 36];
        place[..32].copy_from_slice(txid.wire());
        place[32..].copy_from_slice(&vout.to_be_bytes());
        *self.0.hash(&place).as_bytes().first_chunk().expect("the hash has 16 bytes")
    }
}

/// A coin as tables and files keep it: txnum u40, vout u24, value u64, script id, marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackedCoin(pub(super) [u8; 27]);

impl PackedCoin {
    pub(super) fn txnum(&self) -> u64 {
        self.0.first_chunk().copied().map_or(0, of_u40)
    }

    /// Written where the coin stands: a copy right behind it would wait for these few bytes.
    pub(super) fn put_txnum(&mut self, txnum: u64) {
        self.0[..5].copy_from_slice(&u40(txnum));
    }

    pub(super) fn vout(&self) -> u32 {
        u32::from_be_bytes([0, self.0[5], self.0[6], self.0[7]])
    }

    pub(super) fn value(&self) -> u64 {
        let mut word = [0; 8];
        word.copy_from_slice(&self.0[8..16]);
        u64::from_be_bytes(word)
    }

    pub(super) fn script(&self) -> ScriptId {
        let mut script = [0; 10];
        script.copy_from_slice(&self.0[16..26]);
        ScriptId(script)
    }

    pub(super) fn unpack(&self) -> Coin {
        let [.., marks] = self.0;
        Coin {
            txnum: self.txnum(),
            vout: self.vout(),
            value: self.value(),
            script: self.script(),
            coinbase: marks & 1 != 0,
            token: marks & 2 != 0,
        }
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
    pub(super) fn pack(&self, PackedCoin(out): &mut PackedCoin) {
        out[..5].copy_from_slice(&u40(self.txnum));
        out[5..8].copy_from_slice(&self.vout.to_be_bytes()[1..]);
        out[8..16].copy_from_slice(&self.value.to_be_bytes());
        out[16..26].copy_from_slice(&self.script.0);
        out[26] = u8::from(self.coinbase) | u8::from(self.token) << 1;
    }
}
