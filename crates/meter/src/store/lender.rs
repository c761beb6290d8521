//! What a store that several processes count for does beside keeping accounts, keys and usage: it
//! lends them units.
//!
//! Of each cap of a day or month ([`PotName`]) the store keeps, for each replica, how many units that
//! one may have used in all: what is lent to it. Invariants: what is lent over all replicas is never
//! more than the cap, but for what they had used already when the cap came; what is lent to a replica
//! is changed by that replica alone, with whole amounts, so that what is said twice, or whose answer is
//! lost, changes nothing; nothing of it depends on a clock. Why: docs/decisions/0017.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use super::error::StoreError;
use super::usage::Total;
use crate::utc::{first_day_of_month, month_of_day};
use crate::{Replica, Service};

/// A replica that was not heard of for so long does not count as live. It is lent nothing less by that.
pub(crate) const SILENCE: Duration = Duration::from_secs(10);
/// Stamps that are over are forgotten after so many more.
pub(crate) const KEPT_STAMPS: u32 = 3;

/// What a cap is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// An account's month.
    Month,
    /// An account's day.
    Day,
    /// A key's day, on the gateway.
    KeyDay,
}

impl Kind {
    /// Its name in rows.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Kind::Month => "month",
            Kind::Day => "day",
            Kind::KeyDay => "key-day",
        }
    }

    /// The stamp of a day.
    pub(crate) fn stamp_of_day(self, day: u32) -> u32 {
        match self {
            Kind::Month => month_of_day(day),
            Kind::Day | Kind::KeyDay => day,
        }
    }

    /// Hours since 1970 of a stamp.
    pub(crate) fn hours(self, stamp: u32) -> Range<u32> {
        let days = match self {
            Kind::Month => first_day_of_month(stamp)..first_day_of_month(stamp.saturating_add(1)),
            Kind::Day | Kind::KeyDay => stamp..stamp.saturating_add(1),
        };
        days.start.saturating_mul(24)..days.end.saturating_mul(24)
    }
}

/// One cap of one day or month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PotName {
    /// On what.
    pub(crate) kind: Kind,
    /// Number of the account or key.
    pub(crate) subject: u64,
    /// Number of the day or month.
    pub(crate) stamp: u32,
}

/// What a replica asks for of one cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) pot: PotName,
    pub(crate) cap: u64,
    /// Units that it has used or may still spend: it is never lent less.
    pub(crate) hold: u64,
    /// Units of those that it may still spend.
    pub(crate) left: u64,
    /// Units that it would have to spend.
    pub(crate) at_hand: u64,
    /// Units more that calls wait for.
    pub(crate) need: u64,
}

/// What a replica is lent of one cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lent {
    /// Units that it may have used in all.
    pub(crate) mine: u64,
    /// Units that the others may have used.
    pub(crate) others: u64,
}

/// How many replicas are live, and which of them this one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LiveReplicas {
    /// How many, this one included.
    pub(crate) live: u32,
    /// How many of them have a lower number.
    pub(crate) place: u32,
}

/// A store that lends units. Every verb blocks and is atomic.
pub(crate) trait Lender: Send + Sync + fmt::Debug {
    /// Lends of several caps; sorted by their names, and each named once.
    fn lend(
        &self,
        service: Service,
        replica: Replica,
        live: u32,
        asks: &[Ask],
    ) -> Result<Vec<Lent>, StoreError>;

    /// A replica that begins holds nothing but what it has used, all of which is recorded.
    fn settle(&self, service: Service, replica: Replica) -> Result<(), StoreError>;

    /// Forgets what was lent of stamps that are long over.
    fn tidy(&self, service: Service, day: u32) -> Result<(), StoreError>;

    /// Tells the others that the replica is live, or that it is no more.
    fn beat(
        &self,
        service: Service,
        replica: Replica,
        live: bool,
    ) -> Result<LiveReplicas, StoreError>;

    /// Sums of the replica's own rows of a range of hours, one for each account and key.
    fn own_totals(
        &self,
        service: Service,
        replica: Replica,
        hours: Range<u32>,
    ) -> Result<Vec<Total>, StoreError>;
}

/// What a replica is lent in all, where the others are lent that much and so many are live.
///
/// It gets what it would have at hand, at most what is [`fair`], but all that calls wait for.
pub(crate) fn lent(ask: &Ask, others: u64, live: u32) -> u64 {
    let pool = ask.cap.saturating_sub(others).saturating_sub(ask.hold);
    let most = fair(pool.saturating_add(ask.left), live);
    let more = ask.at_hand.min(most).saturating_sub(ask.left);
    ask.hold.saturating_add(more.max(ask.need).min(pool))
}

/// Half of an equal share of what is there: near the cap leases get small, so that what one has at hand
/// is not missing elsewhere.
pub(crate) fn fair(there: u64, live: u32) -> u64 {
    there / (2 * u64::from(live.max(1)))
}
