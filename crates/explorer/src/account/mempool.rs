//! `/mempool`: what could be mined next (decision A11).

use std::sync::Arc;

use bytes::Bytes;
use index::account::{Pending, View};
use schemars::JsonSchema;
use serde::Serialize;

use super::Desk;
use super::transaction::{Listed, waiting};
use crate::json::json;
use crate::refusal::Refusal;

/// Transactions that could be mined next.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Mempool")]
pub struct Mempool {
    /// More wait than are listed.
    pub has_more: bool,
    /// The best paying first, none before another one of its sender with a lower nonce.
    pub txs: Vec<Listed>,
}

/// The best paying transactions that wait. What the chain has by now waits no longer.
pub(super) async fn mempool(desk: &Desk<'_>, limit: u32) -> Result<Bytes, Refusal> {
    let pool = desk.index.txpool().await?;
    let wanted = limit as usize + 1;
    let read = move |view: &View, tier| {
        let mut waiting: Vec<Arc<Pending>> = Vec::with_capacity(wanted);
        for tx in &pool.pending {
            if waiting.len() == wanted {
                break;
            }
            if view.transaction(&tx.hash, tier)?.is_none() {
                waiting.push(Arc::clone(tx));
            }
        }
        Ok(waiting)
    };
    let mut list = desk.read(read).await?;
    let has_more = list.len() == wanted;
    list.truncate(limit as usize);
    Ok(json(&Mempool { has_more, txs: list.iter().map(|tx| waiting(tx)).collect() }))
}
