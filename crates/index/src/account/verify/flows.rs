//! What the transactions of one block moved, by address.
//!
//! Invariants: who gets what no transaction tells (the block's maker, whoever shares a reward) is
//! left out; nothing is told of a block whose calls are not known.

use std::collections::{BTreeMap, BTreeSet};

use chain::account::{Address, U256};

use super::super::facts::{BlockFacts, Operation, OperationKind, Status, Transaction};

/// What came to and went from each address in a block.
#[derive(Debug, Default)]
pub(super) struct Flows {
    moved: BTreeMap<Address, (U256, U256)>,
    /// Of whom more may have happened than is told.
    unsure: BTreeSet<Address>,
}

impl Flows {
    /// Those of a block's transactions with their calls; none where a reward was paid besides, or
    /// it is not known whether a transaction did what it should.
    pub(super) fn of(
        block: &BlockFacts,
        transactions: &[(Transaction, Vec<Operation>)],
    ) -> Option<Flows> {
        let mut flows = Flows::default();
        flows.unsure.insert(block.miner);
        if !block.difficulty.is_zero() {
            return None;
        }
        for (tx, operations) in transactions {
            flows.went(tx.from, tx.fee());
            match tx.status {
                Status::Unknown => return None,
                Status::Failed => continue,
                Status::Success => {}
            }
            flows.went(tx.from, tx.value);
            flows.came(tx.to.or(tx.created)?, tx.value);
            for it in operations {
                flows.went(it.from, it.value);
                flows.came(it.to, it.value);
                // What a contract leaves to itself may be gone.
                if it.kind == OperationKind::SelfDestruct && it.from == it.to {
                    flows.unsure.insert(it.from);
                }
            }
        }
        Some(flows)
    }

    /// Something came to an address.
    pub(super) fn came(&mut self, address: Address, amount: U256) {
        let came = &mut self.moved.entry(address).or_default().0;
        *came = came.saturating_add(amount);
    }

    fn went(&mut self, address: Address, amount: U256) {
        let went = &mut self.moved.entry(address).or_default().1;
        *went = went.saturating_add(amount);
    }

    /// The addresses of which everything is known.
    pub(super) fn sure(&self) -> impl Iterator<Item = Address> {
        self.moved.keys().filter(|address| !self.unsure.contains(*address)).copied()
    }

    /// What an address has after the block if it had this before; none where that is impossible.
    pub(super) fn after(&self, address: &Address, before: U256) -> Option<U256> {
        let (came, went) = self.moved.get(address).copied().unwrap_or_default();
        before.checked_add(came)?.checked_sub(went)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{block_facts, transaction};
    use super::*;

    fn address(n: u8) -> Address {
        Address([n; 20])
    }

    fn operation(kind: OperationKind, from: u8, to: u8, value: u64) -> Operation {
        Operation { kind, from: address(from), to: address(to), value: U256::from(value) }
    }

    #[test]
    fn what_is_moved_is_told_and_nothing_of_whom_more_is_possible() {
        let mut block = block_facts(7, 2);
        block.miner = address(9);
        let mut paid = transaction(1, address(1), Some(address(2)));
        (paid.value, paid.gas_used) = (U256::from(50), 10);
        (paid.gas_price, paid.effective_gas_price) = (U256::from(2), U256::from(2));
        let calls = vec![
            operation(OperationKind::Call, 2, 3, 7),
            operation(OperationKind::SelfDestruct, 4, 4, 5),
            operation(OperationKind::Call, 3, 9, 1),
        ];
        let mut failed = paid.clone();
        failed.status = Status::Failed;
        let all = [(paid.clone(), calls), (failed, Vec::new())];
        let flows = Flows::of(&block, &all).unwrap();
        let after = |n: u8, before: u64| flows.after(&address(n), U256::from(before));
        assert_eq!(after(1, 100), Some(U256::from(10)));
        assert_eq!(after(1, 89), None);
        assert_eq!((after(2, 0), after(3, 0)), (Some(U256::from(43)), Some(U256::from(6))));
        assert_eq!(flows.sure().collect::<Vec<_>>(), [address(1), address(2), address(3)]);
        paid.status = Status::Unknown;
        assert!(Flows::of(&block, &[(paid, Vec::new())]).is_none());
        block.difficulty = U256::from(1);
        assert!(Flows::of(&block, &[]).is_none());
    }
}
