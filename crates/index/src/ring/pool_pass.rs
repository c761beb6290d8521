//! Passes over the node's mempool: what is gone goes, what is new is fetched.
//!
//! Leaves when to make one to `sync`. Works on restricted ports: hashes, then transactions a
//! hundred at a time. Invariants: a list that was taken at another tip than ours is thrown away;
//! the list is read at most once in its time; what a node was not to tell the public is neither
//! fetched nor shown (decision R6).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use chain::ring::Hash;
use node::{CallError, Node};

use super::admission::{Admission, Terms};
use super::mempool::Mempool;
use super::upstream::{self, Given, TRANSACTIONS};
use super::view::View;
use crate::sync::{Pass, Passes, Trouble, UpstreamError, away};

/// A pass that fetches longer is gone on with after the tip was looked at again.
const LONGEST: Duration = Duration::from_millis(500);
/// What could not be read is asked for again after at most so many passes.
const RAREST: u64 = 8;
/// What is not public yet is asked about again after so long.
const HIDDEN_FOR: Duration = Duration::from_secs(5);

/// The pool, and how far the pass over the node's is.
pub struct PoolPasses {
    /// Between two readings of the list.
    every: Duration,
    /// Bytes of memory beyond which only hashes are kept.
    limit: u64,
    admission: Admission,
    /// When the list was read last, and how often.
    listed: Option<Instant>,
    passes: u64,
    /// Listed, and not asked for yet.
    left: Vec<Hash>,
    /// Could not be read so far: how often that was tried, and the pass of the next try.
    unread: HashMap<Hash, (u32, u64)>,
    /// Listed by an open port and not public yet, and when that was asked.
    hidden: HashSet<Hash>,
    looked: Option<Instant>,
}

impl Passes<View, Mempool> for PoolPasses {
    fn waiting(&self) -> &Mempool {
        &self.admission.mempool
    }

    fn moved_to(&mut self, mempool: Mempool) {
        self.admission = Admission::of(mempool);
        self.left.clear();
    }

    fn rest(&self) -> Duration {
        if !self.left.is_empty() {
            return Duration::ZERO;
        }
        let since = self.listed.map(|listed| listed.elapsed());
        since.map_or(Duration::ZERO, |since| self.every.saturating_sub(since))
    }

    async fn pass(&mut self, node: &Arc<Node>, view: &Arc<View>) -> Result<Pass, Trouble> {
        let started = Instant::now();
        if self.left.is_empty() {
            if !self.rest().is_zero() {
                return Ok(Pass::Resting);
            }
            self.listed = Some(started);
            let list = upstream::mempool(node).await?;
            let seen = upstream::seen(node).await?;
            if seen.best.hash != view.hash() {
                return Ok(Pass::Moved);
            }
            self.take_list(node, list, seen.restricted).await?;
        }
        while !self.left.is_empty() {
            if started.elapsed() > LONGEST {
                return Ok(Pass::Unfinished);
            }
            self.fetch(node, view).await?;
        }
        self.note_unread();
        Ok(if self.unread.is_empty() { Pass::Whole } else { Pass::Unread })
    }
}

impl PoolPasses {
    /// With nothing in the pool.
    pub(crate) fn new(every: Duration, limit: u64) -> PoolPasses {
        PoolPasses {
            every,
            limit,
            admission: Admission::default(),
            listed: None,
            passes: 0,
            left: Vec::new(),
            unread: HashMap::new(),
            hidden: HashSet::new(),
            looked: None,
        }
    }

    pub(crate) fn waiting_mut(&mut self) -> &mut Mempool {
        &mut self.admission.mempool
    }

    /// Takes out of the pool what is not listed, and notes what is to be fetched.
    async fn take_list(
        &mut self,
        node: &Arc<Node>,
        list: Vec<Hash>,
        restricted: bool,
    ) -> Result<(), Trouble> {
        self.passes += 1;
        let pass = self.passes;
        let listed: HashSet<&Hash> = list.iter().collect();
        let pool = &mut self.admission.mempool;
        let gone: Vec<Hash> =
            pool.hashes().filter(|hash| !listed.contains(hash)).copied().collect();
        gone.iter().for_each(|hash| pool.remove(hash));
        self.unread.retain(|hash, _| listed.contains(hash));
        self.hidden.retain(|hash| listed.contains(hash));
        let (pool, unread) = (&self.admission.mempool, &self.unread);
        // Hashes beyond the bound are read once there is room worth speaking of.
        let has_room = pool.memory() < self.limit - self.limit / 8;
        let is_wanted = |hash: &&Hash| {
            let held = if has_room { pool.entry(hash).is_some() } else { pool.contains(hash) };
            let is_due = unread.get(hash).is_none_or(|(_, next)| *next <= pass);
            !held && is_due && !self.admission.has_refused(hash)
        };
        let mut left: Vec<Hash> = list.iter().filter(is_wanted).copied().collect();
        if !restricted {
            self.hide(node, &mut left).await?;
        }
        self.left = left;
        Ok(())
    }

    /// Leaves out what an open port lists and the network was not shown yet.
    async fn hide(&mut self, node: &Arc<Node>, left: &mut Vec<Hash>) -> Result<(), Trouble> {
        let is_new = left.iter().any(|hash| !self.hidden.contains(hash));
        let is_due = self.looked.is_none_or(|looked| looked.elapsed() >= HIDDEN_FOR);
        if is_new || (is_due && !self.hidden.is_empty()) {
            let public = match upstream::public_mempool(node).await {
                Ok(public) => public,
                // A port that has no such path shows nothing but what is public.
                Err(UpstreamError::Call(CallError::Shape { status })) if status.as_u16() == 404 => {
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            };
            self.looked = Some(Instant::now());
            self.hidden = left.iter().filter(|hash| !public.contains(hash)).copied().collect();
        }
        left.retain(|hash| !self.hidden.contains(hash));
        Ok(())
    }

    /// Fetches and admits some of what is left.
    async fn fetch(&mut self, node: &Arc<Node>, view: &Arc<View>) -> Result<(), Trouble> {
        let start = self.left.len().saturating_sub(TRANSACTIONS);
        let hashes = &self.left[start..];
        let given = upstream::transactions(node, hashes).await?;
        let is_shown = |given: &Given| given.in_pool && given.relayed != Some(false);
        // What is mined meanwhile comes with its block.
        let raw = hashes.iter().zip(given).filter_map(|(hash, given)| {
            let given = given.filter(is_shown)?;
            Some((*hash, given.bytes))
        });
        let raw: Vec<(Hash, Bytes)> = raw.collect();
        self.left.truncate(start);
        self.admit(view, raw).await
    }

    /// Admits away from the runtime: it reads from the disk.
    async fn admit(&mut self, view: &Arc<View>, raw: Vec<(Hash, Bytes)>) -> Result<(), Trouble> {
        let before = self.waiting().clone();
        let mut admission = std::mem::take(&mut self.admission);
        let (view, limit) = (Arc::clone(view), self.limit);
        let first_seen = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let first_seen = first_seen.map_or(0, |now| now.as_secs());
        let worked = away(move || {
            let terms = Terms { view: &view, first_seen, limit };
            admission.admit(terms, &raw)?;
            Ok(admission)
        });
        match worked.await {
            Ok(admission) => {
                self.admission = admission;
                Ok(())
            }
            Err(error) => {
                self.admission = Admission::of(before);
                Err(error)
            }
        }
    }

    /// What could not be read is to be asked for again.
    fn note_unread(&mut self) {
        let unread = self.admission.take_unread();
        let mempool = &self.admission.mempool;
        self.unread.retain(|hash, _| !mempool.contains(hash));
        for hash in unread {
            let (tries, next) = self.unread.entry(hash).or_default();
            *tries += 1;
            *next = self.passes + (1 << (*tries - 1).min(8)).min(RAREST);
        }
    }
}
