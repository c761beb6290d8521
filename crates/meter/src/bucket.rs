//! The token bucket: a GCRA with debt in one word.
//!
//! The word is the moment at which the bucket will be full again, on the monotonic clock. As the
//! burst of a plan is its rate (decision B4), a full bucket is always one second, whatever the
//! plan; changing the plan keeps how full it is. A batch of more calls than the burst is admitted
//! from a full bucket and pushes that moment more than a second away: debt, paid back before the
//! next call (decision B5). Invariant: over any time, calls admitted <= burst + rate × time, but
//! for the debt still open.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Ticks of a second. Divisible by 1 to 16, 18, 20, 24, 25, 30, 32, 40, 50, 60 and every power of
/// ten to 100,000, so that a token of these rates is a whole number of ticks and the long-run
/// rate is exact; any other rate is off by less than one tick a call. A word lasts 40 years.
const SECOND: u64 = 14_414_400_000;

/// A bucket of tokens.
#[derive(Debug, Default)]
pub(crate) struct Bucket {
    full_at: AtomicU64,
}

/// A bucket after tokens were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    /// Whole tokens left, 0 in debt.
    pub(crate) remaining: u32,
    /// Whole seconds until full, rounded up; 0 when full.
    pub(crate) reset_secs: u64,
}

impl Bucket {
    /// Takes `tokens` if at least the smaller of `tokens` and `burst` are there. Otherwise takes
    /// none and says how many whole seconds to wait, at least 1.
    #[inline]
    pub(crate) fn take(&self, mono: Duration, tokens: u32, burst: u32) -> Result<Level, u64> {
        let now = ticks(mono);
        let needed = cost(tokens.min(burst), burst);
        let mut full_at = self.full_at.load(Ordering::Relaxed);
        loop {
            let missing = full_at.saturating_sub(now);
            let filled_after = missing.saturating_add(needed);
            if filled_after > SECOND {
                return Err((filled_after - SECOND).div_ceil(SECOND).max(1));
            }
            let next = full_at.max(now).saturating_add(cost(tokens, burst));
            match self.full_at.compare_exchange_weak(
                full_at,
                next,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Ok(level(next - now, burst)),
                Err(other) => full_at = other,
            }
        }
    }

    /// Takes tokens that were paid elsewhere, as far as they are there.
    pub(crate) fn note(&self, mono: Duration, tokens: u32, burst: u32) {
        let now = ticks(mono);
        let take = |full_at: u64| {
            let empty_at = now.saturating_add(SECOND);
            let next = full_at.max(now).saturating_add(cost(tokens, burst));
            // What is in debt already is not put deeper.
            Some(next.min(empty_at.max(full_at)))
        };
        let _ = self.full_at.fetch_update(Ordering::AcqRel, Ordering::Relaxed, take);
    }

    /// Tokens that are missing until it is full, rounded up.
    pub(crate) fn missing(&self, mono: Duration, burst: u32) -> u32 {
        let missing = self.full_at.load(Ordering::Relaxed).saturating_sub(ticks(mono));
        let tokens = u128::from(missing) * u128::from(burst);
        u32::try_from(tokens.div_ceil(u128::from(SECOND))).unwrap_or(u32::MAX)
    }
}

fn level(missing: u64, burst: u32) -> Level {
    let left = u128::from(SECOND.saturating_sub(missing)) * u128::from(burst);
    // Below 100,000: the quotient is at most the burst.
    Level { remaining: (left / u128::from(SECOND)) as u32, reset_secs: missing.div_ceil(SECOND) }
}

/// What tokens cost in ticks, rounded down, so that a full bucket holds the whole burst.
fn cost(tokens: u32, burst: u32) -> u64 {
    match tokens == burst {
        true => SECOND,
        false => u64::from(tokens).saturating_mul(SECOND / u64::from(burst.max(1))),
    }
}

fn ticks(mono: Duration) -> u64 {
    // 14.4144 ticks a nanosecond.
    let rest = u64::from(mono.subsec_nanos()) * 9009 / 625;
    mono.as_secs().saturating_mul(SECOND).saturating_add(rest)
}

#[cfg(test)]
mod tests;
