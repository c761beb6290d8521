//! An answer's body while it is being read: its connection, its place at the node, its limits.
//!
//! No timer runs per answer: a pool's watch looks at all of them now and then, so that also an
//! answer nobody polls any more is ended. Invariant: connection and lease are given back together,
//! once, and before the last byte is handed out.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::connection::Connection;
use crate::connections::Connections;
use crate::gate::Lease;
use crate::health::Health;
use crate::witness::Witness;
use crate::{Cause, NodeError, PoolConfig};

/// Limits of an answer's size, time and reader.
#[derive(Clone, Copy)]
pub(crate) struct FlowLimits {
    /// Bytes.
    pub(crate) response: u64,
    whole: Duration,
    whole_fast: Duration,
    window: Duration,
    /// Bytes in a window.
    fast: u64,
    slow: u64,
}

impl FlowLimits {
    pub(crate) fn new(config: &PoolConfig) -> FlowLimits {
        let window = config.reader_window;
        let in_window = |rate: u64| (rate as f64 * window.as_secs_f64()) as u64;
        FlowLimits {
            response: config.response_limit,
            whole: config.timeouts.whole,
            whole_fast: config.timeouts.whole_fast,
            window,
            fast: in_window(config.fast_reader_bytes_per_sec),
            slow: in_window(config.slow_reader_bytes_per_sec),
        }
    }
}

/// The body of one answer on its way from a node to its reader.
pub(crate) struct Flow(Mutex<State>);

struct State {
    /// `None` once the answer ended, whichever way.
    reading: Option<Reading>,
    error: Option<NodeError>,
    waker: Option<Waker>,
    limits: FlowLimits,
    /// Bytes that the node still owes, where it told the length.
    remaining: Option<u64>,
    passed: u64,
    started: Instant,
    window: Window,
}

/// What is given back at the end.
struct Reading {
    connection: Box<Connection>,
    /// Pieces that came together with the head.
    first: VecDeque<Bytes>,
    lease: Lease,
    connections: Arc<Connections>,
    health: Arc<Health>,
    witness: Witness,
}

/// The time over which a reader is judged.
struct Window {
    since: Instant,
    passed_before: u64,
    /// Bytes in the last window that is complete.
    last: u64,
    /// The reader has what came and has not asked for more.
    with_reader: bool,
}

/// The parts of an answer whose head was read.
pub(crate) struct Opening {
    pub(crate) connection: Box<Connection>,
    pub(crate) first: VecDeque<Bytes>,
    pub(crate) lease: Lease,
    pub(crate) connections: Arc<Connections>,
    pub(crate) health: Arc<Health>,
    pub(crate) witness: Witness,
    pub(crate) length: Option<u64>,
    /// When the attempt began.
    pub(crate) started: Instant,
}

impl Flow {
    pub(crate) fn new(opening: Opening, limits: FlowLimits) -> Arc<Flow> {
        let Opening { connection, first, lease, connections, health, witness, length, started } =
            opening;
        Arc::new(Flow(Mutex::new(State {
            reading: Some(Reading { connection, first, lease, connections, health, witness }),
            error: None,
            waker: None,
            limits,
            remaining: length,
            passed: 0,
            started,
            window: Window { since: Instant::now(), passed_before: 0, last: 0, with_reader: false },
        })))
    }

    /// The next piece of the body, and whether nothing more will come.
    pub(crate) fn poll_data(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<(Option<Result<Bytes, NodeError>>, bool)> {
        let mut state = self.lock();
        let next = state.poll_data(cx);
        state.window.with_reader = next.is_ready();
        let over = state.reading.is_none() && state.error.is_none();
        next.map(|next| (next, over))
    }

    /// Bytes still to come, where the node told the length.
    pub(crate) fn remaining(&self) -> Option<u64> {
        self.lock().remaining
    }

    /// Ends the answer if it took too long or is read too slowly. Whether it still goes on.
    pub(crate) fn watch(&self, now: Instant) -> bool {
        let mut state = self.lock();
        if let Some(cause) = state.overdue(now) {
            // A reader who did not come back for more is not the node's fault.
            let blamed = cause != Cause::SlowReader && !state.window.with_reader;
            state.fail(NodeError::answered(cause), blamed);
            if let Some(waker) = state.waker.take() {
                waker.wake();
            }
        }
        state.reading.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, NodeError>>> {
        let Some(reading) = &mut self.reading else {
            return Poll::Ready(self.error.take().map(Err));
        };
        let next = match reading.first.pop_front() {
            Some(first) => Poll::Ready(Some(Ok(first))),
            None => reading.connection.poll_data(cx),
        };
        if next.is_pending() && !self.waker.as_ref().is_some_and(|w| w.will_wake(cx.waker())) {
            self.waker = Some(cx.waker().clone());
        }
        match ready!(next) {
            Some(Ok(data)) => Poll::Ready(Some(self.pass(data))),
            Some(Err(error)) => {
                self.fail(NodeError::answered(Cause::Broken).detail(error), true);
                Poll::Ready(self.error.take().map(Err))
            }
            None => Poll::Ready(self.finish().err().map(Err)),
        }
    }

    fn pass(&mut self, data: Bytes) -> Result<Bytes, NodeError> {
        let bytes = data.len() as u64;
        self.passed += bytes;
        if self.passed > self.limits.response {
            self.reading = None;
            return Err(NodeError::answered(Cause::TooLarge));
        }
        if let Some(remaining) = &mut self.remaining {
            *remaining = remaining.saturating_sub(bytes);
        }
        let Some(reading) = &mut self.reading else { return Ok(data) };
        if !reading.witness.see(&data) {
            return Err(self.disown());
        }
        if reading.first.is_empty() && reading.connection.is_over() {
            self.finish()?;
        }
        Ok(data)
    }

    /// Gives back connection and place, unless the answer was another call's.
    fn finish(&mut self) -> Result<(), NodeError> {
        if self.reading.as_mut().is_some_and(|reading| !reading.witness.end()) {
            return Err(self.disown());
        }
        if let Some(Reading { connection, connections, lease, .. }) = self.reading.take() {
            // The connection first: whoever gets the slot shall find it.
            connections.put_back(connection);
            drop(lease);
        }
        Ok(())
    }

    /// Ends an answer to another call, and its connection with it.
    fn disown(&mut self) -> NodeError {
        self.fail(NodeError::answered(Cause::Stray), true);
        self.error.take().unwrap_or_else(|| NodeError::answered(Cause::Stray))
    }

    fn fail(&mut self, error: NodeError, blamed: bool) {
        if let Some(reading) = self.reading.take() {
            if blamed {
                reading.health.call_failed();
                reading.health.complaints.add(&format_args!("an answer broke off: {error}"));
            }
            self.error = Some(error.reused(reading.connection.is_reused()));
        }
    }

    fn overdue(&mut self, now: Instant) -> Option<Cause> {
        let lease = &self.reading.as_ref()?.lease;
        let limits = &self.limits;
        let took = now.saturating_duration_since(self.started);
        if took >= limits.whole_fast || (took >= limits.whole && self.window.last < limits.fast) {
            return Some(Cause::TimedOutWhole);
        }
        if now.saturating_duration_since(self.window.since) < limits.window {
            return None;
        }
        self.window.last = self.passed - self.window.passed_before;
        self.window.passed_before = self.passed;
        self.window.since = now;
        let slow = self.window.last < limits.slow && self.window.with_reader;
        let slow = slow && lease.contended_within(limits.window);
        slow.then_some(Cause::SlowReader)
    }
}

/// The bodies that are being read from the nodes of a pool, also from those that a reload took out
/// of it.
#[derive(Default)]
pub(crate) struct Flows(Mutex<Vec<Weak<Flow>>>);

impl Flows {
    pub(crate) fn add(&self, flow: &Arc<Flow>) {
        let mut flows = self.lock();
        if flows.len() == flows.capacity() {
            flows.retain(|flow| flow.strong_count() > 0);
        }
        flows.push(Arc::downgrade(flow));
    }

    /// Looks at each of them; forgets those that ended.
    pub(crate) fn watch(&self, now: Instant) {
        self.lock().retain(|flow| flow.upgrade().is_some_and(|flow| flow.watch(now)));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Flow>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
