//! Charging a request before its work.
//!
//! Order of decision B6: monthly, daily and key-daily quota, concurrency, rate; a request with a
//! body takes its [`AccountInFlight`] before all that, so that no account has more bodies on their way
//! than requests in flight. Invariant: a refused request, or one that is given up while it waits for a
//! shared bucket, leaves every counter as it was, and an admitted one is in the usage rows before
//! anything is done for it.

use std::sync::Arc;

use crate::bucket::Level;
use crate::buckets::Buckets;
use crate::clock::Now;
use crate::in_flight::AccountInFlight;
use crate::ledger::Ledger;
use crate::permit::{Asked, Charge, Leased, add, gateway_key, row};
use crate::remains::Remains;
use crate::store::RowName;
use crate::{Caller, Denial, Permit};

/// Charges a request, or says why not. One that has no place yet takes it; one that is refused by a
/// quota keeps it.
#[inline]
pub(crate) fn admit(
    ledger: &Arc<Ledger>,
    caller: &Caller,
    place: &mut Option<AccountInFlight>,
    now: Now,
    asked: Asked,
) -> Result<Permit, Denial> {
    let mut held = Held::take(ledger, caller, place, now, asked)?;
    let rate = ledger.rate(caller.plan().requests_per_second).share;
    let level = held.place()?.pay(now, asked.tokens, rate)?;
    held.complete(level)
}

/// The same with a bucket that several processes have in common.
pub(crate) async fn admit_shared(
    buckets: &Buckets,
    ledger: &Arc<Ledger>,
    caller: &Caller,
    place: &mut Option<AccountInFlight>,
    now: Now,
    asked: Asked,
) -> Result<Permit, Denial> {
    let mut held = Held::take(ledger, caller, place, now, asked)?;
    let rate = ledger.rate(caller.plan().requests_per_second);
    let level = buckets.pay(held.place()?, now, asked.tokens, rate).await?;
    held.complete(level)
}

/// A request that has its units and its place, and has still to pay its tokens. Dropped before it is
/// complete, it gives everything back.
struct Held<'a> {
    ledger: &'a Arc<Ledger>,
    caller: &'a Caller,
    charge: Charge,
    /// Where the units go, if there are any.
    row: Option<(u32, RowName)>,
    /// None once it is complete.
    place: Option<AccountInFlight>,
    /// What the month, the day and the day of the key have left.
    left: [Option<u64>; 3],
}

impl<'a> Held<'a> {
    #[inline]
    fn take(
        ledger: &'a Arc<Ledger>,
        caller: &'a Caller,
        place: &mut Option<AccountInFlight>,
        now: Now,
        Asked { chain, units, .. }: Asked,
    ) -> Result<Held<'a>, Denial> {
        match chain {
            Some(chain) => caller.may_use(chain)?,
            None => caller.may_use_any()?,
        }
        let (day, month) = (now.utc.day(), now.utc.month());
        let mut charge = Charge { units, day, month, leased: Leased::default() };
        if !ledger.open_days.is_open(charge.day) {
            return Err(Denial::store_unavailable());
        }
        // The slot is there before anything is reserved, so that adding to it cannot fail.
        let row = match units {
            0 => None,
            _ => Some(row(ledger, &caller.key, chain, now)?),
        };
        let left = match &ledger.lessee {
            None => charge.take_units(caller, now)?,
            Some(lessee) => charge.take_leased_units(lessee, caller, now)?,
        };
        match place.take().map_or_else(|| AccountInFlight::enter(caller), Ok) {
            Ok(place) => Ok(Held { ledger, caller, charge, row, place: Some(place), left }),
            Err(denial) => {
                charge.give_back(caller.allowance(), gateway_key(caller));
                Err(denial)
            }
        }
    }

    #[inline]
    fn place(&mut self) -> Result<&mut AccountInFlight, Denial> {
        self.place.as_mut().ok_or_else(Denial::store_unavailable)
    }

    /// Adds the units to their row; the tokens are paid.
    #[inline]
    fn complete(mut self, level: Level) -> Result<Permit, Denial> {
        let (ledger, caller, charge) = (self.ledger, self.caller, self.charge);
        let row = match self.row {
            Some((slot, name)) => Some((add(ledger, caller, charge, slot, name)?, name)),
            None => None,
        };
        let place = self.place.take().ok_or_else(Denial::store_unavailable)?;
        let remains = Remains {
            limit: caller.plan().requests_per_second,
            remaining: level.remaining,
            reset_secs: level.reset_secs,
            monthly_remaining: self.left[0],
            daily_remaining: self.left[1],
            key_daily_remaining: self.left[2],
        };
        Ok(Permit::new(ledger, place, charge, row, remains))
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.place.is_some() {
            self.charge.give_back(self.caller.allowance(), gateway_key(self.caller));
        }
    }
}
