//! Which block a txnum is in.
//!
//! Leaves the rows to the store; holds 8 bytes a block in memory. Invariant: a copy stays what it
//! is while the chain goes on: pieces that are full are shared, the last one is copied.

use std::sync::Arc;

/// Heights of one piece.
const PIECE: usize = 4096;

/// The first txnum of every block of the chain.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heights {
    pieces: Vec<Arc<Vec<u64>>>,
    /// The first txnum of each piece.
    firsts: Vec<u64>,
}

impl Heights {
    /// Adds the next block.
    pub(crate) fn push(&mut self, first_txnum: u64) {
        match self.pieces.last_mut().filter(|piece| piece.len() < PIECE) {
            Some(piece) => Arc::make_mut(piece).push(first_txnum),
            None => {
                self.pieces.push(Arc::new(vec![first_txnum]));
                self.firsts.push(first_txnum);
            }
        }
    }

    /// Takes the last block away.
    pub(crate) fn pop(&mut self) {
        let Some(piece) = self.pieces.last_mut() else { return };
        Arc::make_mut(piece).pop();
        if piece.is_empty() {
            self.pieces.pop();
            self.firsts.pop();
        }
    }

    /// The height of the block that the transaction is in; none before the first block.
    pub(crate) fn height_of(&self, txnum: u64) -> Option<u32> {
        let piece = self.firsts.partition_point(|first| *first <= txnum).checked_sub(1)?;
        let place = self.pieces[piece].partition_point(|first| *first <= txnum).checked_sub(1)?;
        u32::try_from(piece * PIECE + place).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_txnum_is_in_its_block_and_a_copy_stays() {
        let mut heights = Heights::default();
        assert_eq!(heights.height_of(0), None);
        let blocks = 2 * PIECE as u64 + 10;
        for height in 0..blocks {
            heights.push(height * 3);
        }
        for txnum in 0..blocks * 3 {
            assert_eq!(heights.height_of(txnum), Some((txnum / 3) as u32));
        }
        let copy = heights.clone();
        for _ in 0..PIECE + 11 {
            heights.pop();
        }
        heights.push(9 + 3 * (PIECE as u64 - 2));
        assert_eq!(heights.height_of(u64::MAX), Some(PIECE as u32 - 1));
        assert_eq!(copy.height_of(u64::MAX), Some(blocks as u32 - 1));
        while heights.height_of(u64::MAX).is_some() {
            heights.pop();
        }
        heights.pop();
    }
}
