//! Passes over the node's mempool: what is gone goes, what is new is fetched.
//!
//! Leaves when to make one to `sync`. Invariants: a list that was taken at another tip than ours is
//! thrown away, so that pool and tip of a view belong together; the list is read at most once in
//! its time, away from the runtime's threads; what could not be read is asked for again.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use chain::Hash32;
use chain::utxo::Format;
use node::Node;
use serde_json::value::RawValue;

use super::admission::{Admission, Raw, Terms};
use super::mempool::Mempool;
use super::upstream::{self, ValuePool};
use super::view::View;
use crate::ReadError;
use crate::sync::{Pass, Passes, Trouble};

/// So many transactions are asked for in one request.
const BATCH: usize = 100;
/// A pass that fetches longer is gone on with after the tip was looked at again.
const LONGEST: Duration = Duration::from_millis(500);
/// What could not be read is asked for again after at most so many passes.
const RAREST: u64 = 8;

/// What passes go by.
#[derive(Clone, Copy)]
pub(crate) struct PoolRules {
    pub(crate) format: Format,
    /// Bytes of memory beyond which only ids are kept.
    pub(crate) limit: u64,
    /// Between two readings of the list.
    pub(crate) every: Duration,
}

/// The pool, and how far the pass over the node's is.
pub struct PoolPasses {
    rules: PoolRules,
    admission: Admission,
    /// When the list was read last, and how often.
    listed: Option<Instant>,
    passes: u64,
    /// Listed, and not asked for yet.
    left: Vec<Hash32>,
    /// Asked for, and not given.
    not_given: Vec<Hash32>,
    /// Could not be read so far: how often that was tried, and the pass of the next try.
    unread: HashMap<Hash32, (u32, u64)>,
}

impl Passes<View, Mempool> for PoolPasses {
    fn waiting(&self) -> &Mempool {
        &self.admission.mempool
    }

    fn moved_to(&mut self, mempool: Mempool) {
        self.admission = Admission::of(mempool);
        self.left.clear();
        self.not_given.clear();
    }

    fn rest(&self) -> Duration {
        if !self.left.is_empty() {
            return Duration::ZERO;
        }
        let since = self.listed.map(|listed| listed.elapsed());
        since.map_or(Duration::ZERO, |since| self.rules.every.saturating_sub(since))
    }

    async fn pass(&mut self, node: &Arc<Node>, view: &Arc<View>) -> Result<Pass, Trouble> {
        let started = Instant::now();
        if self.left.is_empty() {
            if !self.rest().is_zero() {
                return Ok(Pass::Resting);
            }
            self.listed = Some(started);
            let list = upstream::mempool(node).await?;
            if upstream::best_hash(node).await? != view.hash() {
                return Ok(Pass::Moved);
            }
            self.take_list(list).await?;
        }
        while !self.left.is_empty() {
            if started.elapsed() > LONGEST {
                return Ok(Pass::Unfinished);
            }
            self.fetch(node, view).await?;
        }
        self.note_unread(node).await?;
        Ok(if self.unread.is_empty() { Pass::Whole } else { Pass::Unread })
    }
}

impl PoolPasses {
    /// With nothing in the pool.
    pub(crate) fn new(rules: PoolRules) -> PoolPasses {
        PoolPasses {
            rules,
            admission: Admission::of(Mempool::new(rules.format.witness)),
            listed: None,
            passes: 0,
            left: Vec::new(),
            not_given: Vec::new(),
            unread: HashMap::new(),
        }
    }

    /// What each pool of value holds after a block.
    pub(crate) fn note_value_pools(&mut self, at: Hash32, pools: Vec<ValuePool>) {
        let pools = (!pools.is_empty()).then(|| (at, pools.into()));
        self.admission.mempool.note_value_pools(pools);
    }

    /// Takes out of the pool what is not listed, and notes what is to be fetched.
    async fn take_list(&mut self, list: Box<RawValue>) -> Result<(), Trouble> {
        self.passes += 1;
        let (mut admission, mut unread) =
            (std::mem::take(&mut self.admission), std::mem::take(&mut self.unread));
        let (pass, limit) = (self.passes, self.rules.limit);
        let before = admission.mempool.clone();
        let compared = away_with(move || {
            let ids = upstream::mempool_ids(&list)?;
            let left = compare(&mut admission, &mut unread, &ids, pass, limit);
            Ok::<_, Trouble>((admission, unread, left))
        })
        .await;
        match compared {
            Ok((admission, unread, left)) => {
                (self.admission, self.unread, self.left) = (admission, unread, left);
                Ok(())
            }
            Err(error) => {
                self.admission = Admission::of(before);
                Err(error)
            }
        }
    }

    /// Fetches and admits some of what is left.
    async fn fetch(&mut self, node: &Arc<Node>, view: &Arc<View>) -> Result<(), Trouble> {
        if self.waiting().memory() >= self.rules.limit {
            let ids = std::mem::take(&mut self.left);
            return self
                .admit(view, move |admission, terms| admission.leave(terms.view, ids))
                .await;
        }
        let ids = &self.left[self.left.len().saturating_sub(BATCH)..];
        let raw = upstream::transactions(node, ids).await?;
        let (mut given, mut not_given): (Raw, Vec<Hash32>) = (Vec::new(), Vec::new());
        for (id, raw) in ids.iter().zip(raw) {
            match raw {
                Some(raw) => given.push((*id, raw)),
                None => not_given.push(*id),
            }
        }
        self.left.truncate(self.left.len().saturating_sub(BATCH));
        self.not_given.append(&mut not_given);
        self.admit(view, move |admission, terms| admission.admit(terms, given)).await
    }

    /// Does something with what is admitted, away from the runtime: it may read from the disk.
    async fn admit(
        &mut self,
        view: &Arc<View>,
        work: impl FnOnce(&mut Admission, Terms<'_>) -> Result<(), ReadError> + Send + 'static,
    ) -> Result<(), Trouble> {
        let before = self.waiting().clone();
        let mut admission = std::mem::take(&mut self.admission);
        let (view, PoolRules { format, limit, .. }) = (Arc::clone(view), self.rules);
        let first_seen = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let first_seen = first_seen.map_or(0, |now| now.as_secs());
        let worked = away(move || {
            let terms = Terms { view: &view, format: &format, first_seen, limit };
            work(&mut admission, terms).map(|()| admission)
        })
        .await;
        match worked {
            Ok(admission) => {
                self.admission = admission;
                Ok(())
            }
            Err(error) => {
                self.admission = Admission::of(before);
                Err(error.into())
            }
        }
    }

    /// What was listed and is neither in the pool nor refused is to be asked for again, unless it
    /// waits no longer.
    async fn note_unread(&mut self, node: &Arc<Node>) -> Result<(), Trouble> {
        let not_given = std::mem::take(&mut self.not_given);
        let mut unread = self.admission.take_unread();
        for ids in not_given.chunks(BATCH) {
            let still = upstream::still_wait(node, ids).await?;
            unread.extend(ids.iter().zip(still).filter_map(|(id, still)| still.then_some(*id)));
        }
        let mempool = &self.admission.mempool;
        self.unread.retain(|id, _| !mempool.contains(id));
        for id in unread {
            let (tries, next) = self.unread.entry(id).or_default();
            *tries += 1;
            *next = self.passes + (1 << (*tries - 1).min(8)).min(RAREST);
        }
        Ok(())
    }
}

/// Takes out of the pool what is not listed; gives what is listed and to be fetched.
fn compare(
    admission: &mut Admission,
    unread: &mut HashMap<Hash32, (u32, u64)>,
    ids: &[Hash32],
    pass: u64,
    limit: u64,
) -> Vec<Hash32> {
    let listed: HashSet<&Hash32> = ids.iter().collect();
    let pool = &admission.mempool;
    let gone: Vec<Hash32> = pool.ids().filter(|id| !listed.contains(id)).copied().collect();
    gone.iter().for_each(|id| admission.mempool.remove(id));
    unread.retain(|id, _| listed.contains(id) && !admission.has_refused(id));
    let pool = &admission.mempool;
    // Ids beyond the bound are read once there is room worth speaking of.
    let has_room = pool.memory() < limit - limit / 8;
    let is_due = |id: &Hash32| unread.get(id).is_none_or(|(_, next)| *next <= pass);
    let is_wanted = |id: &&Hash32| {
        let held = if has_room { pool.entry(id).is_some() } else { pool.contains(id) };
        !held && !admission.has_refused(id) && is_due(id)
    };
    // The last ones are taken first.
    ids.iter().rev().filter(is_wanted).copied().collect()
}

async fn away<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ReadError> + Send + 'static,
) -> Result<T, ReadError> {
    away_with(work).await
}

/// Does work away from the runtime.
async fn away_with<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<ReadError> + Send + 'static,
{
    let lost = |_| Err(ReadError::Failed("reading the mempool was cut off".into()).into());
    tokio::task::spawn_blocking(work).await.unwrap_or_else(lost)
}
