//! A page of transactions, of a block or of the mempool, made piece by piece.
//!
//! Leaves what a transaction looks like to `transaction`. Invariant: pieces are of one view, so that
//! a page that is made twice is the same.

use index::ring::{BlockRow, TransactionView};
use schemars::JsonSchema;
use serde::Serialize;

use super::Desk;
use super::hex::Hex32;
use super::transaction::{self, Listed};
use crate::answer::Page;
use crate::content::Pieces;
use crate::fail::Fail;
use crate::json::{put, separate};
use crate::refusal::Refusal;

/// Transactions that are read at once: each may have hundreds of kilobytes.
const BATCH: u64 = 8;
/// What follows the last transaction of a page.
const END: &[u8] = b"]}";

/// Where the transactions come from.
pub(super) enum Source {
    /// A block, in its order, the coinbase first (decision R3).
    Block(BlockRow),
    /// The mempool, newest first seen first (decision R10).
    Mempool,
}

/// A page of transactions.
pub(super) struct Listing {
    desk: Desk,
    source: Source,
    page: Page,
    /// Transactions of it that are written; none before its head is.
    written: Option<u64>,
    is_done: bool,
}

/// A page of transactions. The pages of one tip lose and repeat nothing.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Transactions")]
pub struct Head {
    /// Number of the page.
    pub page: u64,
    /// How many pages there are.
    pub total_pages: u64,
    /// Transactions of the whole list.
    pub tx_count: u64,
    /// Height of the tip that this is of.
    pub tip_height: u32,
    /// Hash of that tip.
    pub tip_hash: Hex32,
    /// Of a block in its order, of the mempool newest first seen first.
    // They are written one by one behind the rest.
    #[schemars(with = "Vec<Listed<'static>>")]
    pub txs: [(); 0],
}

impl Listing {
    pub(super) fn new(desk: Desk, source: Source, page: Page) -> Listing {
        Listing { desk, source, page, written: None, is_done: false }
    }

    /// Transactions of the whole list.
    fn count(&self) -> Result<u64, Fail> {
        let silent = || Refusal::unavailable("the node is not heard", 5);
        match &self.source {
            Source::Block(block) => Ok(block.tx_count.into()),
            Source::Mempool => Ok(self.desk.view.mempool().ok_or_else(silent)?.count()),
        }
    }

    /// The next transactions.
    fn read(&self, written: u64) -> Result<Vec<TransactionView>, Fail> {
        let from = self.page.from().saturating_add(written);
        let count = BATCH.min(self.page.size - written);
        Ok(match &self.source {
            Source::Block(block) => {
                self.desk.view.block_transactions(block, from, count, self.desk.tier)?
            }
            Source::Mempool => self.desk.view.waiting(from, count).unwrap_or_default(),
        })
    }

    fn head(&self, tx_count: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(1024);
        put(
            &mut out,
            &Head {
                page: self.page.page,
                total_pages: self.page.total(tx_count),
                tx_count,
                tip_height: self.desk.view.height(),
                tip_hash: self.desk.view.hash().into(),
                txs: [],
            },
        );
        debug_assert!(out.ends_with(END));
        out.truncate(out.len() - END.len());
        out
    }
}

impl Pieces for Listing {
    fn next(&mut self) -> Result<Option<Vec<u8>>, Fail> {
        if self.is_done {
            return Ok(None);
        }
        let all = self.count()?;
        let mut piece = match self.written {
            None => self.head(all),
            Some(_) => Vec::new(),
        };
        let mut written = self.written.unwrap_or(0);
        let txs = self.read(written)?;
        for tx in &txs {
            separate(&mut piece, written > 0);
            put(&mut piece, &transaction::listed(&self.desk, tx, &tx.record.decode()?));
            written += 1;
        }
        let end = self.page.size.min(all.saturating_sub(self.page.from()));
        if written >= end || txs.is_empty() {
            piece.extend_from_slice(END);
            self.is_done = true;
        }
        self.written = Some(written);
        Ok(Some(piece))
    }

    fn restart(&mut self) {
        (self.written, self.is_done) = (None, false);
    }

    fn held_bytes(&self) -> usize {
        0
    }
}
