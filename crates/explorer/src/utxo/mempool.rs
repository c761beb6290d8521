//! `/mempool`.

use schemars::JsonSchema;
use serde::Serialize;

use super::hex::HashHex;
use super::{Desk, Fail};
use crate::refusal::Refusal;

/// The list holds at most so many ids.
const MOST_IDS: usize = 1000;

/// The mempool.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Mempool")]
pub struct Pool {
    /// Transactions that wait.
    pub count: u64,
    /// Sum of `vsize`; of `size` where there is none.
    pub bytes: u64,
    /// Newest first, at most 1000.
    #[schemars(with = "Vec<HashHex>")]
    pub txids: Vec<String>,
    /// Absent unless there are more than are listed.
    #[schemars(extend("enum" = [true]))]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// What waits, newest first.
pub(crate) fn mempool(desk: &Desk) -> Result<Pool, Fail> {
    let silent = || Refusal::unavailable("the node is not heard", 5);
    let pool = desk.view.mempool().ok_or_else(silent)?;
    let txids: Vec<String> = pool.newest(MOST_IDS).iter().map(ToString::to_string).collect();
    let truncated = pool.count() > txids.len() as u64;
    Ok(Pool { count: pool.count(), bytes: pool.bytes(), txids, truncated })
}
