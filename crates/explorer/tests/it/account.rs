//! The explorer of the account family over real HTTP, with an index that follows recorded and stub
//! nodes.

mod balances;
mod conformance;
mod expected;
mod foreign;
mod geth;
mod hostile;
mod invariants;
mod live;
mod outage;
mod poor;
mod recorded;
mod reorganised;
mod requests;
mod retried;
mod rig;
mod rlp;
mod signed;
mod tokens;
mod truth;
mod verified;
mod waiting;
