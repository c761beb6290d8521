//! What one connection is doing, seen from both of its ends.
//!
//! The service side says when an answer begins and when its body is done, the socket side when
//! bytes come and go; the two never know of each other. Decides when a connection has waited too
//! long. Invariant: whoever counted an answer into the drain counts it out exactly once.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

use crate::drain::Drain;
use crate::limits::Limits;
use crate::unread::Unread;

/// No request yet and no byte of one.
const FRESH: u8 = 0;
/// Between two requests.
const IDLE: u8 = 1;
/// Some bytes of a head have come.
const HEAD: u8 = 2;
/// The service works on a request, or its answer's body is not done.
const ACTIVE: u8 = 3;
/// The body is done, its last bytes are not yet with the socket.
const FINISHING: u8 = 4;

/// Not blocked, in `blocked_since_ms`.
const NOT_BLOCKED: u64 = u64::MAX;

/// The state of one connection, shared by its socket and its service.
#[derive(Debug)]
pub(crate) struct Watch {
    drain: Drain,
    opened: Instant,
    /// The same by the coarse clock, in milliseconds.
    opened_ms: u64,
    state: AtomicU8,
    /// When the present wait began, in milliseconds after `opened`.
    since_ms: AtomicU64,
    /// When a write first found the socket full, in milliseconds after `opened`.
    blocked_since_ms: AtomicU64,
    /// There was a request.
    asked: AtomicBool,
    /// An answer broke off.
    broken: AtomicBool,
    /// What the service left of the request's body.
    unread: Mutex<Option<Unread>>,
}

/// What is to be done about a connection now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing before this instant.
    LookAgain(Instant),
    /// Close it: nobody waits for anything.
    Close,
    /// A head has begun and does not end: refuse, then close.
    HeadTooSlow,
    /// The client does not read its answer: close.
    Stalled,
}

impl Watch {
    pub(crate) fn new(drain: Drain) -> Arc<Watch> {
        Arc::new(Watch {
            drain,
            opened: Instant::now(),
            opened_ms: coarse_ms(),
            state: AtomicU8::new(FRESH),
            since_ms: AtomicU64::new(0),
            blocked_since_ms: AtomicU64::new(NOT_BLOCKED),
            asked: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            unread: Mutex::default(),
        })
    }

    /// A request's head is complete. The answer is in flight until the guard is dropped and the
    /// socket has taken its last byte.
    pub(crate) fn begin(self: &Arc<Watch>) -> Answering {
        if self.state.swap(ACTIVE, Ordering::AcqRel) < ACTIVE {
            self.drain.enter();
        }
        self.asked.store(true, Ordering::Release);
        Answering(Arc::clone(self))
    }

    /// Is the service at work, or its body not done?
    pub(crate) fn is_active(&self) -> bool {
        self.state.load(Ordering::Acquire) == ACTIVE
    }

    /// Would a client that sees the connection end now take a part of an answer for the whole?
    pub(crate) fn is_cut_off(&self) -> bool {
        self.broken.load(Ordering::Acquire) || self.state.load(Ordering::Acquire) >= ACTIVE
    }

    /// The body of an answer failed.
    pub(crate) fn broke_off(&self) {
        self.broken.store(true, Ordering::Release);
    }

    /// Takes back a body that the service did not read to its end.
    pub(crate) fn leave_unread(&self, unread: Unread) {
        *self.unread.lock().unwrap_or_else(PoisonError::into_inner) = Some(unread);
    }

    /// What the service left of the request's body, if anything.
    pub(crate) fn take_unread(&self) -> Option<Unread> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Bytes came from the client.
    pub(crate) fn received(&self) {
        if self.state.load(Ordering::Acquire) < HEAD {
            self.since_ms.store(self.elapsed_ms(), Ordering::Release);
            self.state.store(HEAD, Ordering::Release);
        }
    }

    /// Everything written so far is with the socket.
    pub(crate) fn flushed(&self) {
        if self.state.load(Ordering::Acquire) == FINISHING {
            self.since_ms.store(self.elapsed_ms(), Ordering::Release);
            self.state.store(IDLE, Ordering::Release);
            self.drain.leave();
        }
    }

    /// The socket took bytes, or (`false`) is full.
    pub(crate) fn wrote(&self, progress: bool) {
        let blocked = self.blocked_since_ms.load(Ordering::Acquire) != NOT_BLOCKED;
        if progress && blocked {
            self.blocked_since_ms.store(NOT_BLOCKED, Ordering::Release);
        } else if !progress && !blocked {
            self.blocked_since_ms.store(self.elapsed_ms(), Ordering::Release);
        }
    }

    /// Until when a connection that has brought no request yet may still bring one, if it may:
    /// whoever was let in a moment ago has it on its way.
    pub(crate) fn first_words_until(&self, wait: Duration) -> Option<Instant> {
        let until = self.opened + wait;
        let none_yet = !self.asked.load(Ordering::Acquire);
        (none_yet && Instant::now() < until).then_some(until)
    }

    /// Judges the connection. `crowded`: connections are scarce, so idle ones are not kept long.
    pub(crate) fn judge(&self, limits: &Limits, crowded: bool) -> Verdict {
        let now = Instant::now();
        let at = |ms: u64, wait: Duration| self.opened + Duration::from_millis(ms) + wait;
        let blocked = self.blocked_since_ms.load(Ordering::Acquire);
        if blocked != NOT_BLOCKED && now >= at(blocked, limits.write_stall_timeout) {
            return Verdict::Stalled;
        }
        let since = self.since_ms.load(Ordering::Acquire);
        let idle_timeout = if crowded {
            limits.idle_timeout.min(limits.head_timeout)
        } else {
            limits.idle_timeout
        };
        let (deadline, verdict) = match self.state.load(Ordering::Acquire) {
            FRESH => (at(since, limits.head_timeout), Verdict::Close),
            IDLE => (at(since, idle_timeout), Verdict::Close),
            HEAD => (at(since, limits.head_timeout), Verdict::HeadTooSlow),
            _ => return Verdict::LookAgain(now + limits.head_timeout),
        };
        if now >= deadline {
            return verdict;
        }
        // A head that begins after now cannot be late before now + head_timeout.
        Verdict::LookAgain(deadline.min(now + limits.head_timeout))
    }

    fn elapsed_ms(&self) -> u64 {
        coarse_ms().saturating_sub(self.opened_ms)
    }
}

/// Milliseconds of the clock that the kernel moves some hundred times a second. Each request asks
/// twice, for limits of seconds.
fn coarse_ms() -> u64 {
    let now = clock_gettime(ClockId::MonotonicCoarse);
    let [secs, nanos] =
        [now.tv_sec, now.tv_nsec].map(|part| u64::try_from(part).unwrap_or_default());
    secs * 1000 + nanos / 1_000_000
}

impl Drop for Watch {
    fn drop(&mut self) {
        if *self.state.get_mut() >= ACTIVE {
            self.drain.leave();
        }
    }
}

/// Held by the service call and then by the body of its answer.
#[derive(Debug)]
pub(crate) struct Answering(Arc<Watch>);

impl Answering {
    /// The connection's watch.
    pub(crate) fn watch(&self) -> &Arc<Watch> {
        &self.0
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.state.store(FINISHING, Ordering::Release);
    }
}
