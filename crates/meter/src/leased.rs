//! Charging a request against quotas of which the store lends parts.
//!
//! The order is that of [`Charge`]'s other half in `permit`: month, day, the key's day. Invariant: a
//! request that is refused leaves every lease and tally as it was.

use std::sync::Arc;

use crate::clock::Now;
use crate::lessee::Lessee;
use crate::permit::{Charge, Leased, gateway_key};
use crate::purse::Purse;
use crate::store::lender::Kind;
use crate::tally::MAX_USED;
use crate::{Caller, Denial, Reason, Service};

/// A quota of a request: the stamp that it is charged in and the cap, where there is one.
type Quota = (Kind, u32, Option<u64>);

impl Charge {
    /// Takes the units out of the leases, or counts them where there is no cap. Returns what the
    /// month, the day and the day of the key have left, as far as is known here.
    #[inline]
    pub(crate) fn take_leased_units(
        &mut self,
        lessee: &Lessee,
        caller: &Caller,
        now: Now,
    ) -> Result<[Option<u64>; 3], Denial> {
        let (plan, mut left) = (caller.plan(), [None; 3]);
        self.leased = Leased::default();
        let quotas: [Quota; 3] = [
            (Kind::Month, self.month, plan.monthly),
            (Kind::Day, self.day, plan.daily),
            (Kind::KeyDay, self.day, caller.key_cap()),
        ];
        let count = if gateway_key(caller).is_some() { 3 } else { 2 };
        for (place, quota) in quotas.into_iter().take(count).enumerate() {
            match self.take_leased(lessee, caller, place, quota) {
                Some(remaining) => left[place] = remaining,
                None => {
                    self.undo(caller, &quotas[..place]);
                    return Err(refusal(quota.0, now));
                }
            }
        }
        Ok(left)
    }

    /// Takes the units of one quota; says what is left of it, where it has a cap.
    #[inline]
    fn take_leased(
        &mut self,
        lessee: &Lessee,
        caller: &Caller,
        place: usize,
        (kind, stamp, cap): Quota,
    ) -> Option<Option<u64>> {
        let units = u64::from(self.units);
        let allowance = caller.allowance();
        let (tally, lease) = match kind {
            Kind::Month => (&allowance.month, &allowance.month_lease),
            Kind::Day => (&allowance.day, &allowance.day_lease),
            Kind::KeyDay => (&caller.key.day, &caller.key.day_lease),
        };
        let Some(cap) = cap else { return tally.take(stamp, units, MAX_USED).map(|_| None) };
        let term = lease.term(stamp);
        // Nothing charged is never too much; what is not known yet is not promised.
        if units == 0 {
            return Some(Some(term.look(stamp).map_or(0, |term| term.remaining).min(cap)));
        }
        let taken = term.take(stamp, units, cap)?;
        self.leased[place] = true;
        if taken.is_low {
            lessee.want(purse(caller, kind), stamp, cap);
        }
        Some(Some(taken.remaining.min(cap)))
    }

    #[cold]
    fn undo(&mut self, caller: &Caller, quotas: &[Quota]) {
        for (place, (kind, stamp, _)) in quotas.iter().enumerate() {
            let (purse, units) = (purse(caller, *kind), u64::from(self.units));
            match self.leased[place] {
                true => drop(purse.term(*stamp).put(*stamp, units)),
                false => drop(purse.tally().give_back(*stamp, units)),
            }
        }
        self.leased = Leased::default();
    }
}

/// What a request is short of, by the reason that it was refused for: the purse, its stamp, its cap.
pub(crate) fn short(caller: &Caller, reason: Reason, now: Now) -> Option<(Purse, u32, u64)> {
    let (plan, day) = (caller.plan(), now.utc.day());
    let (kind, cap) = match reason {
        Reason::MonthlyQuota => (Kind::Month, plan.monthly?),
        Reason::DailyQuota => (Kind::Day, plan.daily?),
        Reason::KeyDailyQuota => (Kind::KeyDay, caller.key_cap()?),
        _ => return None,
    };
    Some((purse(caller, kind), kind.stamp_of_day(day), cap))
}

fn purse(caller: &Caller, kind: Kind) -> Purse {
    let service: Service = caller.service;
    Purse { service, kind, key: Arc::clone(&caller.key) }
}

fn refusal(kind: Kind, now: Now) -> Denial {
    match kind {
        Kind::Month => Denial::after(Reason::MonthlyQuota, now.utc.secs_to_next_month()),
        Kind::Day => Denial::after(Reason::DailyQuota, now.utc.secs_to_next_day()),
        Kind::KeyDay => Denial::after(Reason::KeyDailyQuota, now.utc.secs_to_next_day()),
    }
}
