//! Accounts, keys, plans and counters of both services.

mod caller;
mod clock;
mod denial;
mod meter;
mod open_error;
mod permit;
mod plan;
mod presented;
mod service;

pub use caller::Caller;
pub use clock::{Clock, Hands, Now, Utc};
pub use denial::{Denial, Reason};
pub use meter::Meter;
pub use open_error::OpenError;
pub use permit::{Permit, Standing};
pub use plan::{
    MAX_BATCH_SIZE, MAX_CONCURRENCY, MAX_REQUESTS_PER_SECOND, MAX_UNITS, NO_PLAN, Plan, PlanConfig,
    PlanError, Plans,
};
pub use presented::presented_key;
pub use service::Service;

/// The store answers with an error.
#[derive(Debug, thiserror::Error)]
#[error("the store: {0}")]
pub struct StoreError(String);
