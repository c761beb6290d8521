//! `/address/{address}` and its `/txs`.

use std::sync::Arc;

use bytes::Bytes;
use chain::account::{Address, Hash, U256};
use index::account::{AccountState, Coverage as Seen, Unanswered, View};
use schemars::JsonSchema;
use serde::Serialize;

use super::Desk;
use super::place::Cursor;
use super::text::Text;
use super::transaction::{Listed, in_list};
use crate::json::json;
use crate::refusal::{Reason, Refusal};

/// Tips that an answer is tried at, where the chain moves while the node is asked.
const TRIES: usize = 3;

/// What an account has.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Account")]
pub struct Account {
    /// The account.
    pub address: Text<Address>,
    /// Height of the block after which it has that.
    pub at_block: u32,
    /// What it has.
    pub balance: Text<U256>,
    /// Bytes of its code.
    pub code_size: u64,
    /// Whose code it runs (EIP-7702).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegated_to: Option<Text<Address>>,
    /// It has code of its own.
    pub is_contract: bool,
    /// Transactions that it has sent, or contracts that it has created.
    pub nonce: u64,
}

/// How far the index has seen.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Coverage")]
pub struct Coverage {
    /// The first block that is held.
    pub from_height: u32,
    /// The last one.
    pub to_height: u32,
    /// The first block is that of the chain.
    pub complete: bool,
    /// Every block from the first to the last was traced.
    pub traces: bool,
    /// From here to the last one every block was traced; absent where the last was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traces_from_height: Option<u32>,
}

/// A part of an account's history, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "History")]
pub struct History {
    /// There are more.
    pub has_more: bool,
    /// Where they go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<u64>,
    /// Its transactions.
    pub txs: Vec<Listed>,
    /// How far the index has seen.
    pub coverage: Coverage,
    /// Height of the tip that the answer was made from.
    pub tip_height: u32,
    /// Hash of that tip.
    pub tip_hash: Text<Hash>,
}

impl From<Seen> for Coverage {
    fn from(coverage: Seen) -> Coverage {
        Coverage {
            from_height: coverage.from_height,
            to_height: coverage.to_height,
            complete: coverage.complete,
            traces: coverage.traces,
            traces_from_height: coverage.traces_from_height,
        }
    }
}

/// What an account has, with the height that it is told at.
pub(super) async fn ask(desk: &Desk<'_>, address: Address) -> Result<(u32, AccountState), Refusal> {
    let mut view = Arc::clone(&desk.view);
    for _ in 1..TRIES {
        match desk.index.account(&view, address).await {
            Ok(state) => return Ok((view.tip().height, state)),
            Err(error @ (Unanswered::Silent | Unanswered::Unable)) => return Err(error.into()),
            // The node may have left our tip already; the newest one is asked for then.
            Err(Unanswered::Odd) => {}
        }
        match desk.index.view() {
            Some(newer) if newer.tip().hash != view.tip().hash => view = newer,
            _ => tokio::time::sleep(std::time::Duration::from_millis(100)).await,
        }
    }
    let state = desk.index.account(&view, address).await?;
    Ok((view.tip().height, state))
}

/// What an account has.
pub(super) async fn state(desk: &Desk<'_>, address: Address) -> Result<Bytes, Refusal> {
    let (at_block, state) = ask(desk, address).await?;
    Ok(json(&Account {
        address: Text(address),
        at_block,
        balance: Text(state.balance),
        code_size: state.code_size,
        delegated_to: state.delegated_to.map(Text),
        is_contract: state.is_contract(),
        nonce: state.nonce,
    }))
}

/// A part of an account's history, newest first.
pub(super) async fn history(
    desk: &Desk<'_>,
    address: Address,
    cursor: Option<Cursor>,
    limit: u32,
) -> Result<Bytes, Refusal> {
    let tip = desk.view.tip();
    let cursor = cursor.unwrap_or(Cursor { height: tip.height, position: 0 });
    if cursor.height > tip.height {
        return Err(Reason::NotFound.into());
    }
    let read = move |view: &View, tier| {
        let page = view.history(&address, cursor.newest(), limit as usize, tier)?;
        let last = page.transactions.last().map(|placed| placed.place);
        let next = page.next.map(|next| Cursor::after(last, next).number());
        let txs: Vec<_> =
            page.transactions.into_iter().map(|placed| in_list(view, placed)).collect();
        Ok((next, txs, view.coverage(tier)?))
    };
    let (next_cursor, txs, coverage) = desk.read(read).await?;
    Ok(json(&History {
        has_more: next_cursor.is_some(),
        next_cursor,
        txs,
        coverage: coverage.into(),
        tip_height: tip.height,
        tip_hash: Text(tip.hash),
    }))
}
