//! What is known of one node: what its probes said, and whether its calls fail.
//!
//! Asking is left to `probe`, choosing to `choice`. Invariant: everything a choice needs is read
//! without a lock; an ejected node comes back only after its time is over, and where probes run,
//! only after one of them succeeded since.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::watch;

use crate::complaints::Complaints;
use crate::config::Ejection;
use crate::state_lines::StateLines;

const NO_HEIGHT: u64 = u64::MAX;

/// What the probes make of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No probe understood the node yet; it counts as usable.
    Unprobed,
    /// The right chain, and synced.
    Ready,
    /// The right chain as far as seen, but syncing or warming up.
    Syncing,
    /// Another chain: never used.
    Foreign,
    /// It answers, but refuses us: our credentials, our address, its host name. Used where nothing
    /// better is left, since credentials may be mended at any time.
    Refused,
}

impl Verdict {
    fn from_byte(byte: u8) -> Verdict {
        [Verdict::Unprobed, Verdict::Ready, Verdict::Syncing, Verdict::Foreign, Verdict::Refused]
            [usize::from(byte.min(4))]
    }
}

/// The facts of a node's last probes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// Whether the last probe reached the node; `None` before the first one.
    pub(crate) reachable: Option<bool>,
    /// Text such as `/Satoshi:28.0.0/`.
    pub(crate) version: Option<String>,
    /// Whether genesis, fork block, user agent and chain id are right.
    pub(crate) identity: Option<bool>,
    /// What is wrong, for people.
    pub(crate) note: Option<String>,
}

/// What is known of one node.
pub(crate) struct Health {
    born: Instant,
    ejection: Ejection,
    verdict: AtomicU8,
    height: AtomicU64,
    /// How often the tip was seen or said to be another one.
    tip_changes: AtomicU64,
    version_number: AtomicU64,
    call_failures: AtomicU32,
    probe_failures: AtomicU32,
    ejected: AtomicBool,
    /// Milliseconds since `born`.
    ejected_until_ms: AtomicU64,
    /// Ejections in a row, which the time out grows with.
    ejections: AtomicU32,
    /// Probes run, and decide when an ejected node comes back.
    pub(crate) probing: AtomicBool,
    facts: Mutex<Arc<Facts>>,
    /// Calls that failed, for the log.
    pub(crate) complaints: Complaints,
    /// Changes of its state, for the log.
    pub(crate) state_lines: StateLines,
    pub(crate) probed: watch::Sender<bool>,
}

impl Health {
    pub(crate) fn new(ejection: Ejection) -> Arc<Health> {
        Arc::new(Health {
            born: Instant::now(),
            ejection,
            verdict: AtomicU8::new(Verdict::Unprobed as u8),
            height: AtomicU64::new(NO_HEIGHT),
            tip_changes: AtomicU64::new(0),
            version_number: AtomicU64::new(0),
            call_failures: AtomicU32::new(0),
            probe_failures: AtomicU32::new(0),
            ejected: AtomicBool::new(false),
            ejected_until_ms: AtomicU64::new(0),
            ejections: AtomicU32::new(0),
            probing: AtomicBool::new(false),
            facts: Mutex::default(),
            complaints: Complaints::default(),
            state_lines: StateLines::default(),
            probed: watch::Sender::new(false),
        })
    }

    pub(crate) fn verdict(&self) -> Verdict {
        Verdict::from_byte(self.verdict.load(Relaxed))
    }

    /// Height of the best block that the last understood probe saw.
    pub(crate) fn height(&self) -> Option<u64> {
        Some(self.height.load(Relaxed)).filter(|height| *height != NO_HEIGHT)
    }

    /// `getnetworkinfo.version`, e.g. 280000; 0 where unknown.
    pub(crate) fn version_number(&self) -> u64 {
        self.version_number.load(Relaxed)
    }

    pub(crate) fn facts(&self) -> Arc<Facts> {
        Arc::clone(&self.lock())
    }

    pub(crate) fn change_facts(&self, change: impl FnOnce(&mut Facts)) {
        change(Arc::make_mut(&mut self.lock()));
    }

    pub(crate) fn set_verdict(&self, verdict: Verdict) {
        self.verdict.store(verdict as u8, Relaxed);
    }

    pub(crate) fn set_height(&self, height: u64) {
        if self.height.swap(height, Relaxed) != height {
            self.tip_changed();
        }
    }

    /// The node has another tip, by whatever news.
    pub(crate) fn tip_changed(&self) {
        self.tip_changes.fetch_add(1, Relaxed);
    }

    /// How often it was so.
    pub(crate) fn tip_changes(&self) -> u64 {
        self.tip_changes.load(Relaxed)
    }

    pub(crate) fn forget_height(&self) {
        self.height.store(NO_HEIGHT, Relaxed);
    }

    pub(crate) fn set_version_number(&self, number: u64) {
        self.version_number.store(number, Relaxed);
    }

    /// The node answered a call.
    pub(crate) fn call_answered(&self) {
        if self.call_failures.load(Relaxed) != 0 {
            self.call_failures.store(0, Relaxed);
        }
        if self.ejected.load(Relaxed) && !self.probing.load(Relaxed) && !self.is_timed_out() {
            self.come_back();
        }
    }

    /// A call failed in a way that speaks against the node.
    pub(crate) fn call_failed(&self) {
        if self.call_failures.fetch_add(1, Relaxed) + 1 >= self.ejection.failures {
            self.call_failures.store(0, Relaxed);
            self.eject();
        }
    }

    /// A probe got an answer.
    pub(crate) fn probe_answered(&self) {
        self.probe_failures.store(0, Relaxed);
        if self.ejected.load(Relaxed) && !self.is_timed_out() {
            self.come_back();
        }
    }

    /// A probe failed in a way that speaks against the node.
    pub(crate) fn probe_failed(&self) {
        if self.probe_failures.fetch_add(1, Relaxed) + 1 >= self.ejection.failures {
            self.probe_failures.store(self.ejection.failures - 1, Relaxed);
            self.eject();
        }
    }

    /// Whether the node is to be left out while there are others.
    pub(crate) fn is_ejected(&self) -> bool {
        self.ejected.load(Relaxed) && (self.probing.load(Relaxed) || self.is_timed_out())
    }

    fn is_timed_out(&self) -> bool {
        self.now_ms() < self.ejected_until_ms.load(Relaxed)
    }

    fn eject(&self) {
        // Calls that were under way when the node was ejected make it no worse.
        if self.ejected.load(Relaxed) && self.is_timed_out() {
            return;
        }
        let now = self.now_ms();
        let back_for = now.saturating_sub(self.ejected_until_ms.load(Relaxed));
        let longest = self.ejection.longest;
        if back_for > 5 * longest.as_millis() as u64 {
            self.ejections.store(0, Relaxed);
        }
        let earlier = self.ejections.fetch_add(1, Relaxed);
        let doubled = self.ejection.first.saturating_mul(1 << earlier.min(16));
        self.ejected_until_ms.store(now + doubled.min(longest).as_millis() as u64, Relaxed);
        self.ejected.store(true, Relaxed);
    }

    fn come_back(&self) {
        self.ejected.store(false, Relaxed);
        self.call_failures.store(0, Relaxed);
        self.probe_failures.store(0, Relaxed);
    }

    fn now_ms(&self) -> u64 {
        self.born.elapsed().as_millis() as u64
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Facts>> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn health() -> Arc<Health> {
        Health::new(Ejection {
            failures: 3,
            first: Duration::from_millis(40),
            longest: Duration::from_millis(400),
        })
    }

    #[test]
    fn failures_in_a_row_eject_and_an_answer_between_them_does_not() {
        let health = health();
        for _ in 0..5 {
            health.call_failed();
            health.call_failed();
            health.call_answered();
        }
        assert!(!health.is_ejected());
        (0..3).for_each(|_| health.call_failed());
        assert!(health.is_ejected());
    }

    #[test]
    fn probed_node_comes_back_only_by_a_probe_after_its_time() {
        let health = health();
        health.probing.store(true, Relaxed);
        (0..3).for_each(|_| health.call_failed());
        health.probe_answered();
        assert!(health.is_ejected(), "its time is not over");
        std::thread::sleep(Duration::from_millis(50));
        assert!(health.is_ejected(), "no probe succeeded yet");
        health.probe_failed();
        assert!(health.is_ejected());
        health.probe_answered();
        assert!(!health.is_ejected());
    }

    #[test]
    fn time_out_doubles_up_to_its_bound() {
        let health = health();
        let mut last = 0;
        for round in 0..6 {
            (0..3).for_each(|_| health.call_failed());
            let lasts = health.ejected_until_ms.load(Relaxed) - health.now_ms();
            assert!(lasts > last || round >= 4, "round {round}: {lasts} after {last}");
            assert!(lasts <= 400);
            last = lasts;
            // The time is over.
            health.ejected_until_ms.store(health.now_ms(), Relaxed);
        }
    }
}
