//! The end of a process, seen from its listeners.
//!
//! Counts answers in flight and tells listeners and services how far the end has come. Leaves
//! signals to the program. Invariant: phases only go forward, and an answer counts as in flight
//! from its request's head until its last byte has been handed to the socket.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout_at};

/// How far the end of a process has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Everything is served.
    Serving,
    /// Everything is served, with `Connection: close`; a load balancer learns from readiness.
    Draining,
    /// The socket is closed; what arrives on open connections is to be refused.
    Closed,
    /// No answer is in flight any more, or the time is up; connections are closed.
    Ended,
}

/// A handle on the end of a process; clones share it.
#[derive(Debug, Clone)]
pub struct Drain(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    phase: watch::Sender<Phase>,
    /// The same for those who do not wait for it: each request asks several times.
    now: AtomicU8,
    in_flight: AtomicUsize,
    finished: Notify,
}

impl Default for Drain {
    fn default() -> Self {
        Drain::new()
    }
}

impl Drain {
    /// A drain that has not begun.
    pub fn new() -> Drain {
        Drain(Arc::new(Inner {
            phase: watch::Sender::new(Phase::Serving),
            now: AtomicU8::new(Phase::Serving as u8),
            in_flight: AtomicUsize::new(0),
            finished: Notify::new(),
        }))
    }

    /// Returns the present phase.
    pub fn phase(&self) -> Phase {
        match self.0.now.load(Ordering::Acquire) {
            0 => Phase::Serving,
            1 => Phase::Draining,
            2 => Phase::Closed,
            _ => Phase::Ended,
        }
    }

    /// Has the end begun? Readiness fails from then on, and answers carry `Connection: close`.
    pub fn is_draining(&self) -> bool {
        self.phase() >= Phase::Draining
    }

    /// Is what still arrives on open connections to be refused?
    pub fn is_refusing(&self) -> bool {
        self.phase() >= Phase::Closed
    }

    /// Returns the answers in flight.
    pub fn in_flight(&self) -> usize {
        self.0.in_flight.load(Ordering::Acquire)
    }

    /// Returns when `phase` or a later one is reached.
    pub async fn reached(&self, phase: Phase) {
        let mut phases = self.0.phase.subscribe();
        // The sender lives in this very handle, so waiting cannot fail.
        let _ = phases.wait_for(|now| *now >= phase).await;
    }

    /// Ends: serves for `grace` more, closes the socket, waits at most `limit` for the answers in
    /// flight, then closes the connections.
    ///
    /// Returns how many answers were cut off.
    pub async fn end(&self, grace: Duration, limit: Duration) -> usize {
        self.advance(Phase::Draining);
        sleep(grace).await;
        self.advance(Phase::Closed);
        let deadline = Instant::now() + limit;
        while self.in_flight() > 0 {
            let finished = self.0.finished.notified();
            // An answer that finished before `notified` was called is seen here.
            if self.in_flight() == 0 || timeout_at(deadline, finished).await.is_err() {
                break;
            }
        }
        let cut = self.in_flight();
        self.advance(Phase::Ended);
        cut
    }

    fn advance(&self, to: Phase) {
        self.0.phase.send_if_modified(|now| {
            let forward = *now < to;
            *now = (*now).max(to);
            // Before anybody is woken.
            self.0.now.store(*now as u8, Ordering::Release);
            forward
        });
    }

    pub(crate) fn enter(&self) {
        self.0.in_flight.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn leave(&self) {
        if self.0.in_flight.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.finished.notify_waiters();
        }
    }
}
