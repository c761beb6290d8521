//! Every refusal of the explorer: reason, HTTP status and text, in one table.
//!
//! Source: the specification's table of reasons.

use std::borrow::Cow;

use bytes::Bytes;
use http::StatusCode;
use index::{ReadError, Standing};
use meter::{Bar, Denial};

use crate::room::Full;

/// Why the explorer says no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each variant is its reason; the table says the rest")]
pub enum Reason {
    BadRequest,
    MissingApiKey,
    InvalidApiKey,
    KeyRevoked,
    AccountSuspended,
    ChainNotInPlan,
    NotFound,
    ChainNotFound,
    EndpointNotFound,
    NotOnThisChain,
    RateLimited,
    DailyQuotaExceeded,
    MonthlyQuotaExceeded,
    TooManyConcurrent,
    UpstreamError,
    ServiceUnavailable,
    UpstreamTimeout,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// `error.reason`.
    pub name: &'static str,
    /// HTTP status.
    pub status: u16,
    /// `error.message` where nothing closer is known.
    pub text: &'static str,
}

const fn row(name: &'static str, status: u16, text: &'static str) -> Row {
    Row { name, status, text }
}

impl Reason {
    /// Every reason, in the order of the table.
    pub const ALL: [Reason; 17] = [
        Reason::BadRequest,
        Reason::MissingApiKey,
        Reason::InvalidApiKey,
        Reason::KeyRevoked,
        Reason::AccountSuspended,
        Reason::ChainNotInPlan,
        Reason::NotFound,
        Reason::ChainNotFound,
        Reason::EndpointNotFound,
        Reason::NotOnThisChain,
        Reason::RateLimited,
        Reason::DailyQuotaExceeded,
        Reason::MonthlyQuotaExceeded,
        Reason::TooManyConcurrent,
        Reason::UpstreamError,
        Reason::ServiceUnavailable,
        Reason::UpstreamTimeout,
    ];

    /// The row of this reason.
    #[rustfmt::skip]
    pub const fn row(self) -> Row {
        match self {
            Reason::BadRequest => row("BAD_REQUEST", 400, "a height, hash, address or parameter is malformed"),
            Reason::MissingApiKey => row("MISSING_API_KEY", 401, "an API key is required: X-API-Key or Authorization: Bearer"),
            Reason::InvalidApiKey => row("INVALID_API_KEY", 401, "the API key is not valid"),
            Reason::KeyRevoked => row("KEY_REVOKED", 403, "the API key was revoked or has expired"),
            Reason::AccountSuspended => row("ACCOUNT_SUSPENDED", 403, "the account is suspended"),
            Reason::ChainNotInPlan => row("CHAIN_NOT_IN_PLAN", 403, "the plan does not include this chain"),
            Reason::NotFound => row("NOT_FOUND", 404, "no such block, transaction or address"),
            Reason::ChainNotFound => row("CHAIN_NOT_FOUND", 404, "no such chain is served here"),
            Reason::EndpointNotFound => row("ENDPOINT_NOT_FOUND", 404, "no such path"),
            Reason::NotOnThisChain => row("NOT_ON_THIS_CHAIN", 404, "chains of this family have no such endpoint"),
            Reason::RateLimited => row("RATE_LIMITED", 429, "more requests per second than the plan allows"),
            Reason::DailyQuotaExceeded => row("DAILY_QUOTA_EXCEEDED", 429, "the units of this UTC day are used up"),
            Reason::MonthlyQuotaExceeded => row("MONTHLY_QUOTA_EXCEEDED", 429, "the units of this UTC month are used up"),
            Reason::TooManyConcurrent => row("TOO_MANY_CONCURRENT", 429, "as many requests are in flight as the plan allows"),
            Reason::UpstreamError => row("UPSTREAM_ERROR", 502, "the node answered something else than what was asked"),
            Reason::ServiceUnavailable => row("SERVICE_UNAVAILABLE", 503, "the service cannot answer now; retry shortly"),
            Reason::UpstreamTimeout => row("UPSTREAM_TIMEOUT", 504, "the answer took longer than the time limit"),
        }
    }

    /// HTTP status.
    pub(crate) fn status(self) -> StatusCode {
        StatusCode::from_u16(self.row().status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// A refusal on its way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) reason: Reason,
    /// In words of our own; nothing that a client sent stands in it.
    text: Cow<'static, str>,
    pub(crate) retry_after_secs: Option<u64>,
}

impl Refusal {
    /// A refusal that says what is wrong more closely.
    pub(crate) fn saying(reason: Reason, text: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal { text: text.into(), ..reason.into() }
    }

    /// RATE_LIMITED of an account that has as much under way as it may, with a second to wait.
    pub(crate) fn busy_account(text: &'static str) -> Refusal {
        Refusal { retry_after_secs: Some(1), ..Refusal::saying(Reason::RateLimited, text) }
    }

    /// SERVICE_UNAVAILABLE with the seconds to wait.
    pub(crate) fn unavailable(text: &'static str, secs: u64) -> Refusal {
        Refusal {
            retry_after_secs: Some(secs),
            ..Refusal::saying(Reason::ServiceUnavailable, text)
        }
    }

    /// SERVICE_UNAVAILABLE of an index that has nothing to show yet: what of its nodes is waited
    /// for, or that which goes on.
    pub(crate) fn until(standing: &Standing, goes_on: &'static str) -> Refusal {
        Refusal::unavailable(standing.waits_for.unwrap_or(goes_on), 30)
    }

    /// `{"error":{"reason","message"}}`. Both are texts of our own without anything to escape.
    pub(crate) fn body(&self) -> Bytes {
        let name = self.reason.row().name;
        format!(r#"{{"error":{{"reason":"{name}","message":"{}"}}}}"#, self.text).into()
    }
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Refusal {
        let retry_after_secs = match reason {
            Reason::ServiceUnavailable => Some(5),
            _ => None,
        };
        Refusal { reason, text: reason.row().text.into(), retry_after_secs }
    }
}

impl From<Denial> for Refusal {
    fn from(denial: Denial) -> Refusal {
        let reason = match denial.reason {
            meter::Reason::MissingApiKey => Reason::MissingApiKey,
            meter::Reason::InvalidApiKey => Reason::InvalidApiKey,
            meter::Reason::KeyRevoked => Reason::KeyRevoked,
            meter::Reason::AccountSuspended => Reason::AccountSuspended,
            // An account without a plan here, and a plan that is no more, include no chain
            // (decision B16).
            meter::Reason::ChainNotInPlan
            | meter::Reason::PlanUnavailable
            | meter::Reason::MethodNotAllowed => Reason::ChainNotInPlan,
            meter::Reason::MonthlyQuota => Reason::MonthlyQuotaExceeded,
            // A key's own cap belongs to the gateway alone (decision B3).
            meter::Reason::DailyQuota | meter::Reason::KeyDailyQuota => Reason::DailyQuotaExceeded,
            meter::Reason::TooManyConcurrent => Reason::TooManyConcurrent,
            meter::Reason::RateLimited | meter::Reason::TooManyInvalidKeys => Reason::RateLimited,
            meter::Reason::StoreUnavailable => Reason::ServiceUnavailable,
        };
        let text = match (denial.bar, denial.reason) {
            (Some(bar), _) => text_of(bar),
            (None, meter::Reason::TooManyInvalidKeys) => {
                "too many invalid API keys from this address"
            }
            (None, _) => reason.row().text,
        };
        Refusal { reason, text: text.into(), retry_after_secs: denial.retry_after_secs }
    }
}

/// What is said where the reason does not name what stands in the way.
fn text_of(bar: Bar) -> &'static str {
    match bar {
        Bar::KeyScope => "the API key is not for this chain, which the plan includes",
        Bar::RetiredPlan => "the account's plan is not offered any more",
        Bar::NoPlan => "the account has no plan for the explorer",
    }
}

impl From<Full> for Refusal {
    fn from(full: Full) -> Refusal {
        match full {
            Full::Account => Refusal::busy_account(
                "as many bytes of answers are on their way to this account as it may have",
            ),
            Full::Process => Refusal::unavailable("too many bytes of answers are on their way", 1),
        }
    }
}

impl From<ReadError> for Refusal {
    fn from(_: ReadError) -> Refusal {
        Refusal::unavailable("the index cannot be read now", 5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_stand_at_their_own_places_and_need_no_escaping() {
        for (place, reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, place, "{reason:?}");
            let body = Refusal::from(*reason).body();
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body["error"]["reason"], reason.row().name);
        }
    }
}
