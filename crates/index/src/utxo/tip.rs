//! The tip: the last block that the rows include.

use chain::Hash32;

use super::block_row::BlockRow;
use crate::row::{BadRow, RowReader, u40};
use crate::store::LastBlock;

/// The last block of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tip {
    /// Its height.
    pub height: u32,
    /// Its hash.
    pub hash: Hash32,
    /// How many transactions the chain has up to it; the next one's place.
    pub next_txnum: u64,
}

impl LastBlock for Tip {
    type Hash = Hash32;
    type Block = BlockRow;

    fn of(block: &BlockRow) -> Tip {
        Tip { height: block.height, hash: block.hash, next_txnum: block.next_txnum() }
    }

    fn height(&self) -> u32 {
        self.height
    }

    fn hash(&self) -> Hash32 {
        self.hash
    }

    /// `height u32 ‖ hash [32] ‖ next txnum u40`.
    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(41);
        out.extend_from_slice(&self.height.to_be_bytes());
        out.extend_from_slice(self.hash.wire());
        out.extend_from_slice(&u40(self.next_txnum));
        out
    }

    fn read(row: &[u8]) -> Result<Tip, BadRow> {
        let mut reader = RowReader::new(row);
        let height = reader.u32()?;
        let hash = Hash32::from_wire(reader.array()?);
        let tip = Tip { height, hash, next_txnum: reader.u40()? };
        reader.end()?;
        Ok(tip)
    }
}
