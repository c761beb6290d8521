//! How an index of accounts is kept.

use std::time::Duration;

use chain::account::RewardForks;

/// So long what a node lacks, or has thrown away, is not asked of it again.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(3600);

/// How an index is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncOptions {
    /// Between two looks at the node; 500 ms.
    pub poll: Duration,
    /// Blocks that are fetched at once; 8.
    pub window: usize,
    /// Nothing is connected while less is free on the disk; 2 GiB.
    pub least_free_bytes: u64,
    /// So long a node that knows nothing of our last blocks is waited for, if another node gave
    /// them; 30 s.
    pub patience: Duration,
    /// Where the index begins: a height, or so many blocks back from the tip at the first start
    /// where it is negative; -2,000,000 (decision A12).
    pub history_from: i64,
    /// Blocks that an empty index takes before it is served; 64.
    pub first_blocks: u32,
    /// So long what a node lacks, or has thrown away, is not asked of it again; an hour.
    pub retry_after: Duration,
}

/// What an operator says of an index of accounts alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountOptions {
    /// Where the index begins (see [`SyncOptions`]), unless as by default.
    pub history_from: Option<i64>,
    /// Heights from which blocks create less (see [`super::Store::go_by`]), unless those of the
    /// network.
    pub reward_forks: Option<RewardForks>,
}

impl Default for SyncOptions {
    fn default() -> SyncOptions {
        SyncOptions {
            poll: Duration::from_millis(500),
            window: 8,
            least_free_bytes: 2 << 30,
            patience: Duration::from_secs(30),
            history_from: -2_000_000,
            first_blocks: 64,
            retry_after: RETRY_AFTER,
        }
    }
}

impl SyncOptions {
    /// The height at which the index begins, if the node's tip had that height at the first start.
    pub(super) fn floor(&self, begun_at: u32) -> u32 {
        match self.history_from {
            from @ 0.. => from.try_into().unwrap_or(u32::MAX),
            back => begun_at.saturating_sub(back.unsigned_abs().try_into().unwrap_or(u32::MAX)),
        }
    }
}
