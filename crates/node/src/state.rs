//! What is known of a node at this moment, for readiness, metrics and people.
//!
//! Invariant: nothing in here is a secret; of the URL only host and port are shown.

use crate::Verdict;

/// What is known of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeState {
    /// Host and port.
    pub host: String,
    /// Whether the last probe reached it; `None` before the first.
    pub reachable: Option<bool>,
    /// Whether a first probe came to its end, whichever way.
    pub probed: bool,
    /// What the probes make of it.
    pub verdict: Verdict,
    /// Height of its best block.
    pub height: Option<u64>,
    /// What it calls itself.
    pub version: Option<String>,
    /// Whether it is a node of the right chain and network; `None` while unknown.
    pub identity: Option<bool>,
    /// Left out because its calls fail, as long as there are others.
    pub ejected: bool,
    /// Calls that hold a slot or wait for one.
    pub in_flight: usize,
    /// Answers that are being read without a slot.
    pub open_answers: usize,
    /// Unused connections.
    pub idle_connections: usize,
    /// What is wrong with it, for people.
    pub note: Option<String>,
    /// The file of our credentials that could not be read: its path and why.
    pub unread_file: Option<String>,
}

impl NodeState {
    /// What [`NodeState::word`] may say.
    pub const WORDS: [&str; 7] =
        ["ready", "unprobed", "syncing", "unreachable", "refused", "ejected", "wrong chain"];

    /// Whether it is syncing or warming up.
    pub fn syncing(&self) -> bool {
        self.verdict == Verdict::Syncing
    }

    /// What it is in one word, as readiness, logs and commands say it.
    pub fn word(&self) -> &'static str {
        match self.verdict {
            Verdict::Foreign => "wrong chain",
            Verdict::Refused => "refused",
            _ if self.reachable == Some(false) => "unreachable",
            Verdict::Syncing => "syncing",
            _ if self.ejected => "ejected",
            Verdict::Ready => "ready",
            Verdict::Unprobed => "unprobed",
        }
    }

    /// Whether that is something an operator has to look after.
    pub(crate) fn is_trouble(&self) -> bool {
        !matches!(self.word(), "ready" | "syncing")
    }

    /// Whether it does not serve us at all, which is a warning whatever the log was told before.
    pub(crate) fn is_outage(&self) -> bool {
        matches!(self.word(), "unreachable" | "refused" | "wrong chain")
    }

    /// Whether calls may go to it.
    pub fn usable(&self) -> bool {
        matches!(self.verdict, Verdict::Unprobed | Verdict::Ready)
    }
}
