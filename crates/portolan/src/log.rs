//! The log: where it goes and what a line looks like.
//!
//! Always standard error, so that results on standard output stay clean. What may be said in a
//! line is the business of whoever says it (decision B15). Invariant: whoever logs never waits for
//! the reader of the log and never learns that there is none; lines that cannot be written are
//! lost, and counted.

mod queue;

use std::os::fd::AsFd;
use std::time::Duration;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{LogConfig, LogFormat};
pub(crate) use queue::lost_lines;
use queue::{Lines, Queue};

/// How long the end of the program waits for the last lines to be written.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Crates whose lines hold what went over the wire.
const SILENT: [&str; 2] = ["tungstenite", "tokio_tungstenite"];

/// A log that was begun; dropping it writes the last lines.
#[must_use]
pub(crate) struct Log(Lines);

impl Drop for Log {
    fn drop(&mut self) {
        self.0.wait(LAST_LINES);
    }
}

/// Begins to log. A second call changes nothing.
pub(crate) fn start(config: &LogConfig) -> Log {
    let (lines, queue) = Queue::new();
    // Its own descriptor: a writer that waits must hold no lock of the standard library's.
    if let Ok(descriptor) = std::io::stderr().as_fd().try_clone_to_owned() {
        queue.write_to(std::fs::File::from(descriptor));
    }
    let filter = filter(&config.level);
    let log = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_ansi(false)
        .log_internal_errors(false)
        .with_writer(lines.clone());
    let begun = match config.format {
        LogFormat::Text => log.finish().with(filter).try_init(),
        LogFormat::Json => log.json().flatten_event(true).finish().with(filter).try_init(),
    };
    // It fails only if a log was started before, as tests in one process do.
    if begun.is_ok() {
        std::panic::set_hook(Box::new(tell_panic));
    }
    Log(lines)
}

/// What is taken at a level.
fn filter(level: &str) -> Targets {
    let filter = level.parse().unwrap_or_else(|_| Targets::new().with_default(LevelFilter::INFO));
    filter.with_targets(SILENT.map(|name| (name, LevelFilter::OFF)))
}

/// A panic is a fault of ours; it is told in the log, like everything else.
fn tell_panic(panic: &std::panic::PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let text = panic.payload_as_str().unwrap_or("no text");
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    tracing::error!(place, thread, "a fault of the program: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_over_a_websocket_is_logged_at_no_level() {
        for level in ["trace", "info", "node=trace,tungstenite=trace", "no such level="] {
            let told = filter(level).to_string();
            for name in SILENT {
                assert!(told.split(',').any(|one| one == format!("{name}=off")), "{told}");
            }
            assert!(!told.contains("tungstenite=trace"), "{told}");
        }
    }
}
