//! Why a command failed, in one line for people.
//!
//! Commands end at the first failure, so what kind it was matters to nobody but the reader.

use std::fmt;

/// A failure with its text.
pub struct Failure(String);

impl Failure {
    /// A failure that says `text`.
    pub fn new(text: impl Into<String>) -> Failure {
        Failure(text.into())
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
