//! A request is charged: out of what this process has, of buckets that are shared, or of what a store
//! lends.
//!
//! Leaves the sums to `held` and `leased`. Invariant: what is refused consumed nothing.

use std::sync::Arc;

use chain::Chain;

use super::Meter;
use crate::held::{admit, admit_shared};
use crate::in_flight::AccountInFlight;
use crate::leased::short;
use crate::ledger::Ledger;
use crate::lessee::Lessee;
use crate::permit::Asked;
use crate::{Caller, Denial, Permit};

impl Meter {
    /// Charges tokens and units of a request before its work, or says why not. A request that is
    /// refused consumes nothing. `tokens` is the number of its calls, `units` of those that count
    /// against the quotas (decision B7).
    ///
    /// It waits for nothing where all counters are of this process: its future is ready when it is
    /// first asked. Where a store lends units it is so as long as there are some at hand; else it waits
    /// for more, a second at most. Where buckets are shared it waits for those, 50 ms at most.
    #[inline]
    pub fn admit(
        &self,
        caller: &Caller,
        chain: &'static Chain,
        tokens: u32,
        units: u32,
    ) -> impl Future<Output = Result<Permit, Denial>> {
        self.admit_in(caller, None, chain, tokens, units)
    }

    /// Takes a place in flight for a request whose body is still to be read.
    pub fn enter(&self, caller: &Caller) -> Result<AccountInFlight, Denial> {
        AccountInFlight::enter(caller)
    }

    /// Takes one token of a request that is work before it can be admitted. What is charged in the
    /// end takes one less.
    pub async fn prepay(&self, caller: &Caller, place: &mut AccountInFlight) -> Result<(), Denial> {
        let ledger = self.engine.ledger(caller.service).ok_or_else(Denial::store_unavailable)?;
        let (now, rate) = (self.engine.clock.now(), ledger.rate(caller.plan().requests_per_second));
        let Some(connector) = &self.engine.connector else { return place.prepay(now, rate.share) };
        if place.paid().is_none() {
            let level = Box::pin(connector.buckets.pay(place, now, 1, rate)).await?;
            place.prepaid_one(level);
        }
        Ok(())
    }

    /// As [`Meter::admit`], for a request that may have its place.
    #[inline]
    pub fn admit_in(
        &self,
        caller: &Caller,
        place: Option<AccountInFlight>,
        chain: &'static Chain,
        tokens: u32,
        units: u32,
    ) -> impl Future<Output = Result<Permit, Denial>> {
        self.charge(caller, place, Asked { chain: Some(chain), tokens, units })
    }

    /// The same as [`Meter::admit`] for a request that names a chain which is not served; in the usage it stands
    /// under `-`.
    pub fn admit_elsewhere(
        &self,
        caller: &Caller,
        tokens: u32,
        units: u32,
    ) -> impl Future<Output = Result<Permit, Denial>> {
        self.charge(caller, None, Asked { chain: None, tokens, units })
    }

    #[inline]
    async fn charge(
        &self,
        caller: &Caller,
        mut place: Option<AccountInFlight>,
        asked: Asked,
    ) -> Result<Permit, Denial> {
        let ledger = self.engine.ledger(caller.service).ok_or_else(Denial::store_unavailable)?;
        let denial = match self.attempt(ledger, caller, &mut place, asked).await {
            Err(denial) if denial.is_quota() && ledger.lessee.is_some() => denial,
            charged => return charged,
        };
        Box::pin(self.borrow(ledger, caller, place, asked, denial)).await
    }

    /// Charges a request out of what is at hand; waits for shared buckets alone, where there are such.
    #[inline]
    async fn attempt(
        &self,
        ledger: &Arc<Ledger>,
        caller: &Caller,
        place: &mut Option<AccountInFlight>,
        asked: Asked,
    ) -> Result<Permit, Denial> {
        let now = self.engine.clock.now();
        match &self.engine.connector {
            None => admit(ledger, caller, place, now, asked),
            Some(connector) => {
                let buckets = &connector.buckets;
                Box::pin(admit_shared(buckets, ledger, caller, place, now, asked)).await
            }
        }
    }

    /// Charges a request for which too little is lent: as soon as there is more, or not at all.
    #[cold]
    async fn borrow(
        &self,
        ledger: &Arc<Ledger>,
        caller: &Caller,
        mut place: Option<AccountInFlight>,
        asked: Asked,
        mut denial: Denial,
    ) -> Result<Permit, Denial> {
        let deadline = Lessee::deadline();
        loop {
            let (Some(lessee), now) = (&ledger.lessee, self.engine.clock.now()) else {
                return Err(denial);
            };
            let Some((purse, stamp, cap)) = short(caller, denial.reason, now) else {
                return Err(denial);
            };
            if u64::from(asked.units) > cap || lessee.is_dry(&purse, stamp, cap) {
                return Err(denial);
            }
            let away = self.engine.rests();
            if away || !lessee.more(&purse, stamp, asked.units, cap, deadline).await {
                return Err(Denial::store_unavailable());
            }
            match self.attempt(ledger, caller, &mut place, asked).await {
                Err(next) if next.is_quota() => denial = next,
                charged => return charged,
            }
        }
    }
}
