//! Who calls.

use std::sync::Arc;

use chain::Chain;

use crate::plan::Offer;
use crate::{Denial, Plan};

/// A request's key and account, as they stood when it came.
#[derive(Debug)]
pub struct Caller {
    offer: Arc<Offer>,
}

impl Caller {
    /// The plan of the account on this service.
    pub fn plan(&self) -> &Plan {
        &self.offer.plan
    }
    /// Number of the account, safe to log.
    pub fn account_id(&self) -> u64 {
        0
    }
    /// Number of the key, safe to log.
    pub fn key_id(&self) -> u64 {
        0
    }
    /// Is the chain in the plan and in the scope of the key?
    pub fn may_use(&self, _chain: &'static Chain) -> Result<(), Denial> {
        Err(Denial::store_unavailable())
    }
    /// Is the method in the scope of the key?
    pub fn may_call(&self, _method: &str) -> Result<(), Denial> {
        Err(Denial::store_unavailable())
    }
}
