//! Who calls: the key and account of a request, as they stood when it came.
//!
//! Finding them needs the table alone; whether the request may be done is [`crate::Meter::admit`]'s
//! question. Invariant: a `Caller` exists only for a key that may be used from its client, of an
//! account that is not suspended.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use chain::Chain;

use crate::plan::Offer;
use crate::table::{Allowance, KeyEntry, KeyNow};
use crate::{Bar, Denial, Plan, Reason, Service, Utc};

/// A request's key and account.
pub struct Caller {
    pub(crate) service: Service,
    pub(crate) key: Arc<KeyEntry>,
    now: Arc<KeyNow>,
    offer: Arc<Offer>,
    /// Why the account has no plan here, if it has none.
    bar: Option<Bar>,
}

impl Caller {
    /// The caller that a key stands for, if it may be used here and now (decisions B16, B19).
    pub(crate) fn of(
        key: Arc<KeyEntry>,
        service: Service,
        client: IpAddr,
        origin: Option<&str>,
        at: Utc,
        nothing: &Arc<Offer>,
    ) -> Result<Caller, Denial> {
        let now = key.now.load_full();
        // First, so that a client out of scope learns nothing about the key.
        if !now.scopes.permits(client, origin) {
            return Err(Denial::of(Reason::InvalidApiKey));
        }
        if now.revoked || now.expires_at.is_some_and(|end| at >= end) {
            return Err(Denial::of(Reason::KeyRevoked));
        }
        let account = key.account.now.load();
        if account.suspended {
            return Err(Denial::of(Reason::AccountSuspended));
        }
        let bar = Some(account.bar(service));
        let (offer, bar) = match (&account.offers[service.place()], service) {
            (Some(offer), _) => (Arc::clone(offer), None),
            (None, Service::Gateway) => return Err(Denial::by(Reason::PlanUnavailable, bar)),
            // The explorer has no such reason: every chain is outside this plan.
            (None, Service::Explorer) => (Arc::clone(nothing), bar),
        };
        drop(account);
        Ok(Caller { service, key, now, offer, bar })
    }

    /// The plan of the account on this service.
    pub fn plan(&self) -> &Plan {
        &self.offer.plan
    }

    /// Number of the account, safe to log.
    pub fn account_id(&self) -> u64 {
        self.key.account.id
    }

    /// Number of the key, safe to log.
    pub fn key_id(&self) -> u64 {
        self.key.id
    }

    /// Is the chain in the plan and in the scope of the key?
    #[inline]
    pub fn may_use(&self, chain: &'static Chain) -> Result<(), Denial> {
        let place = u32::try_from(chain.ordinal).unwrap_or(u32::MAX);
        let has = |chains: u32| chains.checked_shr(place).is_some_and(|bits| bits & 1 == 1);
        match has(self.offer.chains & self.now.chains) {
            true => Ok(()),
            false => Err(self.outside(has(self.offer.chains))),
        }
    }

    /// Is any chain in the plan and in the scope of the key?
    pub(crate) fn may_use_any(&self) -> Result<(), Denial> {
        match self.offer.chains & self.now.chains {
            0 => Err(self.outside(self.offer.chains != 0)),
            _ => Ok(()),
        }
    }

    #[cold]
    fn outside(&self, in_plan: bool) -> Denial {
        let bar = if in_plan { Some(Bar::KeyScope) } else { self.bar };
        Denial::by(Reason::ChainNotInPlan, bar)
    }

    /// Is the method in the scope of the key?
    pub fn may_call(&self, method: &str) -> Result<(), Denial> {
        match self.now.scopes.permits_method(method) {
            true => Ok(()),
            false => Err(Denial::by(Reason::MethodNotAllowed, Some(Bar::KeyScope))),
        }
    }

    /// What the account has used of this service.
    #[inline]
    pub(crate) fn allowance(&self) -> &Allowance {
        &self.key.account.allowances[self.service.place()]
    }

    /// The daily cap of the key, which belongs to the gateway alone (decision B3).
    #[inline]
    pub(crate) fn key_cap(&self) -> Option<u64> {
        self.now.daily_cap.filter(|_| self.service == Service::Gateway)
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller")
            .field("service", &self.service)
            .field("account", &self.account_id())
            .field("key", &self.key_id())
            .field("plan", &self.offer.plan.name)
            .finish()
    }
}
