//! `/tx/{txid}`: one transaction with every input resolved, in pieces where it is long.
//!
//! Invariant: it is shown whole, whatever it has (decision E17).

use chain::Hash32;
use index::utxo::TransactionView;

use super::transaction::Shape;
use super::writing;
use super::{Desk, Fail};
use crate::content::{PIECE_BYTES, Pieces};
use crate::refusal::Reason;

/// Inputs or outputs of a piece.
const ITEMS: usize = 500;

/// One transaction.
pub(crate) struct Single {
    desk: Desk,
    txid: Hash32,
    /// None until it is read.
    found: Option<TransactionView>,
    stage: Stage,
}

#[derive(Clone, Copy)]
enum Stage {
    Head,
    Inputs(usize),
    Outputs(usize),
    Done,
}

impl Single {
    pub(crate) fn new(desk: Desk, txid: Hash32) -> Single {
        Single { desk, txid, found: None, stage: Stage::Head }
    }
}

impl Pieces for Single {
    fn next(&mut self) -> Result<Option<Vec<u8>>, Fail> {
        let Single { desk, txid, found, stage } = self;
        let tx = match found {
            Some(tx) => tx,
            None => {
                let read = desk.view.transaction_within(desk.tier, txid)?;
                found.insert(read.ok_or(Reason::NotFound)?)
            }
        };
        let mut piece = Vec::new();
        match *stage {
            Stage::Done => return Ok(None),
            Stage::Head if writing::length(tx) <= PIECE_BYTES => {
                piece.reserve(writing::length(tx));
                writing::write(&mut piece, desk, tx, Shape::Whole);
                *stage = Stage::Done;
            }
            Stage::Head => {
                writing::write_head(&mut piece, desk, tx);
                *stage = Stage::Inputs(0);
            }
            Stage::Inputs(from) => {
                let to = (from + ITEMS).min(tx.inputs.len());
                writing::write_inputs(&mut piece, desk, tx, from..to);
                *stage = Stage::Inputs(to);
                if to == tx.inputs.len() {
                    piece.extend_from_slice(b"],\"vout\":[");
                    *stage = Stage::Outputs(0);
                }
            }
            Stage::Outputs(from) => {
                let to = (from + ITEMS).min(tx.record.outputs.len());
                writing::write_outputs(&mut piece, desk, tx, from..to);
                *stage = Stage::Outputs(to);
                if to == tx.record.outputs.len() {
                    piece.extend_from_slice(b"]}");
                    *stage = Stage::Done;
                }
            }
        }
        Ok(Some(piece))
    }

    fn restart(&mut self) {
        self.stage = Stage::Head;
    }

    fn held_bytes(&self) -> usize {
        // In memory a byte of a script is one, not two digits.
        self.found.as_ref().map_or(0, writing::length) / 2
    }
}
