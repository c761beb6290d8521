//! What a replayed node is to the listener that it stands behind.

use crate::chunks::Chunks;
use crate::wire::{Reply, Request};

/// What answers requests.
pub(crate) trait Node: Send + Sync + 'static {
    /// What is remembered on one connection.
    type Session: Default + Send;

    /// Answers a request.
    fn answer(&self, session: &mut Self::Session, request: &Request) -> Reply;

    /// Answers a message of a websocket; `None` where nothing is said.
    fn message(&self, _text: &str) -> Option<Chunks> {
        None
    }
}
