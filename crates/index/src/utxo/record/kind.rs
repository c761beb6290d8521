//! The codes of what a transaction is for, and which kinds begin with an input that spends nothing.
//!
//! Invariant: a code stands for the same for ever, as long as the format of the rows is the same.

use chain::utxo::Kind;

const KINDS: [Kind; 8] = [
    Kind::Regular,
    Kind::Coinbase,
    Kind::Ticket,
    Kind::Vote,
    Kind::Revocation,
    Kind::Treasurybase,
    Kind::TreasuryAdd,
    Kind::TreasurySpend,
];

/// The code of a kind, in three bits.
pub(crate) fn code(kind: Kind) -> u8 {
    KINDS.iter().position(|known| *known == kind).unwrap_or_default() as u8
}

/// The kind of a code in the lowest three bits.
pub(crate) fn of_code(code: u8) -> Kind {
    KINDS[usize::from(code & 7)]
}

/// Whether the first input spends no output.
pub(crate) fn has_base(kind: Kind) -> bool {
    matches!(kind, Kind::Coinbase | Kind::Vote | Kind::Treasurybase | Kind::TreasurySpend)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_comes_back() {
        for (place, kind) in (0u8..).zip(KINDS) {
            assert_eq!((code(kind), of_code(place)), (place, kind));
        }
    }
}
