//! What an index logs of how it goes on.
//!
//! Leaves to the round what is done about a trouble. Invariants: a trouble is logged once, however
//! often it is met again; that an index is in sync is logged the first time, and after a while that
//! it was not.

use std::time::{Duration, Instant};

use super::Trouble;
use crate::Standing;

/// After so long out of sync it is logged that it is in sync again.
const LONG_OUT: Duration = Duration::from_secs(30);

/// What was logged of an index.
#[derive(Debug)]
pub(crate) struct Tidings {
    chain: &'static str,
    /// The trouble that was told last, while it lasts.
    told: Option<String>,
    /// Since when it is not in sync; none while it is.
    out_since: Option<Instant>,
    /// Whether it was ever said to be in sync.
    was_in_sync: bool,
}

impl Tidings {
    /// Of an index that begins.
    pub(crate) fn new(chain: &'static str) -> Tidings {
        Tidings { chain, told: None, out_since: Some(Instant::now()), was_in_sync: false }
    }

    /// A round came to its end.
    pub(crate) fn well(&mut self) {
        self.told = None;
    }

    /// Logs a trouble, with what of the nodes stands in the way where that is known. Gives its text.
    pub(crate) fn trouble(&mut self, trouble: &Trouble, waits_for: Option<&'static str>) -> String {
        let text = match (trouble, waits_for) {
            (Trouble::NoNode, Some(waits_for)) => waits_for.to_owned(),
            _ => trouble.to_string(),
        };
        if self.told.as_ref() != Some(&text) {
            let chain = self.chain;
            match trouble {
                _ if trouble.stops() => tracing::error!(chain, "the index does not go on: {text}"),
                Trouble::Upstream(_) => tracing::warn!(chain, "the index waits: {text}"),
                _ => tracing::debug!(chain, "the index waits: {text}"),
            }
        }
        self.told = Some(text.clone());
        text
    }

    /// Logs that the index is in sync, where that is news.
    pub(crate) fn stands(&mut self, standing: &Standing) {
        if !standing.in_sync {
            self.out_since.get_or_insert_with(Instant::now);
            return;
        }
        let out = self.out_since.take().map(|since| since.elapsed());
        if !self.was_in_sync || out.is_some_and(|out| out >= LONG_OUT) {
            let (chain, height) = (self.chain, standing.height);
            tracing::info!(chain, height, "the index is in sync");
        }
        self.was_in_sync = true;
    }
}
