//! Buckets that several processes have in common, in a Valkey or Redis.
//!
//! Each call asks the server once: a script takes its tokens by the server's own clock, all or none, so
//! that a rate is exact over any number of processes. While the server is away or slow, nobody waits for
//! it: each process serves its share of the rate (`share.rs`) from buckets of its own. What was served
//! so is told when the server is back. Leaves connecting, and finding out that it is back, to `connector`.
//! Invariants: no call waits longer than [`PATIENCE`], and none at all once one has waited in vain; the
//! server's answer never decides more than a rate. Why: docs/decisions/0019.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::bucket::Level;
use crate::clock::Now;
use crate::in_flight::AccountInFlight;
use crate::{Denial, Reason};

mod address;
pub(crate) mod at_server;
mod bounded;
mod complaint;
mod connector;
mod line;
mod pause;

pub use address::{BucketsAddress, BucketsAddressError};
use complaint::Complaint;
pub(crate) use connector::Connector;
use line::Line;

/// How long a call waits for the server, before it falls back to this process's share.
const PATIENCE: Duration = Duration::from_millis(50);
/// That a bucket has no token is remembered for so long at most.
const DRY_MICROS: u64 = 100_000;
const MILLION: u64 = 1_000_000;

/// What a plan's rate is for all processes, and this one's share of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    pub(crate) whole: u32,
    pub(crate) share: u32,
}

/// How the shared buckets of a process stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketsView {
    /// Is the server asked?
    pub answer: bool,
    /// Times that it was found to be away or too slow.
    pub losses: u64,
    /// Calls that it has decided.
    pub shared_calls: u64,
    /// Calls that were decided by this process's share, because the server was away.
    pub share_calls: u64,
}

/// The buckets, as calls see them.
pub(crate) struct Buckets {
    /// Begins the name of each key: that of the store, so that two stores may have one server.
    prefix: String,
    /// None while the server is away.
    line: ArcSwapOption<Line>,
    /// Rung when the line is given up.
    lost: Notify,
    complaint: Complaint,
    origin: Instant,
    losses: AtomicU64,
    shared_calls: AtomicU64,
    share_calls: AtomicU64,
}

impl Buckets {
    /// The buckets of a store, by its random number; nothing is connected yet.
    fn new(identity: u64) -> Buckets {
        Buckets {
            prefix: format!("portolan:bucket:{identity:016x}"),
            line: ArcSwapOption::empty(),
            lost: Notify::new(),
            complaint: Complaint::default(),
            origin: Instant::now(),
            losses: AtomicU64::new(0),
            shared_calls: AtomicU64::new(0),
            share_calls: AtomicU64::new(0),
        }
    }

    /// How they stand.
    pub(crate) fn view(&self) -> BucketsView {
        BucketsView {
            answer: self.line.load().is_some(),
            losses: self.losses.load(Ordering::Relaxed),
            shared_calls: self.shared_calls.load(Ordering::Relaxed),
            share_calls: self.share_calls.load(Ordering::Relaxed),
        }
    }

    /// Takes the tokens that a request has not paid yet.
    pub(crate) async fn pay(
        &self,
        place: &mut AccountInFlight,
        now: Now,
        tokens: u32,
        rate: Rate,
    ) -> Result<Level, Denial> {
        let owed = match place.paid() {
            Some((paid, level)) if paid >= tokens => return Ok(level),
            paid => tokens - paid.map_or(0, |(paid, _)| paid),
        };
        let at_server = &place.allowance().at_server;
        if owed == 1 && self.micros() < at_server.dry_until.load(Ordering::Relaxed) {
            return Err(Denial::after(Reason::RateLimited, 1));
        }
        let untold = at_server.untold.load(Ordering::Relaxed)
            && at_server.untold.swap(false, Ordering::AcqRel);
        let own = &place.allowance().bucket;
        let elsewhere = if untold { own.missing(now.mono, rate.share) } else { 0 };
        let asked = self.micros();
        let Some((taken, missing)) = self.ask(place, owed, rate.whole, elsewhere).await else {
            return self.pay_by_share(place, now, tokens, rate.share, untold);
        };
        self.shared_calls.fetch_add(1, Ordering::Relaxed);
        if taken {
            // So that the share is not whole when the server is lost.
            own.note(now.mono, owed, rate.share);
            return Ok(level(missing, rate.whole));
        }
        let second = u64::from(rate.whole.max(1)) * MILLION;
        let needed = u64::from(owed.min(rate.whole)) * MILLION;
        let short = missing.saturating_add(needed).saturating_sub(second);
        let micros = short.div_ceil(u64::from(rate.whole.max(1)));
        if owed == 1 && micros <= MILLION {
            // No token comes before that, whoever else asks.
            at_server.dry_until.store(asked + micros.min(DRY_MICROS), Ordering::Relaxed);
        }
        Err(Denial::after(Reason::RateLimited, short.div_ceil(second)))
    }

    /// Decides by this process's share of the rate.
    fn pay_by_share(
        &self,
        place: &mut AccountInFlight,
        now: Now,
        tokens: u32,
        share: u32,
        untold: bool,
    ) -> Result<Level, Denial> {
        self.share_calls.fetch_add(1, Ordering::Relaxed);
        let paid = place.pay(now, tokens, share);
        if untold || paid.is_ok() {
            place.allowance().at_server.untold.store(true, Ordering::Release);
        }
        paid
    }

    /// Asks the server; None where it is away, or just found to be.
    async fn ask(
        &self,
        place: &AccountInFlight,
        tokens: u32,
        rate: u32,
        elsewhere: u32,
    ) -> Option<(bool, u64)> {
        let line = self.line.load_full()?;
        let (service, account) = (place.service(), place.key.account.id);
        let key = format!("{}:{service}:{account}", self.prefix);
        match self.run(&line, &key, tokens, rate, elsewhere).await {
            Ok(answer) => Some(answer),
            Err(why) => {
                self.lose(&line, &why);
                None
            }
        }
    }

    /// Runs the script on one bucket.
    async fn run(
        &self,
        line: &Line,
        key: &str,
        tokens: u32,
        rate: u32,
        elsewhere: u32,
    ) -> Result<(bool, u64), String> {
        match timeout(PATIENCE, line.run(key, [tokens, rate, elsewhere])).await {
            Ok(Ok((_, missing))) if missing > most_missing(tokens, rate, elsewhere) => {
                Err("it says what cannot be".to_owned())
            }
            Ok(answer) => answer,
            Err(_) => Err(format!("no answer within {} ms", PATIENCE.as_millis())),
        }
    }

    /// Gives up a line, unless there is another by now.
    fn lose(&self, line: &Arc<Line>, why: &str) {
        let before = self.line.compare_and_swap(line, None);
        if before.as_ref().is_some_and(|before| Arc::ptr_eq(before, line)) {
            self.losses.fetch_add(1, Ordering::Relaxed);
            self.complaint.make(Instant::now(), why);
            self.lost.notify_one();
        }
    }

    fn micros(&self) -> u64 {
        self.origin.elapsed().as_micros() as u64
    }
}

/// More cannot be missing of a bucket: the largest batch of the lowest rate owes three hours. What the
/// server says is shown to customers.
fn most_missing(tokens: u32, rate: u32, elsewhere: u32) -> u64 {
    let day = 86_400 * u64::from(rate.max(1));
    (day + u64::from(tokens) + u64::from(elsewhere)).saturating_mul(MILLION)
}

/// How full a bucket is of which so many millionths of a token are missing.
fn level(missing: u64, rate: u32) -> Level {
    let second = u64::from(rate.max(1)) * MILLION;
    // At most the rate.
    let remaining = (second.saturating_sub(missing) / MILLION) as u32;
    Level { remaining, reset_secs: missing.div_ceil(second) }
}

impl fmt::Debug for Buckets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buckets").field("view", &self.view()).finish_non_exhaustive()
    }
}
