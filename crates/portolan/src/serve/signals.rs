//! What the operating system asks of a running process.

use std::io;

use tokio::signal::unix::{self, SignalKind};

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// SIGHUP: read the configuration again.
    Reload,
    /// SIGTERM or SIGINT: end.
    End,
}

/// The signals of this process; they are caught as long as this lives.
pub(crate) struct Signals {
    hangup: unix::Signal,
    terminate: unix::Signal,
    interrupt: unix::Signal,
}

impl Signals {
    /// Begins to catch them.
    pub(crate) fn new() -> io::Result<Signals> {
        Ok(Signals {
            hangup: unix::signal(SignalKind::hangup())?,
            terminate: unix::signal(SignalKind::terminate())?,
            interrupt: unix::signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.hangup.recv() => Signal::Reload,
            _ = self.terminate.recv() => Signal::End,
            _ = self.interrupt.recv() => Signal::End,
        }
    }

    /// Waits for the next one that asks to end.
    pub(crate) async fn end(&mut self) {
        while self.next().await != Signal::End {}
    }
}
