//! Invalid keys from one client address (decision B10).
//!
//! The 20th invalid key within 60 s of the first is still answered as invalid; what follows in
//! that window is throttled. Valid keys never come here, so shared addresses keep working.
//! Invariant: the table never holds more than [`MOST_CLIENTS`] addresses.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Invalid keys that are answered as such in a window.
const LIMIT: u32 = 20;
/// Length of a window, from its first invalid key.
const WINDOW: Duration = Duration::from_secs(60);
const SHARDS: usize = 64;
/// Addresses that are remembered; beyond it the oldest of a shard make room.
pub(crate) const MOST_CLIENTS: usize = 65_536;

/// Counts of invalid keys by client network.
#[derive(Debug)]
pub(crate) struct Throttle {
    shards: Vec<Mutex<HashMap<u128, Window>>>,
    hasher: RandomState,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    began: Duration,
    invalid: u32,
}

impl Default for Throttle {
    fn default() -> Throttle {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Throttle { shards, hasher: RandomState::new() }
    }
}

impl Throttle {
    /// Whole seconds that this client's invalid keys are throttled yet, if they are.
    pub(crate) fn blocked(&self, client: IpAddr, now: Duration) -> Option<u64> {
        let network = network(client);
        let shard = self.shard(network).lock().unwrap_or_else(PoisonError::into_inner);
        let window = shard.get(&network).filter(|window| !window.over(now))?;
        (window.invalid >= LIMIT).then(|| window.left_secs(now))
    }

    /// Counts an invalid key. Says how many whole seconds to wait where it is one too many.
    pub(crate) fn count(&self, client: IpAddr, now: Duration) -> Result<(), u64> {
        let network = network(client);
        let mut shard = self.shard(network).lock().unwrap_or_else(PoisonError::into_inner);
        if !shard.contains_key(&network) && shard.len() >= MOST_CLIENTS / SHARDS {
            make_room(&mut shard, now);
        }
        let window = shard.entry(network).or_insert(Window { began: now, invalid: 0 });
        if window.over(now) {
            *window = Window { began: now, invalid: 0 };
        }
        if window.invalid >= LIMIT {
            return Err(window.left_secs(now));
        }
        window.invalid += 1;
        Ok(())
    }

    fn shard(&self, network: u128) -> &Mutex<HashMap<u128, Window>> {
        &self.shards[(self.hasher.hash_one(network) % SHARDS as u64) as usize]
    }
}

impl Window {
    fn over(&self, now: Duration) -> bool {
        now.saturating_sub(self.began) >= WINDOW
    }

    fn left_secs(&self, now: Duration) -> u64 {
        let left = WINDOW.saturating_sub(now.saturating_sub(self.began));
        left.as_secs() + u64::from(left.subsec_nanos() > 0)
    }
}

/// Drops the windows that are over, else the oldest quarter, so that a flood of addresses pays for
/// the search once in many.
fn make_room(shard: &mut HashMap<u128, Window>, now: Duration) {
    let before = shard.len();
    shard.retain(|_, window| !window.over(now));
    if shard.len() < before {
        return;
    }
    let mut begins: Vec<Duration> = shard.values().map(|window| window.began).collect();
    if begins.is_empty() {
        return;
    }
    let (_, oldest_quarter, _) = begins.select_nth_unstable(before / 4);
    let oldest_quarter = *oldest_quarter;
    shard.retain(|_, window| window.began > oldest_quarter);
}

/// An IPv4 address, or the /64 of an IPv6 address. An IPv4 address in IPv6 clothes is IPv4.
fn network(client: IpAddr) -> u128 {
    match client.to_canonical() {
        IpAddr::V4(v4) => u128::from(u32::from(v4)),
        // The mark keeps the two families apart: :: is not 0.0.0.0.
        IpAddr::V6(v6) => u128::from(v6) >> 64 | 1 << 64,
    }
}

#[cfg(test)]
mod tests;
