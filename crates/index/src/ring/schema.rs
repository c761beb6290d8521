//! The tables and their keys, once.
//!
//! Values stand in the files of their nouns: `block_row`, `record`, `outputs`. All key integers are
//! big-endian; `txnum` is the place of a confirmed transaction in the chain, counted from 0, in 40
//! bits, each block's coinbase first. `docs/schema.md` says the same in words.

use chain::ring::Hash;

use crate::db::{Table, TableSpec};
use crate::identity;
use crate::row::{of_u40, u40};

/// Version of the layouts of this index; a store of another one is refused.
pub(crate) const FORMAT: u16 = 1;

/// Every table, in the order of the constants below.
pub(crate) static TABLES: [TableSpec; 9] = [
    TableSpec { name: "meta", prefix: 0, by_key: false, queue: false, dense: false },
    TableSpec { name: "block_by_height", prefix: 0, by_key: false, queue: false, dense: false },
    TableSpec { name: "height_by_hash", prefix: 0, by_key: true, queue: false, dense: true },
    TableSpec { name: "txnum_by_hash", prefix: 6, by_key: false, queue: false, dense: false },
    TableSpec { name: "tx_by_num", prefix: 0, by_key: false, queue: false, dense: true },
    TableSpec { name: "output_by_index", prefix: 0, by_key: false, queue: false, dense: true },
    TableSpec { name: "output_by_amount", prefix: 8, by_key: false, queue: false, dense: true },
    TableSpec { name: "outputs_of_amount", prefix: 0, by_key: true, queue: false, dense: false },
    TableSpec { name: "txnum_by_image", prefix: 0, by_key: true, queue: false, dense: true },
];

/// Name → tip, identity, mark of a first load.
pub(crate) const META: Table = identity::META;
/// `height u32` → [`super::BlockRow`].
pub(crate) const BLOCK_BY_HEIGHT: Table = Table(1);
/// `hash [32]` → `height u32`.
pub(crate) const HEIGHT_BY_HASH: Table = Table(2);
/// First 6 bytes of the hash ‖ `txnum u40` → nothing. A list: several transactions may share the 6
/// bytes.
pub(crate) const TXNUM_BY_HASH: Table = Table(3);
/// `txnum u40` → [`super::TransactionRecord`].
pub(crate) const TX_BY_NUM: Table = Table(4);
/// `index u40` among the outputs with hidden amounts → [`super::outputs::OutputRow`].
pub(crate) const OUTPUT_BY_INDEX: Table = Table(5);
/// `amount u64` ‖ `index u40` among the outputs of that amount → [`super::outputs::OutputRow`].
pub(crate) const OUTPUT_BY_AMOUNT: Table = Table(6);
/// `amount u64` → how many outputs there are of it, as a varint.
pub(crate) const OUTPUTS_OF_AMOUNT: Table = Table(7);
/// `key image [32]` → `txnum u40` of the transaction that spends it.
pub(crate) const TXNUM_BY_IMAGE: Table = Table(8);

/// Key in `meta` that is there while the first load runs.
pub(crate) const META_LOADING: &[u8] = b"loading";

/// The part of a hash that `txnum_by_hash` begins with.
pub(crate) fn hash_prefix(hash: &Hash) -> [u8; 6] {
    *hash.0.first_chunk().expect("a hash has 32 bytes")
}

/// Key of `txnum_by_hash`.
pub(crate) fn hash_key(hash: &Hash, txnum: u64) -> [u8; 11] {
    let mut key = [0; 11];
    key[..6].copy_from_slice(&hash_prefix(hash));
    key[6..].copy_from_slice(&u40(txnum));
    key
}

/// The txnum at the end of such a key.
pub(crate) fn txnum_of_hash_key(key: &[u8]) -> Option<u64> {
    key.last_chunk().copied().map(of_u40)
}
