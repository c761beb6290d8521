//! What is left of an allowance, and the headers that say so.

use bytes::BytesMut;
use http::{HeaderMap, HeaderName, HeaderValue};

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const DAILY: HeaderName = HeaderName::from_static("x-quota-daily-remaining");
const MONTHLY: HeaderName = HeaderName::from_static("x-quota-monthly-remaining");
const KEY_DAILY: HeaderName = HeaderName::from_static("x-quota-key-daily-remaining");

/// Digits of the largest number.
const MOST_DIGITS: usize = 20;

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
        let all = [
            (LIMIT, Some(u64::from(self.limit))),
            (REMAINING, Some(u64::from(self.remaining))),
            (RESET, Some(self.reset_secs)),
            (DAILY, self.daily_remaining),
            (MONTHLY, self.monthly_remaining),
            (KEY_DAILY, self.key_daily_remaining),
        ];
        // One buffer, of which each value is a part: six small ones cost twelve allocations.
        let (mut text, mut ends) = (BytesMut::with_capacity(all.len() * MOST_DIGITS), [0; 6]);
        for ((_, left), end) in all.iter().zip(&mut ends) {
            if let Some(left) = left {
                text.extend_from_slice(itoa::Buffer::new().format(*left).as_bytes());
            }
            *end = text.len();
        }
        let (text, mut start) = (text.freeze(), 0);
        for ((name, left), end) in all.into_iter().zip(ends) {
            if left.is_some()
                && let Ok(value) = HeaderValue::from_maybe_shared(text.slice(start..end))
            {
                headers.insert(name, value);
            }
            start = end;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may")]

    use super::*;

    #[test]
    fn what_is_left_is_shown_and_a_quota_that_is_not_there_is_not() {
        let remains = Remains {
            limit: u32::MAX,
            remaining: 0,
            reset_secs: u64::MAX,
            daily_remaining: Some(7),
            monthly_remaining: None,
            key_daily_remaining: Some(u64::MAX),
        };
        let mut headers = HeaderMap::new();
        remains.show(&mut headers);
        let shown = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(shown("x-ratelimit-limit").as_deref(), Some("4294967295"));
        assert_eq!(shown("x-ratelimit-remaining").as_deref(), Some("0"));
        assert_eq!(shown("x-ratelimit-reset").as_deref(), Some("18446744073709551615"));
        assert_eq!(shown("x-quota-daily-remaining").as_deref(), Some("7"));
        assert_eq!(shown("x-quota-monthly-remaining"), None);
        assert_eq!(shown("x-quota-key-daily-remaining").as_deref(), Some("18446744073709551615"));
    }
}
