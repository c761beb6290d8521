//! One of the caps that a request of a key is under, where the store lends units of it.

use std::fmt;
use std::sync::Arc;

use crate::Service;
use crate::lease::{Lease, Term};
use crate::store::lender::{Kind, PotName};
use crate::table::{Allowance, KeyEntry};
use crate::tally::Tally;

/// The month or day of a key's account, or the day of the key.
#[derive(Clone)]
pub(crate) struct Purse {
    pub(crate) service: Service,
    pub(crate) kind: Kind,
    pub(crate) key: Arc<KeyEntry>,
}

/// A purse in need, as a call found it.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) purse: Purse,
    pub(crate) stamp: u32,
    pub(crate) cap: u64,
}

impl Purse {
    /// What is lent of its cap.
    pub(crate) fn lease(&self) -> &Lease {
        match self.kind {
            Kind::Month => &self.allowance().month_lease,
            Kind::Day => &self.allowance().day_lease,
            Kind::KeyDay => &self.key.day_lease,
        }
    }

    /// What is lent of one stamp.
    pub(crate) fn term(&self, stamp: u32) -> &Term {
        self.lease().term(stamp)
    }

    /// What this replica has used of it without a lease: before this process began, and while there
    /// was no cap.
    pub(crate) fn tally(&self) -> &Tally {
        match self.kind {
            Kind::Month => &self.allowance().month,
            Kind::Day => &self.allowance().day,
            Kind::KeyDay => &self.key.day,
        }
    }

    /// Its name in the store.
    pub(crate) fn name(&self, stamp: u32) -> PotName {
        let subject = match self.kind {
            Kind::Month | Kind::Day => self.key.account.id,
            Kind::KeyDay => self.key.id,
        };
        PotName { kind: self.kind, subject, stamp }
    }

    fn allowance(&self) -> &Allowance {
        &self.key.account.allowances[self.service.place()]
    }
}

impl fmt::Debug for Purse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Purse")
            .field("service", &self.service)
            .field("kind", &self.kind)
            .field("key", &self.key.id)
            .finish_non_exhaustive()
    }
}
