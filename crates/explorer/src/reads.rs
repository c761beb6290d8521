//! Work that may wait for the disk or take long, away from the runtime's workers, and turns at the
//! workers for what is done there.
//!
//! Invariants: the workers never wait for it; what finds no seat within a second is refused
//! instead of piling up; accounts share the seats fairly.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use crate::gate::{Gate, Seat};
use crate::refusal::{Reason, Refusal};

/// So long a read waits for a seat.
const PATIENCE: Duration = Duration::from_secs(1);

/// So long a worker reads before it looks at what else there is to do.
const SPELL: Duration = Duration::from_micros(200);

thread_local! {
    /// A worker does one thing at a time; the gate says whose is next.
    static WORKER: Gate = Gate::new(1, 1);
    /// How long it has read since it looked up.
    static READ_FOR: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// An account's turn at a worker.
#[derive(Debug)]
pub(crate) struct Turn {
    /// None once it is given back.
    seat: Option<Seat>,
    began: Instant,
}

/// Waits for an account's turn at this worker. Without it whoever has many connections would be
/// served as often as he has connections, before anybody else is once.
pub(crate) async fn turn(account: u64) -> Turn {
    let worker = WORKER.with(Gate::clone);
    let seat = Some(worker.enter(account).await);
    Turn { seat, began: Instant::now() }
}

impl Drop for Turn {
    /// Who comes next may have been ready all the time, one of many such. So the turn ends, now and
    /// then, only after the worker has looked at the network: whoever came in the meantime is then
    /// among those who wait, and the gate knows whose account was served least.
    fn drop(&mut self) {
        let read_for = READ_FOR.get() + self.began.elapsed();
        if read_for < SPELL {
            READ_FOR.set(read_for);
            return;
        }
        READ_FOR.set(Duration::ZERO);
        let (Some(seat), Ok(runtime)) = (self.seat.take(), Handle::try_current()) else { return };
        runtime.spawn(async move {
            tokio::task::yield_now().await;
            drop(seat);
        });
    }
}

/// The pool.
#[derive(Clone)]
pub(crate) struct Reads {
    /// Reads.
    short: Gate,
    /// Pages that are longer than one piece: they keep a core busy.
    long: Gate,
    /// What computes and hardly reads.
    sums: Gate,
}

impl Reads {
    /// A pool of that many reads at once; long pages have half the cores.
    pub(crate) fn new(seats: usize) -> Arc<Reads> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let long = (cores / 2).max(1);
        // An account leaves half to the others.
        let short = Gate::new(seats, seats - seats / 2);
        let sums = Gate::new(cores, cores - cores / 2);
        Arc::new(Reads { short, long: Gate::new(long, long), sums })
    }

    /// Runs a read of an account.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        account: u64,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let seat = tokio::time::timeout(PATIENCE, self.short.enter(account)).await;
        let seat = seat.map_err(|_| match self.short.is_at_its_most(account) {
            true => Refusal::busy_account("too many reads of this account at once"),
            false => Refusal::unavailable("too many reads at once", 1),
        })?;
        at_work(seat, read).await
    }

    /// Computes something for an account; no more at once than there are cores.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        account: u64,
        compute: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let seat = tokio::time::timeout(PATIENCE, self.sums.enter(account)).await;
        let seat = seat.map_err(|_| match self.sums.is_at_its_most(account) {
            true => Refusal::busy_account("too many checks of this account at once"),
            false => Refusal::unavailable("too many checks at once", 1),
        })?;
        at_work(seat, compute).await
    }

    /// Runs a part of a long answer; whoever asks for such ones waits for his turn.
    pub(crate) async fn run_long<T: Send + 'static>(
        &self,
        account: u64,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let seat = self.long.enter(account).await;
        at_work(seat, read).await
    }
}

async fn at_work<T: Send + 'static>(
    seat: Seat,
    read: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    let work = move || {
        let _seat = seat;
        read()
    };
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!(%error, "a read was cut off");
        Refusal::from(Reason::ServiceUnavailable)
    })
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;
    use std::sync::mpsc;

    use tokio::task::LocalSet;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_finds_no_seat_in_time_is_refused_and_others_go_on() {
        let reads = Reads::new(1);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (mut held, mut ends) = (Vec::new(), Vec::new());
        // Every seat is taken, each by another account.
        for account in 0..cores as u64 {
            let (end, ended) = mpsc::channel::<()>();
            let (begin, begun) = tokio::sync::oneshot::channel();
            let reads = Arc::clone(&reads);
            held.push(tokio::spawn(async move {
                let work = move || {
                    begin.send(()).unwrap();
                    ended.recv().unwrap_err();
                };
                reads.compute(account, work).await.unwrap();
            }));
            begun.await.unwrap();
            ends.push(end);
        }
        let refusal = reads.compute(u64::MAX, || ()).await.unwrap_err();
        assert_eq!(
            (refusal.reason, refusal.retry_after_secs),
            (Reason::ServiceUnavailable, Some(1))
        );
        // Reads have seats of their own.
        assert_eq!(reads.run(u64::MAX, || 7).await.unwrap(), 7);
        ends.clear();
        for held in held {
            held.await.unwrap();
        }
        assert_eq!(reads.compute(0, || 7).await.unwrap(), 7);
        let free = cores - cores / 2;
        let (mut held, mut ends) = (Vec::new(), Vec::new());
        for _ in 0..free {
            let (end, ended) = mpsc::channel::<()>();
            let reads = Arc::clone(&reads);
            held.push(tokio::spawn(async move {
                reads.compute(0, move || ended.recv().unwrap_err()).await.unwrap();
            }));
            ends.push(end);
        }
        while !reads.sums.is_at_its_most(0) {
            tokio::task::yield_now().await;
        }
        let refusal = reads.compute(0, || ()).await.unwrap_err();
        assert_eq!((refusal.reason, refusal.retry_after_secs), (Reason::RateLimited, Some(1)));
        ends.clear();
        for held in held {
            held.await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_worker_that_reads_looks_who_else_is_there() {
        let read = Rc::new(Cell::new(0u64));
        let local = LocalSet::new();
        for _ in 0..50 {
            let read = Rc::clone(&read);
            local.spawn_local(async move {
                loop {
                    let turn = turn(1).await;
                    read.set(read.get() + 1);
                    // As long as a read that ends the worker's spell, on any machine.
                    let began = Instant::now();
                    while began.elapsed() <= SPELL {}
                    drop(turn);
                }
            });
        }
        let most = local.run_until(async {
            let mut most = 0;
            for _ in 0..20 {
                let before = read.get();
                tokio::task::yield_now().await;
                drop(turn(2).await);
                most = most.max(read.get() - before);
            }
            most
        });
        // A few of all the fifty: those of a round, and one that came before.
        assert!(most.await <= 5);
        assert!(read.get() > 0);
    }
}
