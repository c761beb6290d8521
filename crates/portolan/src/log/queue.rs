//! Lines of the log on their way to a writer that may be slow or gone.
//!
//! Leaves what a line says to whoever logs. Invariants: putting a line in never waits and never
//! fails; what waits is bounded in bytes; each line that is not written whole is counted.

use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use tracing_subscriber::fmt::MakeWriter;

/// Most bytes that wait to be written; some 15,000 lines.
const MOST_BYTES: usize = 4 << 20;
/// What a waiting line takes besides its text.
const LINE_BYTES: usize = 64;
/// Until a writer that has no room just now is tried again.
const RETRY: Duration = Duration::from_millis(10);
/// Between two lines about lines that were lost.
const TELL_AGAIN: Duration = Duration::from_secs(10);

/// Lines of this process that were lost.
static LOST: AtomicU64 = AtomicU64::new(0);

/// How many lines of the log were lost since the program began.
pub(crate) fn lost_lines() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// Where lines are put in.
#[derive(Clone)]
pub(super) struct Lines {
    sender: Sender<Box<[u8]>>,
    /// Bytes that wait.
    waiting: Arc<AtomicUsize>,
}

/// Where lines come out.
pub(super) struct Queue {
    receiver: Receiver<Box<[u8]>>,
    waiting: Arc<AtomicUsize>,
}

impl Lines {
    fn put(&self, line: &[u8]) {
        let bytes = line.len() + LINE_BYTES;
        let before = self.waiting.fetch_add(bytes, Ordering::AcqRel);
        if before + bytes > MOST_BYTES || self.sender.send(line.into()).is_err() {
            self.waiting.fetch_sub(bytes, Ordering::AcqRel);
            LOST.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until every line is written or lost, `longest` at most.
    pub(super) fn wait(&self, longest: Duration) {
        let end = Instant::now() + longest;
        while self.waiting.load(Ordering::Acquire) > 0 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.put(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Lines;

    fn make_writer(&self) -> Lines {
        self.clone()
    }
}

impl Queue {
    pub(super) fn new() -> (Lines, Queue) {
        let (sender, receiver) = mpsc::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        (Lines { sender, waiting: Arc::clone(&waiting) }, Queue { receiver, waiting })
    }

    /// Writes the lines from a thread of its own, for as long as any can be put in. Without such a
    /// thread all lines are lost.
    pub(super) fn write_to(self, mut out: impl Write + Send + 'static) {
        let work = move || {
            let mut torn = false;
            let mut told = (Instant::now(), lost_lines());
            for line in &self.receiver {
                let whole = write_line(&mut out, &line, &mut torn);
                self.waiting.fetch_sub(line.len() + LINE_BYTES, Ordering::AcqRel);
                if !whole {
                    LOST.fetch_add(1, Ordering::Relaxed);
                } else if lost_lines() > told.1 && told.0.elapsed() >= TELL_AGAIN {
                    told = (Instant::now(), lost_lines());
                    tracing::warn!(lines = told.1, "lines of the log were lost so far");
                }
            }
        };
        // The receiver goes with the closure, so that what is put in counts as lost.
        let _ = std::thread::Builder::new().name("log".to_owned()).spawn(work);
    }
}

/// Writes a line; false if it could not be written whole. `torn` says that the last line was cut
/// off, so that the next one begins on a line of its own.
fn write_line(out: &mut impl Write, line: &[u8], torn: &mut bool) -> bool {
    if *torn && write_all(out, b"\n") != Ok(()) {
        return false;
    }
    *torn = false;
    match write_all(out, line) {
        Ok(()) => true,
        Err(written) => {
            *torn = written > 0;
            false
        }
    }
}

/// Like `Write::write_all`, but waits for a writer that has no room just now; the error is how
/// many bytes were written.
fn write_all(out: &mut impl Write, bytes: &[u8]) -> Result<(), usize> {
    let mut written = 0;
    while written < bytes.len() {
        match out.write(&bytes[written..]) {
            Ok(0) => return Err(written),
            Ok(more) => written += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(RETRY),
            Err(_) => return Err(written),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
