//! Why a request is refused, in the words of the specification.
//!
//! The meter says the reason and how long to wait. HTTP status, numeric code and text belong to
//! the refusal table of the service that answers.

use std::fmt;

/// Why the meter refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// No key in any of the accepted forms.
    MissingApiKey,
    /// Not a key of this store, or one that may not be used from this client (decision B19).
    InvalidApiKey,
    /// Too many invalid keys from this client address (decision B10).
    TooManyInvalidKeys,
    /// The key is revoked or past its end.
    KeyRevoked,
    /// The account is suspended.
    AccountSuspended,
    /// The account has no plan on this service, or one that is offered no more.
    PlanUnavailable,
    /// The chain is outside the plan or outside the scope of the key.
    ChainNotInPlan,
    /// The method is outside the scope of the key.
    MethodNotAllowed,
    /// The units of the month are used up.
    MonthlyQuota,
    /// The units of the day are used up.
    DailyQuota,
    /// The units of the day on this key are used up.
    KeyDailyQuota,
    /// As many requests are in flight as the plan allows.
    TooManyConcurrent,
    /// Not enough tokens in the bucket.
    RateLimited,
    /// The store cannot be read.
    StoreUnavailable,
}

impl Reason {
    /// The stable code of the specification, such as `INVALID_API_KEY`.
    pub fn code(self) -> &'static str {
        match self {
            Reason::MissingApiKey => "MISSING_API_KEY",
            Reason::InvalidApiKey => "INVALID_API_KEY",
            Reason::TooManyInvalidKeys => "TOO_MANY_INVALID_KEYS",
            Reason::KeyRevoked => "KEY_REVOKED",
            Reason::AccountSuspended => "ACCOUNT_SUSPENDED",
            Reason::PlanUnavailable => "PLAN_UNAVAILABLE",
            Reason::ChainNotInPlan => "CHAIN_NOT_IN_PLAN",
            Reason::MethodNotAllowed => "METHOD_NOT_ALLOWED",
            Reason::MonthlyQuota => "MONTHLY_QUOTA_EXCEEDED",
            Reason::DailyQuota => "DAILY_QUOTA_EXCEEDED",
            Reason::KeyDailyQuota => "KEY_DAILY_QUOTA_EXCEEDED",
            Reason::TooManyConcurrent => "TOO_MANY_CONCURRENT",
            Reason::RateLimited => "RATE_LIMITED",
            Reason::StoreUnavailable => "SERVICE_UNAVAILABLE",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// What stands in the way, where the reason alone does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bar {
    /// The scope of the key, not the plan (decision B19).
    KeyScope,
    /// The account's plan is not configured any more (decision B16).
    RetiredPlan,
    /// The account has no plan on this service.
    NoPlan,
}

/// A refusal of the meter: the reason, and when to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denial {
    /// Why.
    pub reason: Reason,
    /// Whole seconds to wait, at least 1, where waiting helps (decision B8).
    pub retry_after_secs: Option<u64>,
    /// What stands in the way, where that is not the plan as a whole.
    pub bar: Option<Bar>,
}

impl Denial {
    /// A refusal that no waiting lifts.
    pub(crate) fn of(reason: Reason) -> Denial {
        Denial { reason, retry_after_secs: None, bar: None }
    }

    /// A refusal that lifts after some seconds, at least 1.
    pub(crate) fn after(reason: Reason, secs: u64) -> Denial {
        Denial { reason, retry_after_secs: Some(secs.max(1)), bar: None }
    }

    /// A refusal that no waiting lifts, and what stands in the way.
    pub(crate) fn by(reason: Reason, bar: Option<Bar>) -> Denial {
        Denial { bar, ..Denial::of(reason) }
    }

    /// Is a quota used up, as far as this process knows?
    pub(crate) fn is_quota(&self) -> bool {
        let quotas = [Reason::MonthlyQuota, Reason::DailyQuota, Reason::KeyDailyQuota];
        quotas.contains(&self.reason)
    }

    /// The store cannot be asked; unavailable means 5 s (decision B8).
    pub(crate) fn store_unavailable() -> Denial {
        Denial::after(Reason::StoreUnavailable, 5)
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl std::error::Error for Denial {}
