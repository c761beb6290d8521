//! The websocket that a node has, open or not.
//!
//! Leaves opening it, and what goes over it, to `websocket`.

use std::sync::Arc;
use std::time::Duration;

use chain::Dialect;
use tokio::sync::{Mutex, watch};

use super::multiplex::Multiplex;
use crate::optional_route::OptionalRoute;

/// The websocket of one node, open or not.
pub(crate) struct Websocket {
    pub(super) route: OptionalRoute,
    pub(super) open: Mutex<Option<Arc<Multiplex>>>,
    /// Changes with each word of the node about a block.
    pub(super) news: watch::Sender<u64>,
}

impl Websocket {
    /// The websocket of a node that is better asked so; none for all others. After `retry` it is
    /// asked for again where it was not granted.
    pub(crate) fn of(dialect: Dialect, retry: Duration) -> Option<Websocket> {
        (dialect == Dialect::Dcrd).then(|| Websocket {
            route: OptionalRoute::new(retry),
            open: Mutex::default(),
            news: watch::Sender::new(0),
        })
    }

    /// Does not use `multiplex` for further calls. Those that are under way over it may end.
    pub(super) async fn leave(&self, multiplex: &Arc<Multiplex>) {
        let mut open = self.open.lock().await;
        if open.as_ref().is_some_and(|now| Arc::ptr_eq(now, multiplex)) {
            *open = None;
        }
    }
}
