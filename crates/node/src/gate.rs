//! The slots of one node: who may call it now, who waits, who is refused.
//!
//! Knows nothing of connections or time limits other than the wait in its own queue. Invariant:
//! after every change no waiting caller is admissible, so that a newcomer who finds room overtakes
//! nobody who could use it, and the queue is served first in, first out.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::Busy;

/// Callers that may wait at once. More would not be served within the wait anyway, and a release
/// looks through them.
const LONGEST_QUEUE: usize = 1024;

/// How a call counts against the caps of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Weight {
    /// An ordinary call of a customer.
    Light,
    /// A call that costs the node much: all of them together hold at most a quarter of the slots.
    Heavy,
    /// A call of our own: probes and indexes. May use the reserved slots, and belongs to no
    /// account.
    Internal,
}

/// The caps of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GateCaps {
    slots: usize,
    reserved: usize,
    heavy: usize,
    account: usize,
    open: usize,
    open_account: usize,
    connections: usize,
}

impl GateCaps {
    /// Caps for `slots` calls at once and `open` answers that are still being read after their
    /// slot was freed; both together never use more than `connections`.
    pub(crate) fn new(slots: usize, open: usize, connections: Option<usize>) -> GateCaps {
        let slots = slots.max(1);
        GateCaps {
            slots,
            // One slot alone cannot be kept back: nobody else could ever call.
            reserved: if slots >= 4 { 2 } else { (slots - 1).min(1) },
            heavy: (slots / 4).max(1),
            account: (slots / 2).max(1),
            open,
            open_account: (open / 2).max(1),
            connections: connections.unwrap_or(usize::MAX).max(slots),
        }
    }

    /// Calls and open answers at once, each of which takes a connection.
    pub(crate) fn most(&self) -> usize {
        (self.slots + self.open).min(self.connections)
    }
}

/// The slots of one node.
pub(crate) struct Gate {
    caps: GateCaps,
    queue_wait: Duration,
    born: Instant,
    state: Mutex<State>,
    in_flight: AtomicUsize,
    /// Milliseconds since `born` when a caller last had to wait, plus one; 0 = never.
    last_wait_ms: AtomicU64,
}

#[derive(Default)]
struct State {
    slots: Uses,
    open: Uses,
    queue: VecDeque<Waiter>,
    next_waiter: u64,
}

/// Who uses a kind of place.
#[derive(Default)]
struct Uses {
    total: usize,
    internal: usize,
    heavy: usize,
    accounts: Vec<(u64, usize)>,
}

impl Uses {
    fn of_account(&self, account: u64) -> usize {
        self.accounts.iter().find(|(id, _)| *id == account).map_or(0, |(_, uses)| *uses)
    }

    fn external(&self) -> usize {
        self.total - self.internal
    }

    fn add(&mut self, account: u64, weight: Weight) {
        self.total += 1;
        match weight {
            Weight::Internal => return self.internal += 1,
            Weight::Heavy => self.heavy += 1,
            Weight::Light => {}
        }
        match self.accounts.iter_mut().find(|(id, _)| *id == account) {
            Some((_, uses)) => *uses += 1,
            None => self.accounts.push((account, 1)),
        }
    }

    fn remove(&mut self, account: u64, weight: Weight) {
        self.total -= 1;
        match weight {
            Weight::Internal => return self.internal -= 1,
            Weight::Heavy => self.heavy -= 1,
            Weight::Light => {}
        }
        let place = self.accounts.iter().position(|(id, _)| *id == account);
        let place = place.expect("every use that is removed was added");
        self.accounts[place].1 -= 1;
        if self.accounts[place].1 == 0 {
            self.accounts.swap_remove(place);
        }
    }
}

struct Waiter {
    id: u64,
    account: u64,
    weight: Weight,
    admitted: oneshot::Sender<()>,
}

impl Gate {
    pub(crate) fn new(caps: GateCaps, queue_wait: Duration) -> Arc<Gate> {
        Arc::new(Gate {
            caps,
            queue_wait,
            born: Instant::now(),
            state: Mutex::new(State::default()),
            in_flight: AtomicUsize::new(0),
            last_wait_ms: AtomicU64::new(0),
        })
    }

    /// Takes a slot for a call of `account`, waiting in the queue where none is free.
    ///
    /// # Errors
    /// `Busy` after the longest wait, or at once when the queue is full.
    pub(crate) async fn enter(
        self: &Arc<Gate>,
        account: u64,
        weight: Weight,
    ) -> Result<Lease, Busy> {
        let (id, admission) = {
            let mut state = self.lock();
            if self.admits(&state, account, weight) {
                self.take_slot(&mut state, account, weight);
                return Ok(self.lease(account, weight));
            }
            self.note_wait();
            if state.queue.len() >= LONGEST_QUEUE {
                return Err(Busy);
            }
            let (admitted, admission) = oneshot::channel();
            let id = state.next_waiter;
            state.next_waiter += 1;
            state.queue.push_back(Waiter { id, account, weight, admitted });
            self.show_load(&state);
            (id, admission)
        };
        let mut waiting = Waiting { gate: self, id, account, weight, admission, taken: false };
        // Boxed, here and below in this crate, where few calls wait: the future of a call is made and
        // moved with each of them.
        let admission = tokio::time::timeout(self.queue_wait, &mut waiting.admission);
        match Box::pin(admission).await {
            Ok(Ok(())) => {
                waiting.taken = true;
                Ok(self.lease(account, weight))
            }
            _ => Err(Busy),
        }
    }

    /// Calls that hold a slot, and those that wait for one.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Answers that are being read without a slot.
    pub(crate) fn open_answers(&self) -> usize {
        self.lock().open.total
    }

    /// Whether somebody had to wait for a slot within the last `window`.
    pub(crate) fn contended_within(&self, window: Duration) -> bool {
        let Some(wait_ms) = self.last_wait_ms.load(Ordering::Relaxed).checked_sub(1) else {
            return false;
        };
        self.now_ms().saturating_sub(wait_ms) <= window.as_millis() as u64
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> u64 {
        self.born.elapsed().as_millis() as u64
    }

    fn note_wait(&self) {
        self.last_wait_ms.store(self.now_ms() + 1, Ordering::Relaxed);
    }

    fn lease(self: &Arc<Gate>, account: u64, weight: Weight) -> Lease {
        Lease { gate: Arc::clone(self), account, weight, held: Held::Slot }
    }

    fn admits(&self, state: &State, account: u64, weight: Weight) -> bool {
        let caps = &self.caps;
        let connections = state.slots.total + state.open.total;
        if state.slots.total >= caps.slots || connections >= caps.connections {
            return false;
        }
        if weight == Weight::Internal {
            return true;
        }
        state.slots.external() < caps.slots - caps.reserved
            && state.slots.external() + state.open.external() < caps.connections - caps.reserved
            && state.slots.of_account(account) < caps.account
            && (weight != Weight::Heavy || state.slots.heavy < caps.heavy)
    }

    fn take_slot(&self, state: &mut State, account: u64, weight: Weight) {
        state.slots.add(account, weight);
        self.show_load(state);
    }

    fn show_load(&self, state: &State) {
        self.in_flight.store(state.slots.total + state.queue.len(), Ordering::Relaxed);
    }

    /// Lets in whoever became admissible, in the order of arrival.
    fn admit_waiting(&self, state: &mut State) {
        let mut place = 0;
        while place < state.queue.len() && state.slots.total < self.caps.slots {
            let Waiter { account, weight, .. } = state.queue[place];
            if !self.admits(state, account, weight) {
                place += 1;
                continue;
            }
            let waiter = state.queue.remove(place).expect("the place is within the queue");
            // A waiter that is gone already takes no slot.
            if waiter.admitted.send(()).is_ok() {
                state.slots.add(account, weight);
            }
        }
        if !state.queue.is_empty() {
            self.note_wait();
        }
        self.show_load(state);
    }

    fn leave(&self, held: Held, account: u64, weight: Weight) {
        let mut state = self.lock();
        match held {
            Held::Slot => state.slots.remove(account, weight),
            Held::OpenAnswer => state.open.remove(account, weight),
        }
        self.admit_waiting(&mut state);
    }
}

/// A caller in the queue. Dropped, it leaves nothing behind.
struct Waiting<'a> {
    gate: &'a Arc<Gate>,
    id: u64,
    account: u64,
    weight: Weight,
    admission: oneshot::Receiver<()>,
    /// The slot went over to a lease.
    taken: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.taken {
            return;
        }
        let mut state = self.gate.lock();
        // Admission happens under the lock: either we are still in the queue, or a slot is ours.
        match state.queue.iter().position(|waiter| waiter.id == self.id) {
            Some(place) => drop(state.queue.remove(place)),
            None if self.admission.try_recv().is_ok() => {
                state.slots.remove(self.account, self.weight);
            }
            None => {}
        }
        self.gate.admit_waiting(&mut state);
    }
}

/// The right to one call of a node. Dropping it frees the slot.
pub struct Lease {
    gate: Arc<Gate>,
    account: u64,
    weight: Weight,
    held: Held,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Slot,
    OpenAnswer,
}

impl Lease {
    /// Frees the slot while the answer is still being read, if a place for an open answer is
    /// free; else the slot stays held.
    pub(crate) fn free_slot(&mut self) {
        if self.held == Held::OpenAnswer {
            return;
        }
        let caps = &self.gate.caps;
        let mut state = self.gate.lock();
        let internal = self.weight == Weight::Internal;
        if state.open.total >= caps.open
            || (!internal && state.open.of_account(self.account) >= caps.open_account)
        {
            return;
        }
        state.slots.remove(self.account, self.weight);
        state.open.add(self.account, self.weight);
        self.held = Held::OpenAnswer;
        self.gate.admit_waiting(&mut state);
    }

    /// Whether somebody had to wait for a slot within the last `window`.
    pub(crate) fn contended_within(&self, window: Duration) -> bool {
        self.gate.contended_within(window)
    }

    /// How the call counts.
    pub fn weight(&self) -> Weight {
        self.weight
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.gate.leave(self.held, self.account, self.weight);
    }
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lease").field("weight", &self.weight).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
