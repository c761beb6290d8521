//! The tip: the last block that the rows include.

use chain::ring::Hash;

use super::block_row::BlockRow;
use crate::row::{BadRow, RowReader, u40};
use crate::store::LastBlock;

/// The last block of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tip {
    /// Its height.
    pub height: u32,
    /// Its hash.
    pub hash: Hash,
    /// How many transactions the chain has up to it; the next one's place.
    pub next_txnum: u64,
    /// How many outputs with hidden amounts the chain has up to it; the next one's place.
    pub next_output: u64,
}

impl LastBlock for Tip {
    type Hash = Hash;
    type Block = BlockRow;

    fn of(row: &BlockRow) -> Tip {
        let (next_txnum, next_output) = (row.next_txnum(), row.next_output());
        Tip { height: row.height, hash: row.hash, next_txnum, next_output }
    }

    fn height(&self) -> u32 {
        self.height
    }

    fn hash(&self) -> Hash {
        self.hash
    }

    /// `height u32 ‖ hash [32] ‖ next txnum u40 ‖ next output u40`.
    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(46);
        out.extend_from_slice(&self.height.to_be_bytes());
        out.extend_from_slice(&self.hash.0);
        out.extend_from_slice(&u40(self.next_txnum));
        out.extend_from_slice(&u40(self.next_output));
        out
    }

    fn read(row: &[u8]) -> Result<Tip, BadRow> {
        let mut reader = RowReader::new(row);
        let tip = Tip {
            height: reader.u32()?,
            hash: Hash(reader.array()?),
            next_txnum: reader.u40()?,
            next_output: reader.u40()?,
        };
        reader.end()?;
        Ok(tip)
    }
}
