//! The meter of one process.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use chain::Chain;

use crate::{Caller, Clock, Denial, OpenError, Permit, Plans, Service};

/// Keys, plans and counters of the services that this process serves.
#[derive(Debug)]
pub struct Meter {}

impl Meter {
    /// Opens the store in a folder, locks it for these services and recomputes their counters
    /// from the usage rows. Blocks.
    pub fn open(
        _dir: &Path,
        _services: &[Service],
        _plans: Plans,
        _clock: Clock,
    ) -> Result<Arc<Meter>, OpenError> {
        Ok(Arc::new(Meter {}))
    }

    /// Replaces the plans on offer; in force for the next request.
    pub fn set_plans(&self, _plans: Plans) {}

    /// Finds who calls: key, account, plan.
    pub async fn caller(
        &self,
        _presented: Option<&str>,
        _service: Service,
        _client: IpAddr,
        _origin: Option<&str>,
    ) -> Result<Caller, Denial> {
        Err(Denial::store_unavailable())
    }

    /// Charges tokens and units before the work, or says why not.
    pub fn admit(
        &self,
        _caller: &Caller,
        _chain: &'static Chain,
        _tokens: u32,
        _units: u32,
    ) -> Result<Permit, Denial> {
        Err(Denial::store_unavailable())
    }
}
