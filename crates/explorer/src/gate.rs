//! Seats for work, shared fairly between accounts (decision E17).
//!
//! Invariants: no more is under way than there are seats; a seat that becomes free goes to the
//! account that has fewest, of equals to the one that was served before the others; no account has
//! more than it may. So whoever waits for a seat waits for few of any other account, however many
//! that one has waiting.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The seats of one kind of work.
#[derive(Debug, Clone)]
pub(crate) struct Gate(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    free: usize,
    most_each: usize,
    /// Counts those who wait, so that the older can be told from the younger.
    turn: u64,
    /// Counts the seats that were handed out.
    served: u64,
    accounts: HashMap<u64, Queue>,
}

#[derive(Debug)]
struct Queue {
    running: usize,
    /// The count when the account was served last, or came.
    served: u64,
    waiting: VecDeque<(u64, oneshot::Sender<Seat>)>,
}

/// A seat; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    /// None once it is given back.
    gate: Option<Gate>,
    account: u64,
}

impl Gate {
    /// So many seats, of which an account has at most `most_each`.
    pub(crate) fn new(seats: usize, most_each: usize) -> Gate {
        let (free, most_each) = (seats.max(1), most_each.max(1));
        Gate(Arc::new(Mutex::new(State {
            free,
            most_each,
            turn: 0,
            served: 0,
            accounts: HashMap::new(),
        })))
    }

    /// Waits for a seat.
    pub(crate) async fn enter(&self, account: u64) -> Seat {
        let waiting = {
            let mut state = self.lock();
            let (sender, receiver) = oneshot::channel();
            let turn = state.turn;
            state.turn += 1;
            let served = state.served;
            let newcomer = || Queue { running: 0, served, waiting: VecDeque::new() };
            let queue = state.accounts.entry(account).or_insert_with(newcomer);
            queue.waiting.push_back((turn, sender));
            self.hand_out(&mut state);
            receiver
        };
        match waiting.await {
            Ok(seat) => seat,
            // Nobody drops a sender but with its receiver gone: the gate lives in `self`.
            Err(_) => Seat { gate: None, account },
        }
    }

    /// Whether an account has as many seats as it may.
    pub(crate) fn is_at_its_most(&self, account: u64) -> bool {
        let state = self.lock();
        state.accounts.get(&account).is_some_and(|queue| queue.running >= state.most_each)
    }

    /// Gives free seats to those who wait.
    fn hand_out(&self, state: &mut State) {
        while state.free > 0 {
            let most_each = state.most_each;
            let able = state.accounts.iter_mut().filter(|(_, queue)| queue.running < most_each);
            let able = able.filter_map(|(account, queue)| {
                let turn = queue.waiting.front()?.0;
                Some(((queue.running, queue.served, turn), *account))
            });
            let Some((_, account)) = able.min() else { return };
            let Some(queue) = state.accounts.get_mut(&account) else { return };
            let Some((_, waiting)) = queue.waiting.pop_front() else { return };
            match waiting.send(Seat { gate: Some(self.clone()), account }) {
                Ok(()) => {
                    state.served += 1;
                    queue.served = state.served;
                    queue.running += 1;
                    state.free -= 1;
                }
                // Whoever waited is gone; the seat was never given.
                Err(mut unused) => unused.gate = None,
            }
        }
    }

    fn leave(&self, account: u64) {
        let mut state = self.lock();
        state.free += 1;
        if let Some(queue) = state.accounts.get_mut(&account) {
            queue.running = queue.running.saturating_sub(1);
        }
        self.hand_out(&mut state);
        state.accounts.retain(|_, queue| queue.running > 0 || !queue.waiting.is_empty());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(gate) = self.gate.take() {
            gate.leave(self.account);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[tokio::test]
    async fn seats_go_to_whoever_has_fewest() {
        let gate = Gate::new(3, 2);
        let (first, second) = (gate.enter(1).await, gate.enter(1).await);
        assert!(gate.is_at_its_most(1) && !gate.is_at_its_most(2));
        let mut greedy = Box::pin(gate.enter(1));
        assert!((&mut greedy).now_or_never().is_none(), "one seat is kept for others");
        let other = gate.enter(2).await;
        let mut third = Box::pin(gate.enter(3));
        assert!((&mut third).now_or_never().is_none());
        drop(first);
        assert!((&mut greedy).now_or_never().is_none(), "account 3 has none yet");
        let third = third.now_or_never().unwrap();
        drop(second);
        let greedy = greedy.now_or_never().unwrap();
        drop((other, third, greedy));
        assert!(gate.lock().accounts.is_empty());
        assert_eq!(gate.lock().free, 3);
    }

    #[tokio::test]
    async fn one_seat_goes_around_whatever_an_account_has_waiting() {
        let gate = Gate::new(1, 1);
        let mut held = gate.enter(1).await;
        let mut greedy: VecDeque<_> = (0..10).map(|_| Box::pin(gate.enter(1))).collect();
        for greedy in &mut greedy {
            assert!(greedy.now_or_never().is_none());
        }
        // One after the other, as whoever waits for his answers does.
        for _ in 0..4 {
            let mut other = Box::pin(gate.enter(2));
            assert!((&mut other).now_or_never().is_none());
            drop(held);
            let before = (&mut other).now_or_never();
            let seat = match before {
                Some(seat) => seat,
                None => {
                    drop(greedy.pop_front().unwrap().now_or_never().unwrap());
                    other.now_or_never().expect("it waits for one of the other account at most")
                }
            };
            drop(seat);
            held = greedy.pop_front().unwrap().now_or_never().unwrap();
        }
        // Nor do newcomers keep the greedy one waiting.
        let mut newcomers: Vec<_> = (3..9).map(|account| Box::pin(gate.enter(account))).collect();
        for newcomer in &mut newcomers {
            assert!(newcomer.now_or_never().is_none());
        }
        drop(held);
        let first = newcomers.remove(0).now_or_never();
        drop(first);
        assert!(greedy.pop_front().unwrap().now_or_never().is_some());
    }

    #[tokio::test]
    async fn whoever_is_gone_takes_no_seat() {
        let gate = Gate::new(1, 1);
        let first = gate.enter(1).await;
        let mut gone = Box::pin(gate.enter(2));
        assert!((&mut gone).now_or_never().is_none());
        let mut next = Box::pin(gate.enter(3));
        assert!((&mut next).now_or_never().is_none());
        drop(gone);
        drop(first);
        assert!(next.now_or_never().is_some());
    }
}
