//! Raw transactions of the node's pool become entries of ours.
//!
//! Leaves asking for them to `pool_pass`. Invariant: nothing is admitted that the chain of the view
//! has, or whose key images it has spent (decision U16).

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use chain::ring::{Hash, Key, LAST_VERSION};

use super::decoded::{key_images, read};
use super::hashes::find;
use super::mempool::{Entry, Mempool};
use super::record::TransactionRecord;
use super::schema::TXNUM_BY_IMAGE;
use super::view::View;
use crate::sync::Waiting;
use crate::{ReadError, Tier};

/// Bytes of memory that an entry and a key image take besides the body, estimated.
const ENTRY_BYTES: u64 = 700;
const IMAGE_BYTES: u64 = 200;

/// What transactions are admitted by.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    /// The chain that they stand on.
    pub(crate) view: &'a View,
    /// Now, in seconds since 1970.
    pub(crate) first_seen: u64,
    /// Bytes of memory beyond which only hashes are kept.
    pub(crate) limit: u64,
}

/// A pool, and what was fetched for it and is not in it.
#[derive(Default)]
pub(crate) struct Admission {
    pub(crate) mempool: Mempool,
    /// The chain of this tip has them already, or has spent what they spend.
    refused: HashSet<Hash>,
    /// Could not be read.
    unreadable: HashSet<Hash>,
}

impl Admission {
    /// With a pool that there was.
    pub(crate) fn of(mempool: Mempool) -> Admission {
        Admission { mempool, ..Admission::default() }
    }

    /// Whether a transaction was refused at this tip.
    pub(crate) fn has_refused(&self, hash: &Hash) -> bool {
        self.refused.contains(hash)
    }

    /// What could not be read; it is forgotten with that.
    pub(crate) fn take_unread(&mut self) -> HashSet<Hash> {
        std::mem::take(&mut self.unreadable)
    }

    /// Adds raw transactions to the pool; beyond the limit only their hashes.
    pub(crate) fn admit(
        &mut self,
        terms: Terms<'_>,
        raw: &[(Hash, Bytes)],
    ) -> Result<(), ReadError> {
        let tip = terms.view.block(terms.view.height(), Tier::Any)?;
        let is_later = tip.is_some_and(|block| block.version > LAST_VERSION);
        for (hash, bytes) in raw {
            if self.mempool.memory() >= terms.limit {
                self.mempool.leave_beyond(*hash);
                continue;
            }
            let transaction = match read(bytes, hash, is_later) {
                Ok(transaction) => transaction,
                Err(problem) => {
                    tracing::debug!("a waiting transaction is left out: {problem}");
                    self.unreadable.insert(*hash);
                    continue;
                }
            };
            let key_images = key_images(&transaction);
            if !may_wait(terms.view, hash, &key_images)? {
                self.refused.insert(*hash);
                continue;
            }
            let outputs = transaction.output_count().map(|count| count as u64);
            let record = TransactionRecord::of(&transaction, *hash, outputs);
            let memory =
                ENTRY_BYTES + record.body.len() as u64 + IMAGE_BYTES * key_images.len() as u64;
            let (record, first_seen) = (Arc::new(record), terms.first_seen);
            self.mempool.insert(Entry { record, key_images, first_seen, memory });
        }
        Ok(())
    }
}

/// Whether the chain of a view has neither a transaction nor spent what it spends.
fn may_wait(view: &View, hash: &Hash, key_images: &[Key]) -> Result<bool, ReadError> {
    let reader = view.reader(Tier::Any);
    let keys: Vec<&[u8; 32]> = key_images.iter().map(|image| &image.0).collect();
    let spent = reader.multi_get(TXNUM_BY_IMAGE, &keys)?.iter().any(Option::is_some);
    Ok(!spent && find(reader, hash)?.is_none())
}

impl Waiting<View> for Mempool {
    fn count(&self) -> u64 {
        Mempool::count(self)
    }

    fn hold_against(&mut self, view: &View) -> Result<(), ReadError> {
        let entries: Vec<Arc<Entry>> = self.in_order().cloned().collect();
        for entry in entries {
            if !may_wait(view, &entry.record.hash, &entry.key_images)? {
                self.remove(&entry.record.hash);
            }
        }
        Ok(())
    }
}
