//! A transaction that waits.

use chain::account::{Address, Hash, U256};

use super::shapes::TransactionShape;

/// A transaction that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Hash.
    pub hash: Hash,
    /// Sender.
    pub from: Address,
    /// Receiver; none where it creates a contract.
    pub to: Option<Address>,
    /// EIP-2718 type.
    pub kind: u8,
    /// How many the sender has sent before.
    pub nonce: u64,
    /// What it moves.
    pub value: U256,
    /// Gas that it may use.
    pub gas_limit: u64,
    /// Most it pays for a unit of gas, as the node gives it.
    pub gas_price: U256,
    /// The same, of types 2 and above.
    pub max_fee: Option<U256>,
    /// For the block's maker, a unit of gas.
    pub max_tip: Option<U256>,
    /// Call data, or the code that creates a contract.
    pub input: Vec<u8>,
}

impl Pending {
    /// What a node says of one; none where its type is none.
    pub(super) fn of(shape: TransactionShape) -> Option<Pending> {
        let (price, most) = (shape.gas_price.map(|it| it.0), shape.max_fee_per_gas.map(|it| it.0));
        Some(Pending {
            hash: shape.hash.0,
            from: shape.from.0,
            to: shape.to.map(|to| to.0),
            kind: shape.kind.map_or(0, |kind| kind.0).try_into().ok()?,
            nonce: shape.nonce.0,
            value: shape.value.0,
            gas_limit: shape.gas.0,
            gas_price: price.or(most).unwrap_or_default(),
            max_fee: most,
            max_tip: shape.max_priority_fee_per_gas.map(|it| it.0),
            input: shape.input.0,
        })
    }
}
