//! Reads of a store, as it is or as it was.
//!
//! Invariant: a reader that may only use memory never touches the disk; it says `Cold` instead.

use std::ops::ControlFlow;

use rocksdb::{DB, DBPinnableSlice, ReadOptions, ReadTier, SnapshotWithThreadMode};

use super::{Db, Table, read_error};
use crate::{ReadError, Tier};

/// A row's value, held in the engine's memory.
pub(crate) type Row<'a> = DBPinnableSlice<'a>;

/// So many rows are had sooner one by one than as a batch.
const FEW: usize = 2;

type Taken<'a> = SnapshotWithThreadMode<'a, DB>;

/// How rows are read by their keys, made once: making it costs as much as a tenth of a read.
pub(super) struct Ways {
    any: ReadOptions,
    cached: ReadOptions,
}

impl Ways {
    pub(super) fn new(snapshot: Option<&Taken<'_>>) -> Ways {
        Ways { any: options(snapshot, Tier::Any), cached: options(snapshot, Tier::Cached) }
    }
}

fn options(snapshot: Option<&Taken<'_>>, tier: Tier) -> ReadOptions {
    let mut options = ReadOptions::default();
    if let Some(snapshot) = snapshot {
        options.set_snapshot(snapshot);
    }
    if tier == Tier::Cached {
        options.set_read_tier(ReadTier::BlockCache);
    }
    options
}

/// A moment of a store, and how it is read.
pub(super) struct Held<'a> {
    // Before what they are of, which they must not outlive.
    ways: Ways,
    snapshot: Taken<'a>,
}

impl<'a> Held<'a> {
    pub(super) fn of(db: &'a DB) -> Held<'a> {
        let snapshot = db.snapshot();
        Held { ways: Ways::new(Some(&snapshot)), snapshot }
    }

    pub(super) fn reader(&'a self, db: &'a Db, tier: Tier) -> Reader<'a> {
        Reader::new(db, Some(&self.snapshot), &self.ways, tier)
    }
}

/// Reads a store at one moment.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    pub(super) db: &'a Db,
    snapshot: Option<&'a Taken<'a>>,
    by_key: &'a ReadOptions,
    tier: Tier,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        db: &'a Db,
        snapshot: Option<&'a Taken<'a>>,
        ways: &'a Ways,
        tier: Tier,
    ) -> Reader<'a> {
        let by_key = match tier {
            Tier::Any => &ways.any,
            Tier::Cached => &ways.cached,
        };
        Reader { db, snapshot, by_key, tier }
    }

    pub(super) fn options(&self) -> ReadOptions {
        options(self.snapshot, self.tier)
    }

    /// The row of that key.
    pub(crate) fn get(&self, table: Table, key: &[u8]) -> Result<Option<Row<'a>>, ReadError> {
        self.db.db.get_pinned_cf_opt(self.db.handle(table), key, self.by_key).map_err(read_error)
    }

    /// The rows of those keys, in their order.
    pub(crate) fn multi_get<K: AsRef<[u8]>>(
        &self,
        table: Table,
        keys: &[K],
    ) -> Result<Vec<Option<Row<'a>>>, ReadError> {
        if keys.len() <= FEW {
            return keys.iter().map(|key| self.get(table, key.as_ref())).collect();
        }
        let handle = self.db.handle(table);
        let sorted = keys.is_sorted_by(|one, next| one.as_ref() < next.as_ref());
        // The engine takes a batch at once; a bounded one keeps its pinned blocks bounded too.
        let rows = keys.chunks(256).flat_map(|keys| {
            self.db.db.batched_multi_get_cf_opt(handle, keys.iter(), sorted, self.by_key)
        });
        rows.map(|row| row.map_err(read_error)).collect()
    }

    /// Visits the rows that begin with `prefix`, from `from` on, in key order, until told to stop.
    /// `prefix` is at least as long as that of the table.
    pub(crate) fn scan(
        &self,
        table: Table,
        prefix: &[u8],
        from: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        let mut options = self.options();
        let spec = self.db.spec(table);
        let by_prefix = spec.prefix > 0 && prefix.len() >= spec.prefix;
        options.set_total_order_seek(!by_prefix);
        options.set_prefix_same_as_start(by_prefix);
        if let Some(end) = after(prefix) {
            options.set_iterate_upper_bound(end);
        }
        let mut rows = self.db.db.raw_iterator_cf_opt(self.db.handle(table), options);
        rows.seek(from);
        while let Some((key, value)) = rows.item() {
            if visit(key, value).is_break() {
                return Ok(());
            }
            rows.next();
        }
        rows.status().map_err(read_error)
    }

    /// Visits every row of a table in key order, until told to stop.
    pub(crate) fn scan_all(
        &self,
        table: Table,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        self.scan(table, &[], &[], visit)
    }
}

/// The first key after all that begin with `prefix`, if there is one.
fn after(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}
