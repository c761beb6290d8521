//! A service while it runs: what it goes by, how much it has on its hands, whether it still answers.
//!
//! Leaves to the service what its state is. Invariant: the state is replaced as a whole, and a
//! request goes by the one that it began with.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use prometheus::Registry;

use crate::in_flight::{InFlight, InFlightCount};

/// What every service has; `T` is what a reload replaces: chains and settings.
#[derive(Debug)]
pub struct Running<T> {
    state: ArcSwap<T>,
    in_flight: InFlightCount,
    refusing: AtomicBool,
}

impl<T> Running<T> {
    /// A service that goes by `state` and has nothing on its hands.
    pub fn new(state: T) -> Running<T> {
        Running {
            state: ArcSwap::from_pointee(state),
            in_flight: InFlightCount::default(),
            refusing: AtomicBool::new(false),
        }
    }

    /// What it goes by now.
    pub fn state(&self) -> Arc<T> {
        self.state.load_full()
    }

    /// Lets it go by another state from now on.
    pub fn replace(&self, state: T) {
        self.state.store(Arc::new(state));
    }

    /// Claims a place for a request, if fewer than `most` are in flight.
    pub fn enter(&self, most: usize) -> Option<InFlight> {
        self.in_flight.enter(most)
    }

    /// Requests in flight now.
    pub fn in_flight(&self) -> usize {
        self.in_flight.in_flight()
    }

    /// Is every further request to be refused, since the process ends?
    pub fn is_refusing(&self) -> bool {
        self.refusing.load(Ordering::Relaxed)
    }

    /// Says whether every further request is to be refused.
    pub fn set_refusing(&self, refusing: bool) {
        self.refusing.store(refusing, Ordering::Relaxed);
    }
}

/// A service that counts what it does, for Prometheus.
pub trait Counted: Send + Sync {
    /// The registry with the numbers of this moment.
    fn registry(&self) -> &Registry;
}
