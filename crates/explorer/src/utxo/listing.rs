//! A page of transactions, of a block or of an address, made piece by piece.
//!
//! A piece is a batch of transactions that are read together. Leaves what a transaction looks like
//! to `transaction`. Invariants: the page's budgets (decisions E17, U6) run through all its pieces;
//! pieces are of one view, so that a page that is made twice is the same.

use index::Tier;
use index::utxo::{BlockRow, LIST_OUTPUTS, TransactionView};
use schemars::JsonSchema;
use serde::Serialize;

use super::hex::HashHex;
use super::transaction::{Shape, TransactionJson};
use super::writing;
use super::{Desk, Fail};
use crate::answer::Page;
use crate::content::{PIECE_BYTES, Pieces};
use crate::refusal::Reason;

/// A page shows inputs and outputs whole while it has at most so many of them (decision E17).
const PAGE_ITEMS: usize = 5000;
/// Transactions that are read first, where they may come from the disk.
const FIRST_BATCH: u64 = 8;
/// Most that are read at once from there: each may have megabytes.
const LARGEST_BATCH: u64 = 16;
/// What follows the last transaction of a page.
const END: &[u8] = b"]}";
/// Most transactions of a page.
const WHOLE_PAGE: u64 = 50;

/// Where the transactions come from.
pub(crate) enum Source {
    /// A block, in its order.
    Block(Box<BlockRow>),
    /// What touches a script, newest first.
    Script(Vec<u8>),
}

/// A page of transactions.
pub(crate) struct Listing {
    desk: Desk,
    source: Source,
    page: Page,
    progress: Progress,
}

/// How far a page is made.
struct Progress {
    /// Transactions of it that are written.
    written: u64,
    /// Transactions to be read next.
    batch: u64,
    /// Previous outputs that may still be resolved.
    outputs: usize,
    /// Inputs and outputs that may still be shown; none once a transaction did not fit.
    items: Option<usize>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Head,
    Items,
    Done,
}

/// A page of transactions. The pages of one tip lose and repeat nothing.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Transactions")]
pub struct Head {
    /// Number of the page.
    pub page: u64,
    /// How many pages there are.
    pub total_pages: u64,
    /// Transactions of the whole list, waiting ones included.
    pub tx_count: u64,
    /// Height of the tip that this is of.
    pub tip_height: u32,
    /// Hash of that tip.
    pub tip_hash: HashHex,
    /// Of a block in its order; of an address waiting ones first, then newest first.
    // They are written one by one behind the rest.
    #[schemars(with = "Vec<TransactionJson<'static>>")]
    pub txs: [(); 0],
}

impl Listing {
    pub(crate) fn new(desk: Desk, source: Source, page: Page) -> Listing {
        let progress = Progress::new(desk.tier);
        Listing { desk, source, page, progress }
    }

    /// The next transactions, and how many there are in all.
    fn read(&mut self) -> Result<(u64, Vec<TransactionView>), Fail> {
        let Desk { view, tier, .. } = &self.desk;
        let from = self.page.from().saturating_add(self.progress.written);
        let count = self.progress.batch.min(self.page.size - self.progress.written);
        let left = &mut self.progress.outputs;
        match &self.source {
            Source::Block(block) => {
                let all = block.tx_count.into();
                Ok((all, view.block_transactions_within(*tier, block, from, count, left)?))
            }
            Source::Script(script) => {
                let history = view.history_within(*tier, script, from, count, left)?;
                let history = history.ok_or(Reason::NotFound)?;
                Ok((history.tx_count, history.transactions))
            }
        }
    }

    fn head(&self, tx_count: u64) -> Vec<u8> {
        let head = Head {
            page: self.page.page,
            total_pages: self.page.total(tx_count),
            tx_count,
            tip_height: self.desk.view.height(),
            tip_hash: HashHex(self.desk.view.hash()),
            txs: [],
        };
        let mut out = super::json(&head).to_vec();
        debug_assert!(out.ends_with(END));
        out.truncate(out.len() - END.len());
        out
    }
}

impl Progress {
    fn new(tier: Tier) -> Progress {
        // What comes from memory alone is little, or nothing.
        let batch = if tier == Tier::Cached { WHOLE_PAGE } else { FIRST_BATCH };
        let (written, outputs, items) = (0, LIST_OUTPUTS, Some(PAGE_ITEMS));
        Progress { written, batch, outputs, items, stage: Stage::Head }
    }

    /// How much of a transaction is shown.
    fn shape(&mut self, tx: &TransactionView) -> Shape {
        let items = tx.inputs.len() + tx.record.outputs.len();
        self.items = self.items.and_then(|left| left.checked_sub(items));
        if self.items.is_some() { Shape::Whole } else { Shape::Cut }
    }

    /// Fits the next batch to the bytes of this one.
    fn adapt(&mut self, bytes: usize) {
        if bytes > PIECE_BYTES {
            self.batch = (self.batch * PIECE_BYTES as u64 / bytes as u64).max(1);
        } else if bytes < PIECE_BYTES / 4 {
            self.batch = (self.batch * 2).clamp(1, LARGEST_BATCH);
        }
    }
}

impl Pieces for Listing {
    fn next(&mut self) -> Result<Option<Vec<u8>>, Fail> {
        if self.progress.stage == Stage::Done {
            return Ok(None);
        }
        let (all, txs) = self.read()?;
        let mut piece = match self.progress.stage {
            Stage::Head => self.head(all),
            _ => Vec::new(),
        };
        piece.reserve(txs.iter().map(writing::length).sum());
        for tx in &txs {
            if self.progress.written > 0 {
                piece.push(b',');
            }
            let shape = self.progress.shape(tx);
            writing::write(&mut piece, &self.desk, tx, shape);
            self.progress.written += 1;
        }
        let end = self.page.size.min(all.saturating_sub(self.page.from()));
        self.progress.stage = Stage::Items;
        if self.progress.written >= end || txs.is_empty() {
            piece.extend_from_slice(END);
            self.progress.stage = Stage::Done;
        }
        self.progress.adapt(piece.len());
        Ok(Some(piece))
    }

    fn restart(&mut self) {
        // What fitted before fits again.
        let batch = self.progress.batch;
        self.progress = Progress { batch, ..Progress::new(self.desk.tier) };
    }

    fn held_bytes(&self) -> usize {
        0
    }
}
