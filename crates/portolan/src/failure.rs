//! Why a command failed, in one line for people.
//!
//! Commands end at the first failure, so of its kind nothing matters but the exit code.

use std::fmt;
use std::process::ExitCode;

/// The exit code for words that make no sense.
const MISUNDERSTOOD: u8 = 2;

/// A failure with its text.
pub(crate) struct Failure {
    text: String,
    code: u8,
}

impl Failure {
    /// A failure that says `text`.
    pub(crate) fn new(text: impl Into<String>) -> Failure {
        Failure { text: text.into(), code: 1 }
    }

    /// Words of the command line that would make no sense whatever else was so.
    pub(crate) fn misunderstood(text: impl Into<String>) -> Failure {
        Failure { text: text.into(), code: MISUNDERSTOOD }
    }

    /// What the process ends with.
    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::new(error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
