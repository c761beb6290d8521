//! The outputs that a block's transactions spend, as a node keeps them for undoing the block.
//!
//! Source: Bitcoin Core 30, src/rest.cpp, `/rest/spenttxouts/<hash>.bin`: a count of transactions,
//! then for each a count of outputs, none for the coinbase, and the outputs.

use super::byte_reader::{ByteReader, DecodeError};
use super::format::Format;
use super::output::{Output, OutputForm};

/// The outputs that a block's transactions spend, in the order of its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpentOutputs<'a> {
    outputs: Vec<Output<'a>>,
    /// For each transaction where its outputs begin, and where the last one's end.
    bounds: Vec<usize>,
}

impl<'a> SpentOutputs<'a> {
    /// Reads what the node gives for one block.
    ///
    /// # Errors
    /// Bytes that are not such a list.
    pub fn decode(raw: &'a [u8], format: &Format) -> Result<SpentOutputs<'a>, DecodeError> {
        let mut reader = ByteReader::new(raw);
        let form = if format.tokens { OutputForm::WithTokens } else { OutputForm::Plain };
        let transactions = reader.count(1)?;
        let mut spent = SpentOutputs { outputs: Vec::new(), bounds: vec![0] };
        for _ in 0..transactions {
            for _ in 0..reader.count(Output::LEAST_BYTES)? {
                spent.outputs.push(Output::read(&mut reader, form)?);
            }
            spent.bounds.push(spent.outputs.len());
        }
        reader.end()?;
        Ok(spent)
    }

    /// How many transactions the block has.
    pub fn transactions(&self) -> usize {
        self.bounds.len() - 1
    }

    /// What the transaction at that place in the block spends, one for each input and none for
    /// the coinbase; empty past the end.
    pub fn of(&self, place: usize) -> &[Output<'a>] {
        match self.bounds.get(place..) {
            Some([start, end, ..]) => &self.outputs[*start..*end],
            _ => &[],
        }
    }
}
