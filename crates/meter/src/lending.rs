//! What a store that lends units has lent to this process, in numbers for the operator.
//!
//! Invariant: as of the last look of the background, so that nobody who asks waits for the store.

use crate::Service;

/// How a service of this process stands with a store that lends to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LendingView {
    /// The service.
    pub service: Service,
    /// Replicas that are live, this one included, when the store last answered.
    pub live_replicas: u32,
    /// Can units be borrowed now?
    pub lends: bool,
    /// Calls that waited for a lease and came to an answer of the store.
    pub waits: u64,
    /// Calls that waited in vain.
    pub late: u64,
    /// Leases of months, of days, of keys' days.
    pub kinds: [KindView; 3],
}

/// Leases of one kind of cap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindView {
    /// `month`, `day` or `key-day`.
    pub name: &'static str,
    /// Caps of which units are lent.
    pub leases: u64,
    /// Units of those that are not spent.
    pub units: u64,
}
