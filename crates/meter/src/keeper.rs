//! The background thread of a meter: polls the store, syncs and records usage.
//!
//! Nothing waits for it but the end of the process. Invariant: it ends before the meter's drop
//! returns.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::engine::Engine;

/// Changes of a command that was killed before it could tell are seen after so long.
const POLL: Duration = Duration::from_millis(500);
/// Polls between two syncs of the usage files: a power loss takes a second at most.
const SYNC_EVERY: u32 = 2;
/// Polls between two recordings of usage rows.
const RECORD_EVERY: u32 = 6;

/// The running thread; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Keeper {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    pub(crate) fn start(engine: Arc<Engine>) -> io::Result<Keeper> {
        let (stop, stopped) = mpsc::channel::<()>();
        let keep = move || {
            let mut polls = 0_u32;
            while stopped.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                polls = polls.wrapping_add(1);
                turn(&engine, polls);
            }
        };
        let thread = thread::Builder::new().name("meter".to_owned()).spawn(keep)?;
        Ok(Keeper { stop: Some(stop), thread: Some(thread) })
    }
}

fn turn(engine: &Engine, polls: u32) {
    // An error is logged where it happens and tried again half a second later.
    let _ = engine.catch_up();
    if polls.is_multiple_of(SYNC_EVERY) {
        engine.sync();
    }
    if polls.is_multiple_of(RECORD_EVERY)
        && let Err(error) = engine.record()
    {
        tracing::error!(%error, "usage cannot be recorded; it is kept in the usage files");
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported by the panic hook.
            let _ = thread.join();
        }
    }
}
