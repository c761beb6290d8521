//! Where calls get units that a store lends: from the lease at hand, or by waiting a moment for more.
//!
//! A call that finds enough asks nobody. One that finds too little says so, and waits until the
//! background has asked the store: once, mostly, for the first call of an account on a replica.
//! Invariant: no call waits longer than [`PATIENCE`].

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::{Instant as Deadline, timeout_at};

use crate::clock::Now;
use crate::holdings::{Borrower, Holdings, Moment};
use crate::lending::{KindView, LendingView};
use crate::open_days::OpenDays;
use crate::purse::{Purse, Wanted};
use crate::share::Share;
use crate::store::lender::Lender;
use crate::store::{Bell, StoreError};
use crate::{Replica, Service};

/// How long a call waits for a lease.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often others are told that we are live.
const BEAT: Duration = Duration::from_secs(1);
/// How often every lease is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// How long the store is left alone after an error.
const BREATH: Duration = Duration::from_millis(200);
/// Beats between two tidyings.
const TIDY_EVERY: u32 = 3600;

/// The borrower of a service in this process.
#[derive(Debug)]
pub(crate) struct Lessee {
    service: Service,
    replica: Replica,
    pub(crate) share: Share,
    origin: Instant,
    wanted: Mutex<Vec<Wanted>>,
    bell: OnceLock<Bell>,
    /// Looks that have ended.
    looks: watch::Sender<u64>,
    upkeep: Mutex<Upkeep>,
    /// As of the last look at every lease.
    seen: Mutex<[KindView; 3]>,
    lends: AtomicBool,
    waits: AtomicU64,
    late: AtomicU64,
}

/// What is held, and when what is due.
#[derive(Debug, Default)]
struct Upkeep {
    holdings: Holdings,
    beats: u32,
    next_beat: Duration,
    next_look: Duration,
    rests_until: Duration,
    ended: bool,
    failing: bool,
}

impl Lessee {
    /// A replica that holds nothing yet: tells the store so, and the others that it is live.
    pub(crate) fn begin(
        service: Service,
        replica: Replica,
        lender: &dyn Lender,
    ) -> Result<Lessee, StoreError> {
        lender.settle(service, replica)?;
        let share = Share::default();
        share.set(lender.beat(service, replica, true)?);
        Ok(Lessee {
            service,
            replica,
            share,
            origin: Instant::now(),
            wanted: Mutex::default(),
            bell: OnceLock::new(),
            looks: watch::Sender::new(0),
            upkeep: Mutex::default(),
            seen: Mutex::new(Holdings::default().view()),
            lends: AtomicBool::new(true),
            waits: AtomicU64::new(0),
            late: AtomicU64::new(0),
        })
    }

    /// What is rung when a call needs more; the first one counts.
    pub(crate) fn set_bell(&self, bell: Bell) {
        let _ = self.bell.set(bell);
    }

    /// Says that a purse needs more, once until it is looked after.
    #[cold]
    pub(crate) fn want(&self, purse: Purse, stamp: u32, cap: u64) {
        if !purse.term(stamp).ask() {
            return;
        }
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.push(Wanted { purse, stamp, cap });
        drop(wanted);
        if let Some(bell) = self.bell.get() {
            bell.ring();
        }
    }

    /// Has the store no more of this for now?
    pub(crate) fn is_dry(&self, purse: &Purse, stamp: u32, cap: u64) -> bool {
        let now_ms = self.origin.elapsed().as_millis() as u64;
        purse.term(stamp).is_dry(cap, now_ms)
    }

    /// How long a call that comes now may wait.
    pub(crate) fn deadline() -> Deadline {
        Deadline::now() + PATIENCE
    }

    /// Waits until the store was asked for more of a purse; false if that took too long.
    pub(crate) async fn more(
        &self,
        purse: &Purse,
        stamp: u32,
        units: u32,
        cap: u64,
        deadline: Deadline,
    ) -> bool {
        let mut looks = self.looks.subscribe();
        let _waiting = purse.term(stamp).wait(units);
        self.want(purse.clone(), stamp, cap);
        let looked = timeout_at(deadline, looks.changed()).await.is_ok_and(|looked| looked.is_ok());
        let counter = if looked { &self.waits } else { &self.late };
        counter.fetch_add(1, Ordering::Relaxed);
        looked
    }

    /// How it stands, for the operator.
    pub(crate) fn view(&self) -> LendingView {
        LendingView {
            service: self.service,
            live_replicas: self.share.live(),
            lends: self.lends.load(Ordering::Relaxed),
            waits: self.waits.load(Ordering::Relaxed),
            late: self.late.load(Ordering::Relaxed),
            kinds: *self.seen.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// Does what is due, and wakes those who wait.
    pub(crate) fn turn(&self, lender: &dyn Lender, open_days: &OpenDays, now: Now) {
        let mut upkeep = self.upkeep();
        if upkeep.ended {
            return;
        }
        let mono = self.origin.elapsed();
        if mono >= upkeep.rests_until {
            let done = self.work(&mut upkeep, lender, open_days, now);
            let failed = done.is_err();
            self.lends.store(!failed, Ordering::Relaxed);
            if std::mem::replace(&mut upkeep.failing, failed) != failed {
                match &done {
                    Ok(()) => tracing::info!(service = %self.service, "units are lent again"),
                    Err(error) => {
                        let service = self.service;
                        tracing::warn!(%service, %error, "no units can be borrowed for now");
                    }
                }
            }
            if failed {
                upkeep.rests_until = self.origin.elapsed() + BREATH;
            }
        }
        drop(upkeep);
        self.looks.send_modify(|looks| *looks += 1);
    }

    fn work(
        &self,
        upkeep: &mut Upkeep,
        lender: &dyn Lender,
        open_days: &OpenDays,
        now: Now,
    ) -> Result<(), StoreError> {
        let moment = self.moment(now, open_days.is_blank(now.utc.day().saturating_add(1)));
        let wanted =
            std::mem::take(&mut *self.wanted.lock().unwrap_or_else(PoisonError::into_inner));
        wanted.into_iter().for_each(|wanted| upkeep.holdings.want(wanted, moment));
        if moment.mono >= upkeep.next_beat {
            self.share.set(lender.beat(self.service, self.replica, true)?);
            if upkeep.beats.is_multiple_of(TIDY_EVERY) {
                lender.tidy(self.service, moment.day)?;
            }
            upkeep.beats = upkeep.beats.wrapping_add(1);
            upkeep.next_beat = moment.mono + BEAT;
        }
        let all = moment.mono >= upkeep.next_look;
        upkeep.holdings.look(lender, self.borrower(), moment, all)?;
        if all {
            upkeep.next_look = moment.mono + LOOK;
            let seen = upkeep.holdings.view();
            *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
        }
        Ok(())
    }

    /// Returns what is left, and tells the others that we are live no more.
    pub(crate) fn end(&self, lender: &dyn Lender, now: Now) -> Result<(), StoreError> {
        let mut upkeep = self.upkeep();
        if std::mem::replace(&mut upkeep.ended, true) {
            return Ok(());
        }
        upkeep.holdings.return_all(lender, self.borrower(), self.moment(now, false))?;
        lender.beat(self.service, self.replica, false).map(drop)
    }

    fn borrower(&self) -> Borrower {
        Borrower { service: self.service, replica: self.replica, live: self.share.live() }
    }

    fn moment(&self, now: Now, tomorrow_is_new: bool) -> Moment {
        let (day, secs_to_next_day) = (now.utc.day(), now.utc.secs_to_next_day());
        Moment { mono: self.origin.elapsed(), day, secs_to_next_day, tomorrow_is_new }
    }

    fn upkeep(&self) -> MutexGuard<'_, Upkeep> {
        self.upkeep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
