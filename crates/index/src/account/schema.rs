//! The tables and their keys, once.
//!
//! Values stand in `rows`. All key integers are big-endian; `!x` is the bitwise complement, so that
//! a scan forwards is newest first. A place is a height and the place of a transaction in the
//! block, in 24 bits. `docs/schema.md` says the same in words.

use chain::account::{Address, Hash};

use crate::db::{Table, TableSpec};

/// Version of the layouts of this index; a store of another one is refused.
pub(crate) const FORMAT: u16 = 1;

/// Every table, in the order of the constants below.
pub(crate) static TABLES: [TableSpec; 10] = [
    TableSpec { name: "meta", prefix: 0, by_key: false, queue: false, dense: false },
    TableSpec { name: "block_by_height", prefix: 0, by_key: false, queue: false, dense: false },
    TableSpec { name: "height_by_hash", prefix: 8, by_key: false, queue: false, dense: true },
    TableSpec { name: "place_by_tx", prefix: 8, by_key: false, queue: false, dense: true },
    TableSpec { name: "tx_by_place", prefix: 0, by_key: false, queue: false, dense: false },
    TableSpec { name: "logs_by_place", prefix: 0, by_key: true, queue: false, dense: false },
    TableSpec { name: "operations_by_place", prefix: 0, by_key: true, queue: false, dense: false },
    TableSpec { name: "history_by_address", prefix: 20, by_key: false, queue: false, dense: false },
    TableSpec {
        name: "creation_by_address",
        prefix: 20,
        by_key: false,
        queue: false,
        dense: false,
    },
    TableSpec { name: "untraced", prefix: 0, by_key: false, queue: true, dense: false },
];

/// `height u32` → [`super::facts::BlockFacts`].
pub(crate) const BLOCK_BY_HEIGHT: Table = Table(1);
/// First 8 bytes of a block's hash ‖ `height u32` → nothing.
pub(crate) const HEIGHT_BY_HASH: Table = Table(2);
/// First 8 bytes of a transaction's hash ‖ place → nothing.
pub(crate) const PLACE_BY_TX: Table = Table(3);
/// Place → [`super::facts::Transaction`].
pub(crate) const TX_BY_PLACE: Table = Table(4);
/// Place → its [`super::facts::Log`]s; no row where it has none.
pub(crate) const LOGS_BY_PLACE: Table = Table(5);
/// Place → its [`super::facts::Operation`]s; no row where it has none, or was not traced.
pub(crate) const OPERATIONS_BY_PLACE: Table = Table(6);
/// `address [20]` ‖ `!height u32` ‖ `!index u24` → nothing.
pub(crate) const HISTORY_BY_ADDRESS: Table = Table(7);
/// The same key of a contract → its creator.
pub(crate) const CREATION_BY_ADDRESS: Table = Table(8);
/// `!height u32` of a block that was not traced → how often that was tried, when to try again.
pub(crate) const UNTRACED: Table = Table(9);

/// Key of the first block that is held, in `meta`.
pub(crate) const META_BASE: &[u8] = b"base";
/// Key of the height of the node's tip when the index began, in `meta`.
pub(crate) const META_BEGUN_AT: &[u8] = b"begun_at";
/// Key in `meta` of the heights from which blocks create less, where they are not the network's.
pub(crate) const META_REWARD_FORKS: &[u8] = b"reward_forks";

/// A transaction in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TxPlace {
    /// Height of the block.
    pub height: u32,
    /// Place in the block, below 2^24.
    pub index: u32,
}

impl TxPlace {
    /// The key of the tables that are in the order of the chain.
    pub(crate) fn key(self) -> [u8; 7] {
        place(self.height, self.index)
    }

    /// Reads such a key.
    pub(crate) fn read(key: &[u8]) -> Option<TxPlace> {
        let (height, index) = key.split_first_chunk::<4>()?;
        let [a, b, c] = *<&[u8; 3]>::try_from(index).ok()?;
        let index = u32::from_be_bytes([0, a, b, c]);
        Some(TxPlace { height: u32::from_be_bytes(*height), index })
    }

    /// Reads the end of a key in which the newest comes first.
    pub(crate) fn read_newest(key: &[u8]) -> Option<TxPlace> {
        let complement = TxPlace::read(key.last_chunk::<7>()?)?;
        Some(TxPlace { height: !complement.height, index: !complement.index & 0xff_ffff })
    }
}

fn place(height: u32, index: u32) -> [u8; 7] {
    let mut key = [0; 7];
    key[..4].copy_from_slice(&height.to_be_bytes());
    key[4..].copy_from_slice(&index.to_be_bytes()[1..]);
    key
}

/// The part of a hash that keys begin with.
pub(crate) fn hash_prefix(hash: &Hash) -> [u8; 8] {
    *hash.0.first_chunk().expect("a hash has 32 bytes")
}

/// Key of `height_by_hash`.
pub(crate) fn block_key(hash: &Hash, height: u32) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&hash_prefix(hash));
    key[8..].copy_from_slice(&height.to_be_bytes());
    key
}

/// Key of `place_by_tx`.
pub(crate) fn tx_key(hash: &Hash, place: TxPlace) -> [u8; 15] {
    let mut key = [0; 15];
    key[..8].copy_from_slice(&hash_prefix(hash));
    key[8..].copy_from_slice(&place.key());
    key
}

/// Key of `history_by_address` and `creation_by_address`.
pub(crate) fn address_key(address: &Address, at: TxPlace) -> [u8; 27] {
    let mut key = [0; 27];
    key[..20].copy_from_slice(&address.0);
    key[20..].copy_from_slice(&place(!at.height, !at.index));
    key
}

/// Key of `untraced`.
pub(crate) fn untraced_key(height: u32) -> [u8; 4] {
    (!height).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_and_the_newest_comes_first() {
        let address = Address([7; 20]);
        let places = [(9, 3), (9, 0), (8, 0xff_ffff), (0, 0)];
        let places = places.map(|(height, index)| TxPlace { height, index });
        for pair in places.windows(2) {
            assert!(address_key(&address, pair[0]) < address_key(&address, pair[1]));
            assert!(pair[0].key() > pair[1].key());
        }
        for place in places {
            assert_eq!(TxPlace::read(&place.key()), Some(place));
            assert_eq!(TxPlace::read_newest(&address_key(&address, place)), Some(place));
        }
        assert_eq!(TxPlace::read(&[0; 6]), None);
        assert!(untraced_key(9) < untraced_key(8));
    }
}
