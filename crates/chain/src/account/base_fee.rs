//! What the next block's base fee is (EIP-1559).
//!
//! Source: EIP-1559, and go-ethereum 1.17, consensus/misc/eip1559/eip1559.go. Invariant: every
//! division floors, in the order of the rule.

use super::U256;

/// `ELASTICITY_MULTIPLIER`.
const ELASTICITY: u64 = 2;
/// `BASE_FEE_MAX_CHANGE_DENOMINATOR`.
const DENOMINATOR: u64 = 8;

/// The base fee of the block after one with these numbers.
pub fn next_base_fee(base_fee: U256, gas_used: u64, gas_limit: u64) -> U256 {
    let target = gas_limit / ELASTICITY;
    if gas_used == target || target == 0 {
        return base_fee;
    }
    let part = |gas: u64| {
        // A base fee that no block can have stays what it is rather than to wrap.
        let product = base_fee.checked_mul(U256::from(gas)).unwrap_or_default();
        product / U256::from(target) / U256::from(DENOMINATOR)
    };
    match gas_used > target {
        true => base_fee.saturating_add(part(gas_used - target).max(U256::from(1))),
        false => base_fee.saturating_sub(part(target - gas_used)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_go_ethereum_hold() {
        let next =
            |base: u64, used, limit| next_base_fee(U256::from(base), used, limit).to::<u64>();
        assert_eq!(next(1_000_000_000, 10_000_000, 20_000_000), 1_000_000_000);
        assert_eq!(next(1_000_000_000, 9_000_000, 20_000_000), 987_500_000);
        assert_eq!(next(1_000_000_000, 11_000_000, 20_000_000), 1_012_500_000);
        assert_eq!(next(7, 11_000_000, 20_000_000), 8);
        assert_eq!(next(5, 7, 0), 5);
        assert_eq!(next_base_fee(U256::MAX, u64::MAX, 2), U256::MAX);
    }
}
