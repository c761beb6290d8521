//! What a block created: the reward of its miner and of the uncles' (proof of work).
//!
//! Source: go-ethereum 1.17, consensus/ethash/consensus.go, `accumulateRewards`; heights of the
//! forks in params/config.go. Invariant: a block without difficulty created nothing.

use std::fmt;

use super::U256;

const ETHER: u64 = 1_000_000_000_000_000_000;

/// The heights from which the reward is lower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RewardForks {
    /// From here on 3 ether instead of 5.
    pub byzantium: u64,
    /// From here on 2 ether.
    pub constantinople: u64,
    /// From here on nothing, where blocks have a difficulty but no reward, as signers give them
    /// (clique). A block without difficulty has none anyway.
    pub merge: Option<u64>,
}

impl RewardForks {
    /// Those of a chain, by `eth_chainId`: Ethereum's own, or all from the first block on, as
    /// test networks have it.
    pub fn of(chain_id: Option<u64>) -> RewardForks {
        match chain_id {
            Some(1) => RewardForks { byzantium: 4_370_000, constantinople: 7_280_000, merge: None },
            _ => RewardForks::default(),
        }
    }

    fn reward(self, height: u64) -> u64 {
        match height {
            _ if self.merge.is_some_and(|merge| height >= merge) => 0,
            _ if height >= self.constantinople => 2 * ETHER,
            _ if height >= self.byzantium => 3 * ETHER,
            _ => 5 * ETHER,
        }
    }
}

impl fmt::Display for RewardForks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byzantium {}, constantinople {}", self.byzantium, self.constantinople)?;
        self.merge.map_or(Ok(()), |merge| write!(f, ", merge {merge}"))
    }
}

/// What a block created in all; `uncles` are the heights of its uncles.
pub fn issuance(forks: RewardForks, height: u64, difficulty: U256, uncles: &[u64]) -> U256 {
    if difficulty.is_zero() || height == 0 {
        return U256::ZERO;
    }
    let reward = U256::from(forks.reward(height));
    let of_uncle = |uncle: &u64| {
        // An uncle is at most 7 blocks older; any other is none.
        let near = uncle.saturating_add(8).checked_sub(height).filter(|near| (1..8).contains(near));
        near.map_or(U256::ZERO, |near| {
            reward / U256::from(32) + U256::from(near) * reward / U256::from(8)
        })
    };
    uncles.iter().map(of_uncle).fold(reward, U256::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reward_falls_at_its_heights_and_uncles_add_to_it() {
        let forks = RewardForks::of(Some(1));
        let one = U256::from(1);
        let at = |height| issuance(forks, height, one, &[]) / U256::from(ETHER);
        let known = [(4_369_999, 5), (4_370_000, 3), (7_279_999, 3), (7_280_000, 2)];
        for (height, ether) in known {
            assert_eq!(at(height), U256::from(ether), "{height}");
        }
        assert_eq!(issuance(forks, 15_537_394, U256::ZERO, &[]), U256::ZERO);
        assert_eq!(issuance(forks, 0, one, &[]), U256::ZERO);
        let early = issuance(forks, 3, one, &[2]);
        assert_eq!(early.to_string(), "9531250000000000000");
        assert_eq!(issuance(forks, 30, one, &[2, u64::MAX - 8]), U256::from(5 * ETHER));
    }

    #[test]
    fn where_signers_make_blocks_nothing_is_created_whatever_their_difficulty() {
        let forks = RewardForks { byzantium: 0, constantinople: 4, merge: Some(9) };
        let at = |height| issuance(forks, height, U256::from(2), &[height.saturating_sub(1)]);
        let known = [(3, 3), (4, 2), (8, 2)];
        for (height, ether) in known {
            // The reward, a thirty-second of it, and seven eighths for the uncle's miner.
            let reward = U256::from(ether * ETHER);
            let uncle = reward / U256::from(32) + U256::from(7) * reward / U256::from(8);
            assert_eq!(at(height), reward + uncle, "{height}");
        }
        assert_eq!((at(9), at(u64::MAX)), (U256::ZERO, U256::ZERO));
        assert_eq!(forks.to_string(), "byzantium 0, constantinople 4, merge 9");
        assert_eq!(RewardForks::default().to_string(), "byzantium 0, constantinople 0");
    }
}
