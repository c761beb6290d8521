//! What a meter and its background thread share.
//!
//! Reads the store when it has changed and when a day is not open; records usage. Everything here
//! that touches the store blocks and is called from the blocking pool or the background thread
//! only. Invariant: `seen` is a word of the store that the table shows at least.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::buckets::Connector;
use crate::ledger::Ledger;
use crate::store::{Store, StoreError};
use crate::table::Table;
use crate::utc::first_day_of_month;
use crate::{Clock, Service};

/// After the store could not be read, requests are refused at once for so long.
const BREATH: Duration = Duration::from_millis(200);

/// The shared insides of a meter.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) clock: Clock,
    pub(crate) store: Box<dyn Store>,
    pub(crate) table: Table,
    pub(crate) ledgers: [Option<Arc<Ledger>>; 2],
    /// Buckets that several processes have in common, where there are such.
    pub(crate) connector: Option<Connector>,
    seen: AtomicU64,
    reading: Mutex<()>,
    /// Readings of the store that have begun, and the last of them that succeeded.
    begun: AtomicU64,
    done: AtomicU64,
    /// Monotonic milliseconds until which the store is not asked again.
    rests_until: AtomicU64,
    store_answers: AtomicBool,
    /// Some accounts or keys could not be read.
    damaged: AtomicBool,
}

impl Engine {
    pub(crate) fn new(
        clock: Clock,
        store: Box<dyn Store>,
        table: Table,
        ledgers: [Option<Arc<Ledger>>; 2],
        connector: Option<Connector>,
    ) -> Engine {
        // Another word than the store shows, so that the first reading is not skipped.
        let seen = AtomicU64::new(store.changed().wrapping_sub(1));
        Engine {
            clock,
            store,
            table,
            ledgers,
            connector,
            seen,
            reading: Mutex::default(),
            begun: AtomicU64::new(0),
            done: AtomicU64::new(0),
            rests_until: AtomicU64::new(0),
            store_answers: AtomicBool::new(true),
            damaged: AtomicBool::new(false),
        }
    }

    #[inline]
    pub(crate) fn ledger(&self, service: Service) -> Option<&Arc<Ledger>> {
        self.ledgers[service.place()].as_ref()
    }

    /// Does the table show every change, and are the words right for this day?
    #[inline]
    pub(crate) fn is_current(&self, ledger: &Ledger, day: u32) -> bool {
        self.store.changed() == self.seen.load(Ordering::Acquire) && ledger.open_days.is_open(day)
    }

    /// May a key that is not in the table be one that could not be read?
    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Acquire)
    }

    /// Can known keys be served? Those of a shared store can while it is away, unless a service was
    /// lost to another process.
    pub(crate) fn serves(&self) -> bool {
        let unchanged = self.store.changed() == self.seen.load(Ordering::Acquire);
        self.store_answers() || (self.store.is_shared() && unchanged)
    }

    /// Did the last reading succeed?
    pub(crate) fn store_answers(&self) -> bool {
        self.store_answers.load(Ordering::Acquire)
    }

    /// Is the store left alone for a moment after an error?
    pub(crate) fn rests(&self) -> bool {
        // One that is far away may take its time to fail; the background thread goes on asking.
        if self.store.is_shared() && !self.store_answers() {
            return true;
        }
        (self.clock.mono().as_millis() as u64) < self.rests_until.load(Ordering::Acquire)
    }

    /// The number of the last reading that has begun. Whatever was in the store by now is in the
    /// table once a later one [`has_read`](Self::has_read).
    pub(crate) fn readings(&self) -> u64 {
        self.begun.load(Ordering::Acquire)
    }

    /// Has a reading that began after that one succeeded?
    pub(crate) fn has_read(&self, after: u64) -> bool {
        self.done.load(Ordering::Acquire) > after
    }

    /// Reads what has changed, and the rows of today where they are needed.
    pub(crate) fn catch_up(&self) -> Result<(), StoreError> {
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.begun.fetch_add(1, Ordering::AcqRel) + 1;
        let result = self.read_changes().and_then(|()| self.open_today());
        let failed = result.is_err();
        if self.store_answers.swap(!failed, Ordering::AcqRel) == failed {
            match &result {
                Ok(()) => tracing::info!("the store answers again"),
                Err(error) => tracing::error!(%error, "the store cannot be read"),
            }
        }
        if !failed {
            self.done.store(number, Ordering::Release);
        } else {
            let until = self.clock.mono().saturating_add(BREATH).as_millis() as u64;
            self.rests_until.store(until, Ordering::Release);
        }
        result
    }

    fn read_changes(&self) -> Result<(), StoreError> {
        // Before the store is read: what is raised while it is read is read again.
        let word = self.store.changed();
        let known = self.table.version();
        if self.store.version()? != known {
            let changes = self.store.changes_after(known)?;
            if !changes.damaged.is_empty() {
                let damaged = changes.damaged.join("; ");
                tracing::error!(
                    damaged,
                    "the store's database is damaged: keys that are not found are answered 503; \
                     restore it from a backup"
                );
                self.damaged.store(true, Ordering::Release);
            }
            self.table.apply(changes);
        }
        self.seen.store(word, Ordering::Release);
        Ok(())
    }

    fn open_today(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let (day, month) = (now.utc.day(), now.utc.month());
        for ledger in self.ledgers.iter().flatten() {
            if ledger.open_days.is_open(day) {
                continue;
            }
            // The store has every row then, but for those that it has no room for.
            ledger.record_or_keep(&*self.store, now)?;
            let (first, next) = (first_day_of_month(month), first_day_of_month(month + 1));
            let days = ledger.totals(&*self.store, day * 24..(day + 1) * 24)?;
            let months = ledger.totals(&*self.store, first * 24..next * 24)?;
            self.table.restore(ledger.service, (day, &days), (month, &months));
            ledger.open_days.open(day);
        }
        Ok(())
    }

    /// Borrows and returns what is due of a service.
    pub(crate) fn lend(&self, ledger: &Ledger) {
        if let (Some(lessee), Some(lender)) = (&ledger.lessee, self.store.lender()) {
            lessee.turn(lender, &ledger.open_days, self.clock.now());
        }
    }

    /// Returns everything that the store has lent.
    pub(crate) fn return_leases(&self) -> Result<(), StoreError> {
        let Some(lender) = self.store.lender() else { return Ok(()) };
        let now = self.clock.now();
        let lessees = self.ledgers.iter().flatten().filter_map(|ledger| ledger.lessee.as_ref());
        lessees.map(|lessee| lessee.end(lender, now)).fold(Ok(()), Result::and)
    }

    /// Carries everything counted so far to the disk.
    pub(crate) fn sync(&self) {
        for ledger in self.ledgers.iter().flatten() {
            if let Err(error) = ledger.sync() {
                tracing::error!(service = %ledger.service, %error, "usage cannot be synced");
            }
        }
    }

    /// Writes changed usage rows to the store.
    pub(crate) fn record(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        // Each on its own: one whose file has no room holds up no other.
        let recorded = self.ledgers.iter().flatten().map(|ledger| ledger.record(&*self.store, now));
        recorded.fold(Ok(()), Result::and)
    }
}
