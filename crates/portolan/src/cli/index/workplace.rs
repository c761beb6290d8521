//! A folder beside an index that lives as long as a command works in it.
//!
//! Invariant: one process has it; what one that was killed has left goes with the next.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::failure::Failure;
use crate::serve::Signals;

/// A folder of a command's own, and the lock on it.
pub(super) struct Workplace {
    dir: PathBuf,
    _lock: File,
}

impl Workplace {
    /// Takes the folder of that name, and empties it.
    ///
    /// # Errors
    /// Another process works there; the folder cannot be made.
    pub(super) fn take(store: &Path, name: &str) -> Result<Workplace, Failure> {
        let dir = store.join(name);
        let failed =
            |error: &dyn std::fmt::Display| Failure::new(format!("{}: {error}", dir.display()));
        fs::create_dir_all(&dir).map_err(|error| failed(&error))?;
        let lock = File::open(&dir).map_err(|error| failed(&error))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| failed(&"another process works there"))?;
        let place = Workplace { dir: dir.clone(), _lock: lock };
        fs::remove_dir_all(place.inner())
            .or_else(unless_missing)
            .map_err(|error| failed(&error))?;
        Ok(place)
    }

    /// The folder to be made in it, which is not there yet.
    pub(super) fn inner(&self) -> PathBuf {
        self.dir.join("index")
    }
}

fn unless_missing(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        // What stays is removed by the next who takes it.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Does work that may be ended by a signal; its workplace is left in order then.
pub(super) fn interruptible<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(async {
        let mut signals = Signals::new()?;
        tokio::select! {
            done = tokio::task::spawn_blocking(work) => done?,
            () = signals.end() => Err(Failure::new("interrupted")),
        }
    });
    // Work that was interrupted may be waiting for its reader or writer.
    runtime.shutdown_background();
    done
}
