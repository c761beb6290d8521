//! A transaction as `tx_by_num` keeps it.
//!
//! Inputs name the previous transaction by its place in the chain; its outputs are read from its
//! own record. Where there are more than [`NAMED_ABOVE`] inputs the previous ids stand in the
//! record as well, so that a list of transactions needs a bounded number of reads (decision U6
//! resolves at most 1,000 previous outputs a page, and ids have to be shown of all).
//! Invariant: what was encoded is decoded to the same record.

mod parts;

use chain::Hash32;

pub(crate) use self::parts::{
    COINBASE, NAMED, REPLACED, Start, TOKENS, put_coinbase, put_fee, put_input, put_name,
    put_replaced, put_start,
};
use self::parts::{KNOWN, read_sequence};
pub(crate) use super::outputs::put_output;
use super::outputs::{read_output, read_outputs};
use crate::row::{BadRow, RowReader, put_varint};

pub use super::outputs::{NftRecord, OutputRecord, TokenRecord};

/// Records of transactions with more inputs carry the previous txids.
pub(crate) const NAMED_ABOVE: usize = 20;

/// A transaction without what is read from other records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionRecord {
    /// Id.
    pub txid: Hash32,
    /// Version, signed as nodes print it.
    pub version: i32,
    /// Height or time before which it was not valid.
    pub lock_time: u32,
    /// Bytes in all.
    pub size: u32,
    /// Bytes where one of a witness counts a quarter.
    pub vsize: u32,
    /// Inputs less outputs in the smallest unit; none of a coinbase.
    pub fee: Option<i128>,
    /// Of a coinbase the script of its input.
    pub coinbase: Option<Vec<u8>>,
    /// Outputs in order.
    pub outputs: Vec<OutputRecord>,
    /// Inputs in order; of a coinbase its one input.
    pub(crate) inputs: Vec<InputRecord>,
    /// The txids of the inputs, where there are more than [`NAMED_ABOVE`].
    pub(crate) names: Option<Vec<Hash32>>,
    /// Places of outputs that replaced the same output of an earlier twin while that was unspent
    /// (BIP 30), ascending.
    pub(crate) replaced: Vec<u32>,
}

/// An input of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InputRecord {
    /// Place of the previous transaction in the chain; 0 in a coinbase.
    pub(crate) txnum: u64,
    /// Place of the output there; `u32::MAX` in a coinbase.
    pub(crate) vout: u32,
    /// Sequence number.
    pub(crate) sequence: u32,
}

impl TransactionRecord {
    /// The row of the record at `txnum`: marks, txid, version, lock time, size, size less vsize,
    /// fee, outputs, inputs, replaced outputs.
    pub(crate) fn bytes(&self, txnum: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + self.outputs.len() * 32 + self.inputs.len() * 8);
        let TransactionRecord { txid, version, lock_time, size, vsize, .. } = *self;
        put_start(&mut out, self.marks(), &Start { txid, version, lock_time, size, vsize });
        if self.coinbase.is_none() {
            put_fee(&mut out, self.fee.unwrap_or_default());
        }
        put_varint(&mut out, self.outputs.len() as u64);
        let tokens = self.has_tokens();
        for OutputRecord { value, script, token } in &self.outputs {
            put_output(&mut out, *value, script, tokens.then_some(token.as_ref()));
        }
        if let Some(script) = &self.coinbase {
            let sequence = self.inputs.first().map_or(u32::MAX, |input| input.sequence);
            put_coinbase(&mut out, script, sequence);
        } else {
            put_varint(&mut out, self.inputs.len() as u64);
            for input in &self.inputs {
                put_input(&mut out, txnum, input.txnum, input.vout, input.sequence);
            }
            self.names.iter().flatten().for_each(|name| put_name(&mut out, name));
        }
        put_replaced(&mut out, &self.replaced);
        out
    }

    /// The inputs that spend an output.
    pub(crate) fn spends(&self) -> impl Iterator<Item = &InputRecord> {
        self.inputs.iter().filter(|_| self.coinbase.is_none())
    }

    /// Whether an output replaced that of an earlier twin.
    pub(crate) fn replaces(&self, vout: u32) -> bool {
        self.replaced.binary_search(&vout).is_ok()
    }

    fn has_tokens(&self) -> bool {
        self.outputs.iter().any(|output| output.token.is_some())
    }

    fn marks(&self) -> u8 {
        let mark = |on: bool, mark: u8| if on { mark } else { 0 };
        mark(self.coinbase.is_some(), COINBASE)
            | mark(self.names.is_some(), NAMED)
            | mark(self.has_tokens(), TOKENS)
            | mark(!self.replaced.is_empty(), REPLACED)
    }

    /// Reads the row at `txnum`.
    pub(crate) fn read(txnum: u64, row: &[u8]) -> Result<TransactionRecord, BadRow> {
        let mut reader = RowReader::new(row);
        let (marks, mut record) = read_head(&mut reader)?;
        record.outputs = read_outputs(&mut reader, marks & TOKENS != 0)?;
        if marks & COINBASE != 0 {
            record.coinbase = Some(reader.prefixed()?.to_vec());
            let sequence = read_sequence(&mut reader)?;
            record.inputs.push(InputRecord { txnum: 0, vout: u32::MAX, sequence });
        } else {
            record.read_inputs(&mut reader, txnum, marks & NAMED != 0)?;
        }
        if marks & REPLACED != 0 {
            for _ in 0..reader.count()? {
                record.replaced.push(reader.small()?);
            }
        }
        reader.end()?;
        Ok(record)
    }

    fn read_inputs(
        &mut self,
        reader: &mut RowReader<'_>,
        txnum: u64,
        named: bool,
    ) -> Result<(), BadRow> {
        let count = reader.count()?;
        self.inputs.reserve(count);
        for _ in 0..count {
            let previous = i128::from(txnum).checked_sub(reader.signed()?).ok_or(BadRow)?;
            self.inputs.push(InputRecord {
                txnum: u64::try_from(previous).map_err(|_| BadRow)?,
                vout: reader.small()?,
                sequence: read_sequence(reader)?,
            });
        }
        if named {
            let name = |_| reader.array().map(Hash32::from_wire);
            self.names = Some((0..count).map(name).collect::<Result<_, _>>()?);
        }
        Ok(())
    }
}

/// What another transaction needs to know of a record whose output it spends.
pub(crate) struct Spent {
    pub(crate) txid: Hash32,
    pub(crate) coinbase: bool,
    pub(crate) output: OutputRecord,
}

/// Reads of the row at one place only the id and one output; none where it has fewer outputs.
pub(crate) fn read_spent(row: &[u8], vout: u32) -> Result<Option<Spent>, BadRow> {
    let mut reader = RowReader::new(row);
    let (marks, record) = read_head(&mut reader)?;
    let output = read_output(&mut reader, marks & TOKENS != 0, vout)?;
    let coinbase = marks & COINBASE != 0;
    Ok(output.map(|output| Spent { txid: record.txid, coinbase, output }))
}

/// Reads of a row only the id.
pub(crate) fn read_txid(row: &[u8]) -> Result<Hash32, BadRow> {
    let mut reader = RowReader::new(row);
    reader.u8()?;
    reader.array().map(Hash32::from_wire)
}

fn read_head(reader: &mut RowReader<'_>) -> Result<(u8, TransactionRecord), BadRow> {
    let marks = reader.u8()?;
    if marks & !KNOWN != 0 {
        return Err(BadRow);
    }
    let txid = Hash32::from_wire(reader.array()?);
    let version = i32::try_from(reader.signed()?).map_err(|_| BadRow)?;
    let (lock_time, size) = (reader.small()?, reader.small()?);
    let less = reader.signed()?;
    let vsize = i128::from(size).checked_sub(less).and_then(|vsize| vsize.try_into().ok());
    let fee = if marks & COINBASE == 0 { Some(reader.signed()?) } else { None };
    let record = TransactionRecord {
        txid,
        version,
        lock_time,
        size,
        vsize: vsize.ok_or(BadRow)?,
        fee,
        coinbase: None,
        outputs: Vec::new(),
        inputs: Vec::new(),
        names: None,
        replaced: Vec::new(),
    };
    Ok((marks, record))
}

#[cfg(test)]
mod tests;
