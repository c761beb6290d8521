//! Accounts, keys, plans and counters of both services.
//!
//! A service asks twice for a request: [`Meter::caller`] says who calls, [`Meter::admit`] charges
//! it before its work and gives a [`Permit`] to hold until the answer is sent. Commands work on
//! the same folder through [`Admin`], whether a server runs or not. HTTP, refusal texts and the
//! order in which a service checks belong to the services.
//!
//! Invariant: usage rows are the only truth of counting. Every quota is a sum of them, so they
//! add up to it whatever was killed, restarted or refunded (how, and why a crash cannot break it:
//! the page of `ledger.rs`). No unit is admitted beyond a quota.

#![warn(unreachable_pub)]

mod admin;
mod background;
mod bucket;
mod buckets;
mod caller;
mod clock;
mod copy;
mod denial;
mod engine;
mod epoch;
mod folder;
mod held;
mod holdings;
mod in_flight;
mod lease;
mod leased;
mod ledger;
mod lending;
mod lessee;
mod mapped;
mod meter;
mod open_days;
mod open_error;
mod permit;
mod plan;
mod postgres;
mod presented;
mod purse;
mod remains;
mod replica;
mod scope;
mod seal;
mod secret;
mod service;
mod share;
mod sqlite;
mod storage;
mod store;
mod table;
mod tally;
mod throttle;
mod tls;
mod usage_file;
mod utc;

pub use admin::{
    AccountView, Admin, AdminError, HourView, KeyOptions, KeyView, NewKeyView, ServiceUsage,
    UsageView,
};
pub use buckets::{BucketsAddress, BucketsAddressError, BucketsView};
pub use caller::Caller;
pub use clock::{Clock, Hands, Now};
pub use copy::{Copied, CopyError, copy};
pub use denial::{Bar, Denial, Reason};
pub use in_flight::AccountInFlight;
pub use lending::{KindView, LendingView};
pub use meter::Meter;
pub use open_error::OpenError;
pub use permit::Permit;
pub(crate) use plan::MAX_UNITS;
pub use plan::{NO_PLAN, Plan, PlanConfig, PlanError, Plans};
pub use postgres::{AddressError, PostgresAddress};
pub use presented::presented_key;
pub use remains::Remains;
pub use replica::Replica;
pub use scope::{ScopeError, Scopes};
pub use secret::ApiKey;
pub use service::Service;
pub use sqlite::sqlite_version;
pub use storage::Storage;
pub use store::{
    Account, AccountChange, AccountRef, Bell, ChainName, Changes, CountedRow, Head, Key, KeyChange,
    NewAccount, NewKey, Pages, RowName, Store, StoreError, StoredRow, Total, UsageRow,
};
pub use utc::{TimeError, Utc};
