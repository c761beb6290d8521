//! What was found out about a node.

use crate::NodeState;

/// What was found out about a node.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// What its probe said: reachable, version, right chain, synced.
    pub state: NodeState,
    /// The chain's methods, sorted by name; empty where the node could not be asked.
    pub offers: Vec<Offer>,
    /// What to change, in the node's configuration or in ours; one sentence each.
    pub advice: Vec<String>,
}

/// Whether a node answers a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The method.
    pub method: &'static str,
    /// `None`: it could not be found out without risk.
    pub there: Option<bool>,
}

impl Inspection {
    /// The methods that the node does not answer.
    pub fn missing(&self) -> impl Iterator<Item = &'static str> {
        self.that_are(Some(false))
    }

    /// The methods that could not be asked for without risk, or not just now.
    pub fn unasked(&self) -> impl Iterator<Item = &'static str> {
        self.that_are(None)
    }

    fn that_are(&self, there: Option<bool>) -> impl Iterator<Item = &'static str> {
        self.offers.iter().filter(move |offer| offer.there == there).map(|offer| offer.method)
    }
}
