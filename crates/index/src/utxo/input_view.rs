//! An input of a transaction with what it spends, as readers see it.

use chain::Hash32;
use chain::utxo::OutPoint;

use super::record::{BaseInput, OutputRecord};

/// An input of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputView {
    /// Id of the transaction whose output it spends; none where it spends none.
    pub txid: Option<Hash32>,
    /// Place of the output there; `u32::MAX` where it spends none.
    pub vout: u32,
    /// Sequence number.
    pub sequence: u32,
    /// What it brings in the smallest unit; none where that does not count, and where a list does
    /// not resolve it (decision U6).
    pub value: Option<u64>,
    /// The output; none where it spends none or is not resolved.
    pub spent: Option<OutputRecord>,
}

impl InputView {
    /// An input that spends no output.
    pub(crate) fn of_base(base: &BaseInput) -> InputView {
        let BaseInput { sequence, value, .. } = *base;
        InputView { txid: None, vout: u32::MAX, sequence, value, spent: None }
    }

    /// The output that it spends.
    pub(crate) fn previous(&self) -> Option<OutPoint> {
        self.txid.map(|txid| OutPoint { txid, vout: self.vout })
    }
}
