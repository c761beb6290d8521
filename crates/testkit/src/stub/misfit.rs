//! Why a stub node does not take a block or a transaction.

use chain::Hash32;
use chain::utxo::{DecodeError, OutPoint};

/// What is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// The block does not stand on the tip.
    #[error("the block stands on {0}, the tip is {1}")]
    NotOnTip(Hash32, Hash32),
    /// The first block of a branch stands on none that is in the best chain.
    #[error("the branch stands on {0}, which is not in the best chain")]
    NotInChain(Hash32),
    /// There are no blocks above the first one to take away.
    #[error("there are only {0} blocks above the first one")]
    TooFewBlocks(u32),
    /// An input spends what is not there.
    #[error("output {vout} of {txid} is not there to be spent", txid = .0.txid, vout = .0.vout)]
    NothingToSpend(OutPoint),
    /// The bytes are not what they should be.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] DecodeError),
}
