//! The part of an account's rate that is this process's, where several are live.
//!
//! Each has an equal share of the plan's rate in whole calls, and the first ones the rest: the shares
//! add up to the rate, unless that is smaller than the number of processes, for nobody is shut out.
//! While the store is away everybody keeps the share that it had. Where the processes have
//! buckets in common (`buckets.rs`) it counts only while those are away.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::store::lender::LiveReplicas;

/// How many are live and which of them this one is.
#[derive(Debug)]
pub(crate) struct Share(AtomicU64);

impl Default for Share {
    /// The whole rate.
    fn default() -> Share {
        Share(AtomicU64::new(1))
    }
}

impl Share {
    /// What the store said last.
    pub(crate) fn set(&self, replicas: LiveReplicas) {
        let word = u64::from(replicas.place) << 32 | u64::from(replicas.live);
        self.0.store(word, Ordering::Relaxed);
    }

    /// How many are live.
    pub(crate) fn live(&self) -> u32 {
        self.0.load(Ordering::Relaxed) as u32
    }

    /// Our part of a rate; it is our burst too (decision B4).
    #[inline]
    pub(crate) fn of(&self, rate: u32) -> u32 {
        let word = self.0.load(Ordering::Relaxed);
        match word as u32 {
            0 | 1 => rate,
            live => (rate / live + u32::from(((word >> 32) as u32) < rate % live)).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_rate_and_nobody_is_shut_out() {
        for rate in 1..200 {
            for live in 1..9 {
                let share = |place| {
                    let share = Share::default();
                    share.set(LiveReplicas { live, place });
                    share.of(rate)
                };
                let sum: u32 = (0..live).map(share).sum();
                assert_eq!(sum, rate.max(live), "{rate} over {live}");
                assert!(share(0) - share(live - 1) <= 1);
            }
        }
        assert_eq!(Share::default().of(40), 40);
    }
}
