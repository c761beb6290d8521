//! The tables and their keys, once.
//!
//! Values stand in the files of their nouns: `block_row`, `record`, `totals`, `history`. All key
//! integers are big-endian; `txnum` is the place of a confirmed transaction in the chain, counted
//! from 0, in 40 bits. `docs/schema.md` says the same in words.

use chain::Hash32;

use super::script_id::ScriptId;
use crate::db::{Table, TableSpec};
use crate::identity;
use crate::row::{of_u40, u40};

/// Version of the layouts of this index; a store of another one is refused.
pub(crate) const FORMAT: u16 = 2;

/// Every table, in the order of the constants below.
pub(crate) static TABLES: [TableSpec; 10] = [
    TableSpec { name: "meta", prefix: 0, by_key: false, queue: false, dense: false },
    TableSpec { name: "header_by_height", prefix: 0, by_key: false, queue: false, dense: false },
    TableSpec { name: "height_by_hash", prefix: 0, by_key: true, queue: false, dense: false },
    TableSpec { name: "txnum_by_txid", prefix: 6, by_key: false, queue: false, dense: false },
    TableSpec { name: "tx_by_num", prefix: 0, by_key: false, queue: false, dense: true },
    TableSpec { name: "totals_by_script", prefix: 0, by_key: true, queue: false, dense: false },
    TableSpec { name: "history_by_script", prefix: 0, by_key: false, queue: false, dense: false },
    TableSpec { name: "unspent_by_script", prefix: 10, by_key: false, queue: true, dense: false },
    TableSpec { name: "voided_by_height", prefix: 4, by_key: false, queue: false, dense: true },
    TableSpec { name: "voided_by_txid", prefix: 6, by_key: false, queue: false, dense: false },
];

/// Name → tip, identity, key of the script ids.
pub(crate) const META: Table = identity::META;
/// `height u32` → [`super::BlockRow`].
pub(crate) const HEADER_BY_HEIGHT: Table = Table(1);
/// First 8 bytes of the block hash in wire order → `height u32`.
pub(crate) const HEIGHT_BY_HASH: Table = Table(2);
/// First 6 bytes of the txid in wire order ‖ `txnum u40` → nothing. A list: several transactions
/// may share the 6 bytes, and twins share the txid.
pub(crate) const TXNUM_BY_TXID: Table = Table(3);
/// `txnum u40` → [`super::TransactionRecord`].
pub(crate) const TX_BY_NUM: Table = Table(4);
/// `script_id [10]` → [`super::totals::Totals`].
pub(crate) const TOTALS_BY_SCRIPT: Table = Table(5);
/// `script_id [10]` ‖ `chunk u32` → up to 1,000 txnums ([`super::history`]).
pub(crate) const HISTORY_BY_SCRIPT: Table = Table(6);
/// `script_id [10]` ‖ `!value u64` ‖ `txnum u40` ‖ `vout u24` → `txid [32]` ‖ marks.
pub(crate) const UNSPENT_BY_SCRIPT: Table = Table(7);

/// `height u32` ‖ `position u32` in the block's regular tree → [`super::TransactionRecord`] as it
/// stood at its former place ([`super::voided`]).
pub(crate) const VOIDED_BY_HEIGHT: Table = Table(8);
/// First 6 bytes of the txid in wire order ‖ `height u32` ‖ `position u32` → nothing.
pub(crate) const VOIDED_BY_TXID: Table = Table(9);

/// Key of the secret of the script ids in `meta`.
pub(crate) const META_HASH_KEY: &[u8] = b"hash_key";

/// Key of `height_by_hash`.
pub(crate) fn hash_key(hash: &Hash32) -> [u8; 8] {
    first(hash)
}

/// The part of a txid that `txnum_by_txid` begins with.
pub(crate) fn txid_prefix(txid: &Hash32) -> [u8; 6] {
    first(txid)
}

fn first<const N: usize>(hash: &Hash32) -> [u8; N] {
    *hash.wire().first_chunk().expect("a hash has 32 bytes")
}

/// Key of `txnum_by_txid`.
pub(crate) fn txid_key(txid: &Hash32, txnum: u64) -> [u8; 11] {
    join(&[&txid_prefix(txid), &u40(txnum)])
}

/// The txnum at the end of such a key.
pub(crate) fn txnum_of_txid_key(key: &[u8]) -> Option<u64> {
    key.last_chunk().copied().map(of_u40)
}

/// Key of `history_by_script`.
pub(crate) fn chunk_key(script: ScriptId, chunk: u32) -> [u8; 14] {
    join(&[&script.0, &chunk.to_be_bytes()])
}

/// Key of `voided_by_height`.
pub(crate) fn voided_key(height: u32, position: u32) -> [u8; 8] {
    join(&[&height.to_be_bytes(), &position.to_be_bytes()])
}

/// Height and position of such a key.
pub(crate) fn place_of_voided_key(key: &[u8]) -> Option<(u32, u32)> {
    let place = <[u8; 8]>::try_from(key).map(u64::from_be_bytes).ok()?;
    Some(((place >> 32) as u32, place as u32))
}

/// Key of `voided_by_txid`.
pub(crate) fn voided_txid_key(txid: &Hash32, height: u32, position: u32) -> [u8; 14] {
    join(&[&txid_prefix(txid), &voided_key(height, position)])
}

/// Height and position of such a key.
pub(crate) fn place_of_voided_txid_key(key: &[u8]) -> Option<(u32, u32)> {
    place_of_voided_key(key.get(6..)?)
}

/// An unspent output, as the key of its row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct UnspentKey {
    pub(crate) script: ScriptId,
    pub(crate) value: u64,
    pub(crate) txnum: u64,
    pub(crate) vout: u32,
}

impl UnspentKey {
    /// The key's bytes: of one script the largest value comes first.
    pub(crate) fn bytes(&self) -> [u8; 26] {
        let [_, vout @ ..] = self.vout.to_be_bytes();
        join(&[&self.script.0, &(!self.value).to_be_bytes(), &u40(self.txnum), &vout])
    }

    /// Reads the key's bytes.
    pub(crate) fn read(key: &[u8]) -> Option<UnspentKey> {
        let (script, rest) = key.split_first_chunk::<10>()?;
        let (value, rest) = rest.split_first_chunk::<8>()?;
        let (txnum, rest) = rest.split_first_chunk::<5>()?;
        let [a, b, c] = *<&[u8; 3]>::try_from(rest).ok()?;
        Some(UnspentKey {
            script: ScriptId(*script),
            value: !u64::from_be_bytes(*value),
            txnum: of_u40(*txnum),
            vout: u32::from_be_bytes([0, a, b, c]),
        })
    }
}

/// The largest place of an output in its transaction that the keys can hold.
pub(crate) const LAST_VOUT: u32 = (1 << 24) - 1;

/// The value of an unspent output's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnspentRow {
    pub(crate) txid: Hash32,
    pub(crate) coinbase: bool,
    pub(crate) token: bool,
}

impl UnspentRow {
    pub(crate) fn bytes(&self) -> [u8; 33] {
        let marks = u8::from(self.coinbase) | u8::from(self.token) << 1;
        join(&[self.txid.wire(), &[marks]])
    }

    pub(crate) fn read(value: &[u8]) -> Option<UnspentRow> {
        let (txid, rest) = value.split_first_chunk::<32>()?;
        let [marks @ 0..=3] = *rest else { return None };
        Some(UnspentRow {
            txid: Hash32::from_wire(*txid),
            coinbase: marks & 1 != 0,
            token: marks & 2 != 0,
        })
    }
}

/// The parts one after the other; together they have `N` bytes.
fn join<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let mut joined = [0; N];
    let mut end = 0;
    for part in parts {
        joined[end..end + part.len()].copy_from_slice(part);
        end += part.len();
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_and_sort_as_the_list_is_shown() {
        let key = |value, txnum, vout| UnspentKey { script: ScriptId([7; 10]), value, txnum, vout };
        let shown = [key(u64::MAX, 5, 0), key(9, 1, 2), key(9, 2, 0), key(9, 2, 1), key(0, 0, 0)];
        for pair in shown.windows(2) {
            assert!(pair[0].bytes() < pair[1].bytes());
        }
        for key in shown {
            assert_eq!(UnspentKey::read(&key.bytes()), Some(key));
        }
        let row = UnspentRow { txid: Hash32::sha256d(&[b"x"]), coinbase: true, token: false };
        assert_eq!(UnspentRow::read(&row.bytes()), Some(row));
        assert_eq!(UnspentRow::read(&[0; 32]), None);
        assert_eq!(txnum_of_txid_key(&txid_key(&row.txid, 77)), Some(77));
    }
}
