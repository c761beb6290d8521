//! Places in the chain by transaction hash.
//!
//! Invariant: a hash is compared whole; the six bytes of the key only narrow the search.

use std::ops::ControlFlow;

use chain::ring::Hash;

use super::record::{TransactionRecord, read_hash};
use super::schema::{TX_BY_NUM, TXNUM_BY_HASH, hash_prefix, txnum_of_hash_key};
use crate::ReadError;
use crate::db::Reader;
use crate::row::u40;

/// A transaction of the chain with its place.
pub(crate) fn find(
    reader: Reader<'_>,
    hash: &Hash,
) -> Result<Option<(u64, TransactionRecord)>, ReadError> {
    let prefix = hash_prefix(hash);
    let mut places = Vec::new();
    reader.scan(TXNUM_BY_HASH, &prefix, &prefix, |key, _| {
        places.extend(txnum_of_hash_key(key));
        ControlFlow::Continue(())
    })?;
    for place in places {
        let Some(row) = reader.get(TX_BY_NUM, &u40(place))? else { continue };
        let bad = |bad: crate::row::BadRow| bad.of("tx_by_num");
        if read_hash(&row).map_err(bad)? == *hash {
            return Ok(Some((place, TransactionRecord::read(&row).map_err(bad)?)));
        }
    }
    Ok(None)
}
