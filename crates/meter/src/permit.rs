//! What a request is charged with, and what an admitted one holds.
//!
//! Leaves the order of charging to `held`. Invariant: units that are charged are in the usage rows, and
//! are given back to where they were taken from.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use chain::Chain;

use crate::clock::Now;
use crate::in_flight::AccountInFlight;
use crate::lease::Lease;
use crate::ledger::Ledger;
use crate::remains::Remains;
use crate::store::{ChainName, RowName};
use crate::table::{Allowance, KeyEntry};
use crate::tally::{MAX_USED, Tally};
use crate::{Caller, Denial, Reason, Service};

/// An admitted request. Dropping it gives the place among the requests in flight back; its units
/// stay charged unless they were refunded.
pub struct Permit {
    ledger: Arc<Ledger>,
    place: AccountInFlight,
    charge: Charge,
    /// The slot of the charge and its row; `None` if no unit was charged.
    row: Option<(u32, RowName)>,
    remains: Remains,
}

/// Units that are charged, and the day and month they are charged in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charge {
    pub(crate) units: u32,
    pub(crate) day: u32,
    pub(crate) month: u32,
    /// Of month, day and the key's day, those whose units came out of a lease.
    pub(crate) leased: Leased,
}

/// Whether the units of month, day and the key's day came out of a lease.
pub(crate) type Leased = [bool; 3];

impl Permit {
    /// A request of which everything is charged.
    #[inline]
    pub(crate) fn new(
        ledger: &Arc<Ledger>,
        place: AccountInFlight,
        charge: Charge,
        row: Option<(u32, RowName)>,
        remains: Remains,
    ) -> Permit {
        Permit { ledger: Arc::clone(ledger), place, charge, row, remains }
    }

    /// Gives units back, at most what is still charged, in the hour, day and month they were
    /// charged in (decision B7). Tokens are not given back.
    pub fn refund(&mut self, units: u32) {
        let units = units.min(self.charge.units);
        let Some((slot, name)) = self.row.filter(|_| units > 0) else { return };
        self.charge.units -= units;
        self.ledger.file.take_back(slot, &name, u64::from(units));
        let back = Charge { units, ..self.charge };
        let [month, day, key_day] = back.give_back(self.allowance(), self.key());
        let remains = &mut self.remains;
        for (left, same) in [
            (&mut remains.monthly_remaining, month),
            (&mut remains.daily_remaining, day),
            (&mut remains.key_daily_remaining, key_day),
        ] {
            *left = left.map(|left| left + if same { u64::from(units) } else { 0 });
        }
    }

    /// What is left to the caller.
    pub fn remains(&self) -> &Remains {
        &self.remains
    }

    fn allowance(&self) -> &Allowance {
        self.place.allowance()
    }

    fn key(&self) -> Option<&KeyEntry> {
        (self.ledger.service == Service::Gateway).then_some(&*self.place.key)
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("place", &self.place)
            .field("charge", &self.charge)
            .finish_non_exhaustive()
    }
}

/// What stands for the chain in the usage of requests for chains that are not served.
const NO_CHAIN: &str = "-";

/// What a request asks for.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    /// None is a chain that is not served.
    pub(crate) chain: Option<&'static Chain>,
    pub(crate) tokens: u32,
    pub(crate) units: u32,
}

impl Charge {
    /// Takes the units from month, day and the key's day, the longest wait first.
    #[inline]
    pub(crate) fn take_units(self, caller: &Caller, now: Now) -> Result<[Option<u64>; 3], Denial> {
        let (plan, allowance) = (caller.plan(), caller.allowance());
        let next_day = now.utc.secs_to_next_day();
        let (units, key_cap) = (u64::from(self.units), caller.key_cap());
        // Nothing charged is never too much, also where a cap was lowered below what is used.
        let take = |tally: &Tally, stamp, cap: Option<u64>| {
            let most = cap.filter(|_| units > 0).unwrap_or(MAX_USED);
            let used = tally.take(stamp, units, most)?;
            Some(cap.map(|cap| cap.saturating_sub(used)))
        };
        let month = take(&allowance.month, self.month, plan.monthly)
            .ok_or_else(|| Denial::after(Reason::MonthlyQuota, now.utc.secs_to_next_month()))?;
        let Some(day) = take(&allowance.day, self.day, plan.daily) else {
            allowance.month.give_back(self.month, units);
            return Err(Denial::after(Reason::DailyQuota, next_day));
        };
        let key = gateway_key(caller);
        let Some(key_day) = key.map_or(Some(None), |key| take(&key.day, self.day, key_cap)) else {
            allowance.month.give_back(self.month, units);
            allowance.day.give_back(self.day, units);
            return Err(Denial::after(Reason::KeyDailyQuota, next_day));
        };
        Ok([month, day, key_day])
    }

    /// Gives the units back. Says of month, day and the key's day whether they are still current.
    pub(crate) fn give_back(self, allowance: &Allowance, key: Option<&KeyEntry>) -> [bool; 3] {
        let Charge { day, month, .. } = self;
        [
            self.return_to(0, &allowance.month, &allowance.month_lease, month),
            self.return_to(1, &allowance.day, &allowance.day_lease, day),
            key.is_some_and(|key| self.return_to(2, &key.day, &key.day_lease, day)),
        ]
    }

    #[inline]
    fn return_to(self, place: usize, tally: &Tally, lease: &Lease, stamp: u32) -> bool {
        let units = u64::from(self.units);
        match self.leased[place] {
            false => tally.give_back(stamp, units),
            true => lease.term(stamp).put(stamp, units),
        }
    }
}

/// Units of a key are counted on the gateway, with a cap or without (decision B3).
pub(crate) fn gateway_key(caller: &Caller) -> Option<&KeyEntry> {
    (caller.service == Service::Gateway).then_some(&*caller.key)
}

/// The row of this hour and its slot, as the key remembers it or as the ledger finds it.
#[inline]
pub(crate) fn row(
    ledger: &Ledger,
    key: &KeyEntry,
    chain: Option<&'static Chain>,
    now: Now,
) -> Result<(u32, RowName), Denial> {
    let hour = now.utc.hour();
    let name = ChainName::new(chain.map_or(NO_CHAIN, |chain| chain.slug)).map(|chain| RowName {
        hour,
        account: key.account.id,
        key: key.id,
        chain,
    });
    let Some(chain) = chain else {
        let name = name.ok_or_else(Denial::store_unavailable)?;
        return Ok((find_slot(ledger, name)?, name));
    };
    let remembered = key.slots[ledger.service.place()].get(chain.ordinal);
    let (Some(name), Some(remembered)) = (name, remembered) else {
        return Err(Denial::store_unavailable());
    };
    let word = remembered.load(Ordering::Relaxed);
    if (word >> 32) as u32 == hour {
        return Ok((word as u32, name));
    }
    let slot = find_slot(ledger, name)?;
    remembered.store(u64::from(hour) << 32 | u64::from(slot), Ordering::Relaxed);
    Ok((slot, name))
}

/// Adds the charge to its row, which makes it durable.
#[inline]
pub(crate) fn add(
    ledger: &Ledger,
    caller: &Caller,
    charge: Charge,
    slot: u32,
    name: RowName,
) -> Result<u32, Denial> {
    let units = u64::from(charge.units);
    if ledger.file.add(slot, &name, units) {
        return Ok(slot);
    }
    // The remembered slot was freed long ago: the clock came back to an hour that was over.
    match find_slot(ledger, name) {
        Ok(slot) if ledger.file.add(slot, &name, units) => {
            let remembered = &caller.key.slots[ledger.service.place()];
            remembered.iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
            Ok(slot)
        }
        _ => Err(Denial::store_unavailable()),
    }
}

#[cold]
fn find_slot(ledger: &Ledger, name: RowName) -> Result<u32, Denial> {
    ledger.slot(name).map_err(|error| {
        tracing::error!(service = %ledger.service, %error, "no slot for a usage row");
        Denial::store_unavailable()
    })
}
