//! A transaction written as JSON, whole or part by part.
//!
//! Leaves what it looks like to `transaction`. Invariant: its parts, one after the other, are the
//! bytes of the whole.

use std::ops::Range;

use index::utxo::TransactionView;

use super::Desk;
use super::transaction::{Shape, input, output, transaction_json};
use crate::json::{put, separate};

/// About so many bytes a transaction takes.
pub(crate) fn length(tx: &TransactionView) -> usize {
    let coinbase = tx.record.coinbase_script().map_or(0, <[u8]>::len);
    let scripts: usize = tx.record.outputs.iter().map(|output| output.script.len()).sum();
    480 + 2 * (coinbase + scripts) + 208 * tx.inputs.len() + 144 * tx.record.outputs.len()
}

/// Writes a transaction.
pub(crate) fn write(out: &mut Vec<u8>, desk: &Desk, tx: &TransactionView, shape: Shape) {
    put(out, &transaction_json(desk, tx, shape));
}

/// Writes a transaction up to its first input.
pub(crate) fn write_head(out: &mut Vec<u8>, desk: &Desk, tx: &TransactionView) {
    const END: &[u8] = b"],\"vout\":[]}";
    write(out, desk, tx, Shape::Bare);
    debug_assert!(out.ends_with(END));
    out.truncate(out.len() - END.len());
}

/// Writes some of its inputs, as items of the list.
pub(crate) fn write_inputs(
    out: &mut Vec<u8>,
    desk: &Desk,
    tx: &TransactionView,
    which: Range<usize>,
) {
    let coinbase = tx.record.coinbase_script();
    for (n, one) in tx.inputs.iter().enumerate().take(which.end).skip(which.start) {
        separate(out, n > 0);
        put(out, &input(desk, n as u32, one, coinbase));
    }
}

/// Writes some of its outputs, likewise.
pub(crate) fn write_outputs(
    out: &mut Vec<u8>,
    desk: &Desk,
    tx: &TransactionView,
    which: Range<usize>,
) {
    let outputs = tx.record.outputs.iter().enumerate();
    for (n, one) in outputs.take(which.end).skip(which.start) {
        separate(out, n > 0);
        put(out, &output(desk, tx.record.kind, n as u32, one));
    }
}
