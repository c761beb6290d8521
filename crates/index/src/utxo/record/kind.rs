//! What a transaction is for, and the pools that hide amounts.
//!
//! Invariant: a code stands for the same for ever, as long as the format of the rows is the same.

/// What a transaction is for. Most chains have the first two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It moves coins.
    Regular,
    /// It makes the new coins of its block.
    Coinbase,
    /// It buys a ticket.
    Ticket,
    /// A ticket votes.
    Vote,
    /// A ticket is given back without a vote.
    Revocation,
    /// It makes the treasury's new coins.
    TreasuryBase,
    /// It gives coins to the treasury.
    TreasuryAdd,
    /// It takes coins from the treasury.
    TreasurySpend,
}

const KINDS: [Kind; 8] = [
    Kind::Regular,
    Kind::Coinbase,
    Kind::Ticket,
    Kind::Vote,
    Kind::Revocation,
    Kind::TreasuryBase,
    Kind::TreasuryAdd,
    Kind::TreasurySpend,
];

impl Kind {
    /// Its code in three bits.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    pub(crate) fn of_code(code: u8) -> Kind {
        KINDS[usize::from(code & 7)]
    }

    /// Whether the first input spends no output.
    pub fn has_base(self) -> bool {
        use Kind::{Coinbase, TreasuryBase, TreasurySpend, Vote};

        matches!(self, Coinbase | Vote | TreasuryBase | TreasurySpend)
    }

    /// Whether what its inputs bring is counted.
    pub fn has_value_in(self) -> bool {
        !matches!(self, Kind::Coinbase | Kind::TreasuryBase)
    }

    /// Whether it leaves a fee, which may be 0.
    pub fn has_fee(self) -> bool {
        self.has_value_in()
    }
}

/// A pool whose amounts are hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pool {
    /// The first one.
    Sprout,
    /// That of the Sapling upgrade.
    Sapling,
    /// That of network upgrade 5.
    Orchard,
    /// That of network upgrade 6.3.
    Ironwood,
}

const POOLS: [Pool; 4] = [Pool::Sprout, Pool::Sapling, Pool::Orchard, Pool::Ironwood];

impl Pool {
    /// Its name as nodes spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Pool::Sprout => "sprout",
            Pool::Sapling => "sapling",
            Pool::Orchard => "orchard",
            Pool::Ironwood => "ironwood",
        }
    }

    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    pub(crate) fn of_code(code: u8) -> Option<Pool> {
        POOLS.get(usize::from(code)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_comes_back() {
        for kind in KINDS {
            assert_eq!(Kind::of_code(kind.code()), kind);
        }
        for pool in POOLS {
            assert_eq!(Pool::of_code(pool.code()), Some(pool));
        }
        assert_eq!(Pool::of_code(4), None);
    }
}
