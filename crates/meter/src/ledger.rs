//! The usage rows of one service: the only truth of what was counted.
//!
//! # What a crash can lose
//!
//! A charge is one atomic addition to a slot of the mapped file, done before the request is
//! forwarded and after everything that can refuse it. The page belongs to the system, so `kill
//! -9` at any moment keeps it: every answered request is in the rows, a refused one never was,
//! and what is in the rows but was not answered was in flight: **answered <= billed <= answered +
//! in flight**. A refund is one subtraction from the same slot. The counters of the day and month
//! are sums of rows that are taken again when the store is opened, so the rows of a day add up to
//! its counter by construction. The file is synced every second, so a power loss takes the last
//! second at most.
//!
//! # From the file to the store
//!
//! Rows are recorded in the store with their whole amount, which may be done twice, and after a
//! sync of the file, so the store is never ahead of it. A slot is freed only when its amount is
//! recorded, its hour is long over and nothing has touched it for two hours, which no request
//! outlives.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::buckets::Rate;
use crate::clock::Now;
use crate::folder::{Folder, Lock, has_no_room};
use crate::lessee::Lessee;
use crate::open_days::OpenDays;
use crate::store::{RowName, Store, StoreError, Total, UsageRow};
use crate::usage_file::{LiveRow, SEGMENT_SLOTS, Slot, UsageFile};
use crate::{OpenError, Service};

/// A slot lives so long after its last change and, in hours, after its hour.
const KEPT: Duration = Duration::from_secs(2 * 3600);
const KEPT_HOURS: u32 = 2;
/// Rows of one transaction.
const BATCH: usize = 4096;

/// The rows of a service, held by this process.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) service: Service,
    pub(crate) file: UsageFile,
    pub(crate) open_days: OpenDays,
    /// Borrows units where the store lends them; else every cap is this process's alone.
    pub(crate) lessee: Option<Lessee>,
    slots: Mutex<Slots>,
    /// What is recorded of each slot; held while recording.
    recorded: Mutex<HashMap<u32, Recorded>>,
    /// Empty as long as a full disk has no room for it, nor for the file of usage.
    lock: OnceLock<Lock>,
    folder: Folder,
}

/// Which slot of the file each row has.
#[derive(Debug, Default)]
struct Slots {
    slot_by_name: HashMap<RowName, u32>,
    /// Lowest last.
    free: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Recorded {
    units: u64,
    unchanged_since: Duration,
}

impl Ledger {
    /// Takes the service, opens its file and records what a former process left in it.
    pub(crate) fn open(
        folder: &Folder,
        service: Service,
        store: &dyn Store,
        now: Now,
    ) -> Result<Ledger, OpenError> {
        let (path, identity) = (folder.usage(service), store.identity()?);
        let (lock, file) = match folder.lock(service) {
            // Two that lack it may both begin; only one gets as far as counting.
            Err(OpenError::File { source, .. }) if has_no_room(&source) && !path.exists() => {
                (OnceLock::new(), UsageFile::absent(&path, service, identity)?)
            }
            lock => (OnceLock::from(lock?), UsageFile::open(&path, service, identity)?),
        };
        store.hold(service, file.replica())?;
        let slots = Slots::of(&file, service, store)?;
        let mut ledger = Ledger {
            service,
            file,
            open_days: OpenDays::new(None),
            lessee: None,
            slots: Mutex::new(slots),
            recorded: Mutex::default(),
            lock,
            folder: folder.clone(),
        };
        ledger.record_or_keep(store, now)?;
        let last = store.last_hour(service)?.max(ledger.last_live_hour());
        let last_day = last.map(|hour| hour / 24);
        ledger.open_days = OpenDays::new(last_day);
        Ok(ledger)
    }

    /// Begins to borrow, where the store lends; everything counted so far is recorded by then.
    ///
    /// # Errors
    /// It cannot be recorded, for want of room to write the file anew: others would be lent what was used.
    pub(crate) fn begin_lending(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        if let Some(lender) = store.lender() {
            self.renew()?;
            self.lessee = Some(Lessee::begin(self.service, self.file.replica(), lender)?);
        }
        Ok(())
    }

    /// A plan's rate and this process's part of it.
    #[inline]
    pub(crate) fn rate(&self, whole: u32) -> Rate {
        let share = self.lessee.as_ref().map_or(whole, |lessee| lessee.share.of(whole));
        Rate { whole, share }
    }

    /// What a day or month has seen: of all, or of this replica alone where each has leases.
    pub(crate) fn totals(
        &self,
        store: &dyn Store,
        hours: Range<u32>,
    ) -> Result<Vec<Total>, StoreError> {
        match store.lender().filter(|_| self.lessee.is_some()) {
            Some(lender) => lender.own_totals(self.service, self.file.replica(), hours),
            None => {
                let mut totals = store.totals(self.service, hours.clone())?;
                self.add_unrecorded(store, &hours, &mut totals)?;
                Ok(totals)
            }
        }
    }

    /// Adds to sums of the store what it has no room for.
    fn add_unrecorded(
        &self,
        store: &dyn Store,
        hours: &Range<u32>,
        totals: &mut Vec<Total>,
    ) -> Result<(), StoreError> {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        let live = self.settled_rows(store, &mut recorded)?;
        let waits = |(slot, row): &(u32, LiveRow)| {
            hours.contains(&row.name.hour)
                && recorded.get(slot).is_none_or(|past| past.units != row.units)
        };
        for (_, LiveRow { name, units, .. }) in live.into_iter().filter(waits) {
            let known = store.recorded(self.service, self.file.replica(), name)?;
            let more = units.saturating_sub(known);
            let same = |total: &&mut Total| (total.account, total.key) == (name.account, name.key);
            match totals.iter_mut().find(same) {
                Some(total) => total.units = total.units.saturating_add(more),
                None => totals.push(Total { account: name.account, key: name.key, units: more }),
            }
        }
        Ok(())
    }

    /// The latest hour of the rows in the file.
    fn last_live_hour(&self) -> Option<u32> {
        self.slots().slot_by_name.keys().map(|name| name.hour).max()
    }

    /// As [`Ledger::record`]; rows that the store has no room for stay in the file, and are no reason
    /// not to serve.
    pub(crate) fn record_or_keep(&self, store: &dyn Store, now: Now) -> Result<(), StoreError> {
        match self.record(store, now) {
            Err(error @ StoreError::Full(_)) => {
                let file = self.file.path().display();
                tracing::error!(%error, %file, "usage cannot be recorded; it is kept in its file");
                Ok(())
            }
            recorded => recorded,
        }
    }

    /// The slot of a row, made if there is none.
    pub(crate) fn slot(&self, name: RowName) -> io::Result<u32> {
        let mut slots = self.slots();
        // What is added to a file that waits would be lost with the process.
        self.file.renew()?;
        if let Some(slot) = slots.slot_by_name.get(&name) {
            return Ok(*slot);
        }
        if slots.free.is_empty() {
            self.lock()?;
            let first = self.file.len() as u32;
            self.file.grow()?;
            slots.free.extend((first..first + SEGMENT_SLOTS as u32).rev());
        }
        let slot = slots.free.pop().ok_or(io::ErrorKind::StorageFull)?;
        self.file.begin(slot, name);
        slots.slot_by_name.insert(name, slot);
        Ok(slot)
    }

    /// Takes the service where there was no room for its lock before.
    fn lock(&self) -> io::Result<()> {
        if self.lock.get().is_none() {
            let lock = self.folder.lock(self.service).map_err(io::Error::other)?;
            // The slots are held, so nobody else has set it.
            let _ = self.lock.set(lock);
        }
        Ok(())
    }

    /// Has the file in this format, so that its rows may be recorded.
    fn renew(&self) -> Result<(), StoreError> {
        let _slots = self.slots();
        self.file.renew().map_err(|error| match has_no_room(&error) {
            true => StoreError::Full(format!("{}: {error}", self.file.path().display())),
            false => StoreError::Failed(format!("{}: {error}", self.file.path().display())),
        })
    }

    /// Waits until everything counted so far is on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    /// Writes every changed row to the store and frees the slots of rows that are over.
    pub(crate) fn record(&self, store: &dyn Store, now: Now) -> Result<(), StoreError> {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        let live = self.settled_rows(store, &mut recorded)?;
        self.renew()?;
        let changed: Vec<_> = live
            .iter()
            .filter(|(slot, row)| recorded.get(slot).is_none_or(|past| past.units != row.units))
            .collect();
        // Before the store knows an amount the file has it on the disk.
        self.file.sync().map_err(|error| StoreError::Failed(error.to_string()))?;
        for batch in changed.chunks(BATCH) {
            let row = |row: &LiveRow| UsageRow { name: row.name, units: row.units };
            let rows: Vec<_> = batch.iter().map(|(_, live)| row(live)).collect();
            store.record(self.service, self.file.replica(), &rows)?;
            for (slot, row) in batch {
                let past = Recorded { units: row.units, unchanged_since: now.mono };
                recorded.insert(*slot, past);
            }
        }
        for (slot, row) in live {
            let over = !(row.name.hour..=row.name.hour.saturating_add(KEPT_HOURS))
                .contains(&now.utc.hour());
            let idle = |past: &Recorded| now.mono.saturating_sub(past.unchanged_since) >= KEPT;
            if over && recorded.get(&slot).is_some_and(idle) && self.free(slot, &row) {
                recorded.remove(&slot);
            }
        }
        Ok(())
    }

    /// The rows of the file, each with what the store had of it before.
    fn settled_rows(
        &self,
        store: &dyn Store,
        recorded: &mut HashMap<u32, Recorded>,
    ) -> Result<Vec<(u32, LiveRow)>, StoreError> {
        let slots: Vec<u32> = self.slots().slot_by_name.values().copied().collect();
        let mut rows = Vec::with_capacity(slots.len());
        for slot in slots {
            if let Slot::Row(row) = self.file.read(slot)
                && row.unsettled
            {
                self.file
                    .settle(slot, store.recorded(self.service, self.file.replica(), row.name)?);
            }
            match self.file.read(slot) {
                Slot::Row(row) => rows.push((slot, row)),
                Slot::Damaged => {
                    self.leave_out(slot);
                    recorded.remove(&slot);
                }
                Slot::Free => (),
            }
        }
        Ok(rows)
    }

    /// A row that was damaged while it is counted goes on from what was recorded of it.
    fn leave_out(&self, slot: u32) {
        let mut slots = self.slots();
        self.file.clear(slot);
        slots.slot_by_name.retain(|_, place| *place != slot);
        slots.free.push(slot);
        let file = self.file.path().display();
        tracing::error!(%file, slot, "a usage row was damaged; it goes on from what was recorded");
    }

    fn free(&self, slot: u32, row: &LiveRow) -> bool {
        let mut slots = self.slots();
        let freed = self.file.end(slot, row.units);
        if freed {
            slots.slot_by_name.remove(&row.name);
            slots.free.push(slot);
        }
        freed
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slots {
    /// Finds the rows of a file that a former process left, whole or damaged.
    fn of(file: &UsageFile, service: Service, store: &dyn Store) -> Result<Slots, StoreError> {
        let mut slots = Slots::default();
        let mut damaged = 0_u32;
        for (slot, content) in file.rows() {
            match content {
                Slot::Row(row) => slots.keep(file, slot, row, service, store)?,
                Slot::Free => slots.free.push(slot),
                Slot::Damaged => {
                    damaged += 1;
                    file.clear(slot);
                    slots.free.push(slot);
                }
            }
        }
        if damaged > 0 {
            let file = file.path().display();
            tracing::warn!(%file, damaged, "usage rows were damaged and are left out");
        }
        slots.free.reverse();
        Ok(slots)
    }

    /// A power loss can bring a freed slot back beside the one that took over its row: the later
    /// one began with the amount of the former, so the larger amount is right.
    fn keep(
        &mut self,
        file: &UsageFile,
        slot: u32,
        row: LiveRow,
        service: Service,
        store: &dyn Store,
    ) -> Result<(), StoreError> {
        let Some(other) = self.slot_by_name.insert(row.name, slot) else { return Ok(()) };
        let recorded = store.recorded(service, file.replica(), row.name)?;
        for slot in [slot, other] {
            file.settle(slot, recorded);
        }
        let units = |slot| match file.read(slot) {
            Slot::Row(row) => row.units,
            _ => 0,
        };
        let (kept, dropped) =
            if units(slot) >= units(other) { (slot, other) } else { (other, slot) };
        file.clear(dropped);
        self.free.push(dropped);
        self.slot_by_name.insert(row.name, kept);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
