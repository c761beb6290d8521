//! One pass over the node's mempool: what is gone goes, what is new is fetched.
//!
//! Leaves when to make it to `sync`. Invariant: a list that was taken at another tip than ours is
//! thrown away, so that pool and tip of a view belong together.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use chain::Hash32;
use chain::utxo::Format;
use node::Node;

use super::admission::admit;
use super::mempool::Mempool;
use super::upstream::{self, UpstreamError};
use super::view::View;
use crate::ReadError;

/// So many transactions are asked for in one request.
const BATCH: usize = 100;
/// A pass that fetches longer is gone on with after the tip was looked at again.
const LONGEST: Duration = Duration::from_secs(2);

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// The pool is the node's at our tip.
    Whole,
    /// There is more to fetch.
    Unfinished,
    /// The node has another tip by now.
    Moved,
}

/// Why a pass failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PassError {
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Brings a pool up to the node's, at the tip of `view`.
pub(crate) async fn pass(
    node: &Arc<Node>,
    view: &Arc<View>,
    format: Format,
    mempool: &mut Mempool,
    limit: u64,
) -> Result<Pass, PassError> {
    let started = Instant::now();
    let ids = upstream::mempool(node).await?;
    if upstream::best_hash(node).await? != view.hash() {
        return Ok(Pass::Moved);
    }
    let listed: HashSet<&Hash32> = ids.iter().collect();
    let gone: Vec<Hash32> = mempool.ids().filter(|id| !listed.contains(id)).copied().collect();
    gone.iter().for_each(|id| mempool.remove(id));
    // A child may be listed long before its parent: what stays is tried once more.
    for _ in 0..2 {
        let missing: Vec<Hash32> = ids.iter().filter(|id| !mempool.contains(id)).copied().collect();
        for ids in missing.chunks(BATCH) {
            if started.elapsed() > LONGEST {
                return Ok(Pass::Unfinished);
            }
            let raw = upstream::transactions(node, ids).await?;
            let raw = ids.iter().zip(raw);
            let raw = raw.filter_map(|(id, raw)| raw.map(|raw| (*id, raw))).collect();
            *mempool = admitted(mempool.clone(), view, format, raw, limit).await?;
        }
    }
    // What cannot be read is not asked for again before the next block.
    let unread: Vec<Hash32> = ids.iter().filter(|id| !mempool.contains(id)).copied().collect();
    unread.into_iter().for_each(|id| mempool.leave_unread(id));
    Ok(Pass::Whole)
}

/// Admits transactions away from the runtime: it may read from the disk.
async fn admitted(
    mut mempool: Mempool,
    view: &Arc<View>,
    format: Format,
    raw: Vec<(Hash32, Vec<u8>)>,
    limit: u64,
) -> Result<Mempool, ReadError> {
    let view = Arc::clone(view);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_secs());
    let admit = move || {
        let admitted = admit(&mut mempool, &view, &format, &raw, now, limit);
        admitted.map(|()| mempool)
    };
    let lost = |_| Err(ReadError::Failed("reading the mempool was cut off".into()));
    tokio::task::spawn_blocking(admit).await.unwrap_or_else(lost)
}
