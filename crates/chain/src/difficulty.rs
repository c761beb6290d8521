//! The difficulty that a target stands for, as nodes tell it.
//!
//! Invariant: a client reads the same number from the node and from here.

/// How a target in compact form is told as a difficulty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DifficultyScale {
    /// The target, in compact form, whose difficulty is 1.
    pub unit: u32,
    /// How the node rounds.
    pub rounding: Rounding,
}

/// How a node rounds a difficulty before it prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Not at all: as many digits as tell the number from its neighbours.
    None,
    /// To so many digits.
    Digits(u8),
    /// To so many decimal places.
    Places(u8),
}

impl DifficultyScale {
    /// That of Bitcoin and its near relatives.
    pub const BITCOIN: DifficultyScale =
        DifficultyScale { unit: 0x1d00_ffff, rounding: Rounding::Digits(16) };

    /// The difficulty of a target in compact form; 0 where it is no target.
    ///
    /// Sources: Bitcoin Core, src/rpc/blockchain.cpp, GetDifficulty, which relatives have with
    /// their own unit, and src/univalue, which prints 16 digits; dcrd, internal/rpcserver/rpcserver.go, getDifficultyRatio, which rounds.
    pub fn of(&self, bits: u32) -> f64 {
        let (mantissa, unit) = (bits & 0x00ff_ffff, self.unit & 0x00ff_ffff);
        if mantissa == 0 {
            return 0.0;
        }
        let mut difficulty = f64::from(unit) / f64::from(mantissa);
        let (mut shift, unit_shift) = (bits >> 24, self.unit >> 24);
        while shift < unit_shift {
            difficulty *= 256.0;
            shift += 1;
        }
        while shift > unit_shift {
            difficulty /= 256.0;
            shift -= 1;
        }
        let text = match self.rounding {
            Rounding::None => return difficulty,
            Rounding::Digits(digits) => format!("{difficulty:.*e}", usize::from(digits) - 1),
            Rounding::Places(places) => format!("{difficulty:.*}", usize::from(places)),
        };
        text.parse().unwrap_or(difficulty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;

    #[test]
    fn difficulty_is_the_nodes() {
        let scale = DifficultyScale::BITCOIN;
        assert_eq!(scale.of(0x1d00_ffff), 1.0);
        assert_eq!(scale.of(0x207f_ffff), 4.656542373906925e-10);
        assert_eq!(scale.of(0x1b04_04cb), 16307.42093852398);
        assert_eq!(scale.of(0), 0.0);
        assert!(scale.of(0xff00_0001).is_finite());
    }

    /// A mainnet block of Decred at height 432,100, as dcrd's own test data has it, and the limits.
    #[test]
    fn each_network_has_its_own_unit() {
        let scale = |slug: &str, network: &str| {
            find(slug).unwrap().network(network).unwrap().difficulty.unwrap()
        };
        assert_eq!(scale("dcr", "simnet").of(0x207f_ffff), 1.0);
        assert_eq!(scale("zec", "regtest").of(0x200f_0f0f), 1.0);
        assert_eq!(scale("zec", "mainnet").of(0x1f07_ffff), 1.0);
        assert_eq!(scale("zec", "mainnet").of(0x1e07_ffff), 256.0);
        assert_eq!(scale("dcr", "mainnet").of(0x1827_0fe2), 28147398026.656624);
        assert!(find("eth").unwrap().mainnet().difficulty.is_none());
    }
}
