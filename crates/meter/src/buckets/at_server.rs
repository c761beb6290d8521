//! What an account's bucket on the server is known for here.
//!
//! Changed by the calls of the account alone, without a lock.

use std::sync::atomic::{AtomicBool, AtomicU64};

/// An account's bucket on the server.
#[derive(Debug, Default)]
pub(crate) struct AtServer {
    /// Microseconds until which it has no token.
    pub(super) dry_until: AtomicU64,
    /// Calls were served by the share, of which the server was not told.
    pub(super) untold: AtomicBool,
}
