//! What is left of an allowance, and the headers that say so.

use http::{HeaderMap, HeaderName};

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const DAILY: HeaderName = HeaderName::from_static("x-quota-daily-remaining");
const MONTHLY: HeaderName = HeaderName::from_static("x-quota-monthly-remaining");
const KEY_DAILY: HeaderName = HeaderName::from_static("x-quota-key-daily-remaining");

/// What is left to the caller after a request was admitted, for the response headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remains {
    /// Burst of the plan.
    pub limit: u32,
    /// Whole tokens left in the bucket after this request, 0 in debt.
    pub remaining: u32,
    /// Whole seconds until the bucket is full, rounded up; 0 when it is full.
    pub reset_secs: u64,
    /// Units left today, where the plan has a daily quota.
    pub daily_remaining: Option<u64>,
    /// Units left this month, where the plan has a monthly quota.
    pub monthly_remaining: Option<u64>,
    /// Units left today on this key, where the key has a daily cap (gateway only).
    pub key_daily_remaining: Option<u64>,
}

impl Remains {
    /// Says in an answer's head what is left (decision B9). A quota that is not there has no
    /// header.
    pub fn show(&self, headers: &mut HeaderMap) {
        headers.insert(LIMIT, u64::from(self.limit).into());
        headers.insert(REMAINING, u64::from(self.remaining).into());
        headers.insert(RESET, self.reset_secs.into());
        let quotas = [
            (DAILY, self.daily_remaining),
            (MONTHLY, self.monthly_remaining),
            (KEY_DAILY, self.key_daily_remaining),
        ];
        for (name, left) in quotas {
            if let Some(left) = left {
                headers.insert(name, left.into());
            }
        }
    }
}
