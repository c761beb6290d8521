//! The rings that inputs hide in, resolved from rows.
//!
//! Invariant: rings take one read of their outputs and one of the transactions that made them,
//! however many they are; members that the chain does not have are left out (decision R10).

use std::collections::BTreeSet;

use chain::ring::{Hash, Input, Key};

use super::View;
use crate::db::Row;
use crate::ring::outputs::{OutputRow, Pool};
use crate::ring::record::read_hash;
use crate::ring::schema::TX_BY_NUM;
use crate::row::u40;
use crate::{ReadError, Tier};

/// More members than this are too much work for what may only use memory.
pub const CACHED_MEMBERS: usize = 512;

/// An output that may be the one which an input spends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingMember {
    /// Height of its block.
    pub height: u32,
    /// Its one-time key; none where it is of a kind that is not known here.
    pub public_key: Option<Key>,
    /// The transaction that made it.
    pub tx_hash: Hash,
}

impl View {
    /// The rings of inputs, in their order, each in the order of its members; that of a coinbase
    /// is empty. What the chain does not have is left out.
    ///
    /// # Errors
    /// As [`ReadError`] says; `Cold` also where [`Tier::Cached`] is too narrow for so many members.
    pub fn rings(&self, inputs: &[Input], tier: Tier) -> Result<Vec<Vec<RingMember>>, ReadError> {
        let count = inputs.iter().map(|input| input.ring().len()).sum::<usize>();
        if tier == Tier::Cached && count > CACHED_MEMBERS {
            return Err(ReadError::Cold);
        }
        let rows = self.outputs(inputs, tier)?;
        let made: BTreeSet<u64> = rows.iter().flatten().map(|row| row.txnum).collect();
        let made: Vec<u64> = made.into_iter().collect();
        let hashes = self.hashes(&made, tier)?;
        let member = |row: OutputRow| {
            let place = made.binary_search(&row.txnum).map_err(|_| gone())?;
            let height = self.heights.height_of(row.txnum).ok_or_else(gone)?;
            Ok(RingMember { height, public_key: row.key, tx_hash: hashes[place] })
        };
        let mut rows = rows.into_iter();
        let mut rings = Vec::with_capacity(inputs.len());
        for input in inputs {
            let ring = rows.by_ref().take(input.ring().len()).flatten().map(member);
            rings.push(ring.collect::<Result<Vec<_>, ReadError>>()?);
        }
        Ok(rings)
    }

    /// The rows of all members, in their order.
    fn outputs(&self, inputs: &[Input], tier: Tier) -> Result<Vec<Option<OutputRow>>, ReadError> {
        let pool = |input: &Input| Pool::of(input.amount());
        let mut rows = Vec::new();
        for inputs in inputs.chunk_by(|a, b| pool(a).table() == pool(b).table()) {
            let Some(table) = inputs.first().map(|first| pool(first).table()) else { continue };
            let members =
                inputs.iter().flat_map(|input| input.ring().iter().map(move |it| (input, *it)));
            let keys: Vec<Vec<u8>> = members.map(|(input, it)| pool(input).key(it)).collect();
            for row in self.reader(tier).multi_get(table, &keys)? {
                let row = row.map(|row| OutputRow::read(&row)).transpose();
                rows.push(row.map_err(|bad| bad.of("the outputs"))?);
            }
        }
        Ok(rows)
    }

    /// The hashes of transactions by their places.
    fn hashes(&self, places: &[u64], tier: Tier) -> Result<Vec<Hash>, ReadError> {
        let keys: Vec<[u8; 5]> = places.iter().map(|place| u40(*place)).collect();
        let hash = |row: Option<Row<'_>>| {
            read_hash(&row.ok_or_else(gone)?).map_err(|bad| bad.of("tx_by_num"))
        };
        self.reader(tier).multi_get(TX_BY_NUM, &keys)?.into_iter().map(hash).collect()
    }
}

fn gone() -> ReadError {
    ReadError::Damaged("a transaction that made an output is gone".into())
}
