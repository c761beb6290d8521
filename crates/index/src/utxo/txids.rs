//! Places in the chain by transaction id.
//!
//! Invariant: an id is compared whole; the six bytes of the key only narrow the search.

use std::collections::HashMap;
use std::ops::ControlFlow;

use chain::Hash32;

use super::previous::PreviousRecords;
use super::record::read_txid;
use super::schema::{TX_BY_NUM, TXNUM_BY_TXID, txid_prefix, txnum_of_txid_key};
use crate::ReadError;
use crate::db::{Reader, Row};
use crate::row::u40;

/// The places of all transactions whose ids begin like this one, ascending.
fn candidates(reader: Reader<'_>, txid: &Hash32) -> Result<Vec<u64>, ReadError> {
    let prefix = txid_prefix(txid);
    let mut places = Vec::new();
    reader.scan(TXNUM_BY_TXID, &prefix, &prefix, |key, _| {
        places.extend(txnum_of_txid_key(key));
        ControlFlow::Continue(())
    })?;
    Ok(places)
}

/// The latest place of each of those transactions, as far as it is below `end`, with the records
/// that were read on the way.
pub(crate) fn latest_places<'t>(
    reader: Reader<'_>,
    end: u64,
    txids: impl IntoIterator<Item = (&'t Hash32, usize)>,
) -> Result<(HashMap<Hash32, u64>, PreviousRecords), ReadError> {
    let mut found = Vec::new();
    for (txid, uses) in txids {
        let mut places = candidates(reader, txid)?;
        places.retain(|place| *place < end);
        if !places.is_empty() {
            found.push((*txid, uses, places));
        }
    }
    let wanted = found
        .iter()
        .flat_map(|(_, uses, places)| places.iter().flat_map(|p| std::iter::repeat_n(*p, *uses)));
    let records = PreviousRecords::load(reader, wanted)?;
    let mut latest = HashMap::with_capacity(found.len());
    for (txid, _, places) in found {
        for place in places {
            if records.txid(place)? == Some(txid) {
                latest.insert(txid, place);
            }
        }
    }
    Ok((latest, records))
}

/// The latest place of one transaction, with the row of its record.
pub(crate) fn latest_row<'r>(
    reader: Reader<'r>,
    txid: &Hash32,
) -> Result<Option<(u64, Row<'r>)>, ReadError> {
    for place in candidates(reader, txid)?.into_iter().rev() {
        let Some(row) = reader.get(TX_BY_NUM, &u40(place))? else { continue };
        if read_txid(&row).map_err(|bad| bad.of("tx_by_num"))? == *txid {
            return Ok(Some((place, row)));
        }
    }
    Ok(None)
}

/// The place before `txnum` at which the same transaction stood last: its twin's (BIP 30).
pub(crate) fn place_before(
    reader: Reader<'_>,
    txid: &Hash32,
    txnum: u64,
) -> Result<Option<u64>, ReadError> {
    let mut places = candidates(reader, txid)?;
    places.retain(|place| *place < txnum);
    let records = PreviousRecords::load(reader, places.iter().copied())?;
    let mut before = None;
    for place in places {
        if records.txid(place)? == Some(*txid) {
            before = Some(place);
        }
    }
    Ok(before)
}
