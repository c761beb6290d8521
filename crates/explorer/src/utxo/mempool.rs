//! `/mempool`.

use serde::Serialize;

use super::{Desk, Fail};
use crate::refusal::Refusal;

/// The list holds at most so many ids.
const MOST_IDS: usize = 1000;

/// The mempool.
#[derive(Debug, Serialize)]
pub(crate) struct Pool {
    count: u64,
    bytes: u64,
    txids: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// What waits, newest first.
pub(crate) fn mempool(desk: &Desk) -> Result<Pool, Fail> {
    let silent = || Refusal::unavailable("the node is not heard", 5);
    let pool = desk.view.mempool().ok_or_else(silent)?;
    let txids: Vec<String> = pool.newest(MOST_IDS).iter().map(ToString::to_string).collect();
    let truncated = pool.count() > txids.len() as u64;
    Ok(Pool { count: pool.count(), bytes: pool.bytes(), txids, truncated })
}
