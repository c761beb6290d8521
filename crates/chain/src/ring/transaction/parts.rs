//! What a transaction spends and makes.

use crate::ring::bytes32::Key;

/// An input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// New coins and fees, for whoever made the block.
    Coinbase {
        /// The block's height.
        height: u64,
    },
    /// One of several outputs.
    Key {
        /// The amount of each of those outputs; 0 where they are of RingCT, or of amount 0.
        amount: u64,
        /// The outputs by their index among all of that amount on the chain, ascending. On the
        /// chain there are the differences.
        ring: Vec<u64>,
        /// What keeps the output from being spent again.
        key_image: Key,
    },
}

/// An output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// The amount in the smallest unit where it is public; 0 where it is hidden.
    pub amount: u64,
    /// The one-time public key.
    pub key: Key,
    /// A byte by which a wallet sees that an output is not its own. There are such since version
    /// 15 of the protocol.
    pub view_tag: Option<u8>,
}

impl Input {
    /// The outputs of the ring by their index among those of the same amount; none for a coinbase.
    pub fn ring(&self) -> &[u64] {
        match self {
            Input::Key { ring, .. } => ring,
            Input::Coinbase { .. } => &[],
        }
    }

    /// The public amount that it brings; 0 for a coinbase.
    pub fn amount(&self) -> u64 {
        match self {
            Input::Key { amount, .. } => *amount,
            Input::Coinbase { .. } => 0,
        }
    }
}
