//! The background threads of a meter: one polls the store and records usage, one carries usage
//! files to the disk, which must not wait for a store that is far away, and one for each service borrows
//! where the store lends units.
//!
//! Nothing waits for them but the end of the process. Invariant: they end before the meter's drop
//! returns.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::engine::Engine;
use crate::store::{Bell, StoreError};

/// Changes that nobody told of are seen after so long.
const POLL: Duration = Duration::from_millis(500);
/// Between two syncs of the usage files: a power loss takes a second at most.
const SYNC: Duration = Duration::from_secs(1);
/// Leases that nobody asked for are looked at after so long.
const LEND: Duration = Duration::from_millis(100);
/// Polls between two recordings of usage rows.
const RECORD_EVERY: u32 = 6;

/// What a thread is told.
#[derive(PartialEq, Eq)]
enum Word {
    /// There is something to look at.
    Changed,
    End,
}

/// The running threads; dropping it ends them.
#[derive(Debug)]
pub(crate) struct Background(Vec<(Sender<Word>, JoinHandle<()>)>);

impl Background {
    pub(crate) fn start(engine: Arc<Engine>) -> io::Result<Background> {
        let mut background = Background(Vec::new());
        let synced = Arc::clone(&engine);
        background.spawn("meter-sync", move |words| {
            while words.recv_timeout(SYNC) == Err(RecvTimeoutError::Timeout) {
                synced.sync();
            }
        })?;
        background.lend(&engine)?;
        let kept = Arc::clone(&engine);
        let words = background.spawn("meter", move |words| keep(&kept, &words))?;
        // Nobody is left to tell once the thread has ended.
        engine.store.on_change(Bell::new(move || {
            let _ = words.send(Word::Changed);
        }));
        Ok(background)
    }

    /// Borrows for each service that the store lends to.
    fn lend(&mut self, engine: &Arc<Engine>) -> io::Result<()> {
        for ledger in engine.ledgers.iter().flatten() {
            let Some(lessee) = &ledger.lessee else { continue };
            let (lent, kept) = (Arc::clone(engine), Arc::clone(ledger));
            let name = format!("lend-{}", ledger.service);
            let words = self.spawn(&name, move |words| {
                while look(&words) {
                    lent.lend(&kept);
                }
            })?;
            lessee.set_bell(Bell::new(move || {
                let _ = words.send(Word::Changed);
            }));
        }
        Ok(())
    }

    fn spawn(
        &mut self,
        name: &str,
        work: impl FnOnce(Receiver<Word>) + Send + 'static,
    ) -> io::Result<Sender<Word>> {
        let (tell, told) = mpsc::channel();
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || work(told))?;
        self.0.push((tell.clone(), thread));
        Ok(tell)
    }
}

/// Waits until there is something to look at; false at the end.
fn look(words: &Receiver<Word>) -> bool {
    match words.recv_timeout(LEND) {
        Ok(Word::Changed) => words.try_iter().all(|word| word != Word::End),
        Err(RecvTimeoutError::Timeout) => true,
        Ok(Word::End) | Err(RecvTimeoutError::Disconnected) => false,
    }
}

/// Polls the store, and reads it at once when it tells of a change.
fn keep(engine: &Engine, words: &Receiver<Word>) {
    let mut polls = 0_u32;
    let mut next = Instant::now() + POLL;
    loop {
        match words.recv_timeout(next.saturating_duration_since(Instant::now())) {
            // Whatever was told up to now is found by one reading.
            Ok(Word::Changed) => {
                if words.try_iter().any(|word| word == Word::End) {
                    return;
                }
                // An error is logged where it happens and tried again half a second later.
                let _ = engine.catch_up();
            }
            Err(RecvTimeoutError::Timeout) => {
                polls = polls.wrapping_add(1);
                turn(engine, polls);
                next = Instant::now() + POLL;
            }
            Ok(Word::End) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn turn(engine: &Engine, polls: u32) {
    // A store that cannot be read is not written to either, and has said so. What was counted before
    // a service was lost is recorded all the same.
    let answers = matches!(engine.catch_up(), Ok(()) | Err(StoreError::Counted { .. }));
    if polls.is_multiple_of(RECORD_EVERY)
        && answers
        && let Err(error) = engine.record()
    {
        tracing::error!(%error, "usage cannot be recorded; it is kept in the usage files");
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        for (tell, _) in &self.0 {
            // One that has ended already cannot be told.
            let _ = tell.send(Word::End);
        }
        for (_, thread) in self.0.drain(..) {
            // A panic of the thread was reported by the panic hook.
            let _ = thread.join();
        }
    }
}
