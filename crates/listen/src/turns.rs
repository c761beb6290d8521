//! Turns at a worker for connections that move much at once.
//!
//! A worker serves its connections one after the other, each for as long as it has something to do.
//! One with megabytes on their way has that for long, and a hundred of them let everybody else wait
//! for as long as all of them take. So what a connection moves in one direction beyond its first
//! 64 KiB counts against what its worker moves in a round, and who finds that used up goes on in one
//! of the next; a round is over when the runtime has gone through all else that is ready.
//! Invariants: whoever moves little never waits; rounds follow each other for as long as somebody
//! waits; who waits longest goes first.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// What a connection moves in one direction without being asked to wait, in bytes.
const SMALL_BYTES: usize = 64 << 10;
/// What a worker moves of all others in a round, in bytes.
const ROUND_BYTES: usize = 32 << 10;
/// How many who wait go on in a round, each with one read or write of about as much.
const ROUND_TURNS: usize = 1;

thread_local! {
    static LANE: Lane = Lane::default();
}

/// The connections of a worker that move much.
#[derive(Clone, Debug, Default)]
struct Lane(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// What may still be moved in this round.
    left: usize,
    /// The first ticket that is not served yet.
    next: u64,
    /// Who waits, in order, from the ticket `next` on.
    waiting: VecDeque<Waker>,
    /// Somebody ends the rounds.
    is_ticking: bool,
}

impl Default for State {
    fn default() -> State {
        State { left: ROUND_BYTES, next: 0, waiting: VecDeque::new(), is_ticking: false }
    }
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the client.
    In,
    /// To the client.
    Out,
}

/// One connection's place among the others.
#[derive(Debug)]
pub(crate) struct Turns {
    lane: Lane,
    way: Way,
    /// What it moved that way since it moved something the other way.
    moved: usize,
    /// Its place among those who wait.
    ticket: Option<u64>,
}

impl Turns {
    /// Of a connection that lives on this thread.
    pub(crate) fn here() -> Turns {
        Turns { lane: LANE.with(Lane::clone), way: Way::In, moved: 0, ticket: None }
    }

    /// Waits until the connection may move something.
    pub(crate) fn poll(&mut self, way: Way, cx: &mut Context<'_>) -> Poll<()> {
        if self.moved < SMALL_BYTES || self.way != way {
            return Poll::Ready(());
        }
        let polled = self.lane.poll(self.ticket, cx);
        match polled {
            Ok(()) => {
                self.ticket = None;
                Poll::Ready(())
            }
            Err(ticket) => {
                self.ticket = Some(ticket);
                Poll::Pending
            }
        }
    }

    /// Tells what it moved.
    pub(crate) fn moved(&mut self, way: Way, bytes: usize) {
        if self.way != way {
            (self.way, self.moved) = (way, 0);
        }
        self.moved = self.moved.saturating_add(bytes);
        if self.moved > SMALL_BYTES {
            self.lane.took(bytes);
        }
    }
}

impl Lane {
    /// Whether it is the turn of who has that ticket, or none; else the ticket to come back with.
    fn poll(&self, ticket: Option<u64>, cx: &Context<'_>) -> Result<(), u64> {
        let mut state = self.lock();
        let ticket = match ticket {
            Some(ticket) if ticket < state.next => return Ok(()),
            Some(ticket) => {
                let place = usize::try_from(ticket - state.next).unwrap_or(usize::MAX);
                if let Some(waker) = state.waiting.get_mut(place) {
                    waker.clone_from(cx.waker());
                }
                ticket
            }
            None if state.left > 0 && state.waiting.is_empty() => return Ok(()),
            None => {
                state.waiting.push_back(cx.waker().clone());
                state.next + state.waiting.len() as u64 - 1
            }
        };
        self.tick(&mut state);
        Err(ticket)
    }

    fn took(&self, bytes: usize) {
        let mut state = self.lock();
        state.left = state.left.saturating_sub(bytes);
        if state.left == 0 {
            self.tick(&mut state);
        }
    }

    /// Sees to it that the round ends.
    fn tick(&self, state: &mut State) {
        if state.is_ticking {
            return;
        }
        state.is_ticking = true;
        let lane = self.clone();
        tokio::spawn(async move {
            loop {
                tokio::task::yield_now().await;
                if !lane.next_round() {
                    return;
                }
            }
        });
    }

    /// Begins a round; whether there has to be another one.
    fn next_round(&self) -> bool {
        let mut state = self.lock();
        let turns = state.waiting.len().min(ROUND_TURNS);
        let goers: Vec<Waker> = state.waiting.drain(..turns).collect();
        state.next += turns as u64;
        state.left = ROUND_BYTES;
        state.is_ticking = turns > 0;
        let goes_on = state.is_ticking;
        drop(state);
        goers.into_iter().for_each(Waker::wake);
        goes_on
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
