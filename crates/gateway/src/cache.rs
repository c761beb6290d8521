//! Answers that are remembered, and reads under way that are joined (decision G19).
//!
//! Which calls are of such a kind is told by `kind`, what of an answer is kept by `said`, who waits
//! for whom by `flight`, whose bytes they are by `shares`. Leaves asking and charging to `recall`.
//! Invariants: two calls share an answer only if all but their ids is the same, byte for byte; what
//! changes with the tip is never older than the account's last send, a tip that is known to have
//! changed, or [`stamp::TIP_LIFE`]; and all that is kept stays within `max_cache_bytes`, an account's
//! within a quarter of it.

mod flight;
mod key;
mod kind;
mod said;
mod sends;
mod shares;
mod stamp;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use quick_cache::sync::Cache as Store;
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use flight::{Flight, Outcome};
use sends::Sends;
use shares::{Claim, Shares};
use stamp::Stamp;

pub(crate) use flight::End;
pub(crate) use key::Key;
pub(crate) use kind::Kind;
pub(crate) use said::{Said, is_plain_id};
pub(crate) use sends::Sending;
pub(crate) use stamp::Question;

/// Parts of the store, each under a lock of its own. The largest answer that is kept fits a part.
const PARTS: usize = 4;
/// An answer larger than this part of the store is not kept.
const LARGEST: usize = 16;
/// One account's answers have this part of the store.
const SHARE: usize = 4;
/// What an entry takes up besides its bytes, about.
const OVERHEAD_BYTES: usize = 256;

/// What is remembered in this process.
pub(crate) struct Cache {
    store: Store<Key, Arc<Kept>, Weight>,
    shares: Arc<Shares>,
    flights: Mutex<HashMap<Key, Arc<Flight>>>,
    pub(crate) sends: Sends,
    /// Counts reloads: what was asked before one is not given after it.
    era: AtomicU64,
}

/// An answer that is kept.
struct Kept {
    said: Arc<Said>,
    stamp: Stamp,
    claim: Claim,
}

/// What is found.
pub(crate) enum Look {
    /// The answer.
    Known(Arc<Said>),
    /// The same read is under way.
    Join(flight::Waiting),
    /// Nobody asked: this call does.
    Lead(Lead),
}

/// Asks for others as well. Dropped without a word, they ask themselves.
pub(crate) struct Lead {
    cache: Arc<Cache>,
    key: Key,
    account: u64,
    flight: Arc<Flight>,
}

#[derive(Clone)]
struct Weight;

impl Weighter<Key, Arc<Kept>> for Weight {
    fn weight(&self, _key: &Key, kept: &Arc<Kept>) -> u64 {
        kept.claim.bytes() as u64
    }
}

impl Cache {
    /// A memory of at most `bytes`.
    pub(crate) fn new(bytes: usize) -> Arc<Cache> {
        let options = OptionsBuilder::new()
            .shards(PARTS)
            .estimated_items_capacity(bytes / 2048 + 32 * PARTS)
            .weight_capacity(bytes as u64)
            .build()
            .expect("all that has to be given is given");
        let hasher = DefaultHashBuilder::default();
        Arc::new(Cache {
            store: Store::with_options(options, Weight, hasher, Default::default()),
            shares: Arc::default(),
            flights: Mutex::default(),
            sends: Sends::default(),
            era: AtomicU64::new(0),
        })
    }

    /// Forgets all, and remembers at most `bytes` from now on.
    pub(crate) fn renew(&self, bytes: usize) {
        self.era.fetch_add(1, Ordering::SeqCst);
        self.store.clear();
        self.store.set_capacity(bytes as u64);
    }

    /// Bytes that are kept now.
    pub(crate) fn bytes(&self) -> u64 {
        self.store.weight()
    }

    /// Answers that are kept now.
    pub(crate) fn len(&self) -> usize {
        self.store.len()
    }

    /// Most bytes of an answer that is kept.
    pub(crate) fn largest(&self) -> usize {
        self.capacity() / LARGEST
    }

    /// The answer to `question`, whoever asked for it, as long as it may be given.
    pub(crate) fn known(&self, question: &Question) -> Option<Arc<Said>> {
        let era = self.era.load(Ordering::SeqCst);
        let kept = self.store.get(&question.key)?;
        kept.stamp.fits(question, era, Instant::now()).then(|| Arc::clone(&kept.said))
    }

    /// The answer, who else asks for it, or the duty to ask.
    pub(crate) fn look(self: &Arc<Cache>, question: &Question) -> Look {
        if let Some(said) = self.known(question) {
            return Look::Known(said);
        }
        let (era, now) = (self.era.load(Ordering::SeqCst), Instant::now());
        let stamp = Stamp { kind: question.kind, begun: now, tip: question.tip, era };
        let mut flights = self.flights();
        match flights.entry(question.key.clone()) {
            Entry::Occupied(under_way) if under_way.get().stamp.fits(question, era, now) => {
                Look::Join(under_way.get().join())
            }
            // One that began too early for this call goes on for those who joined it.
            other => {
                let flight = Flight::begin(stamp);
                other.insert_entry(Arc::clone(&flight));
                let (key, account) = (question.key.clone(), question.account);
                Look::Lead(Lead { cache: Arc::clone(self), key, account, flight })
            }
        }
    }

    /// Keeps an answer for the account that asked.
    fn keep(&self, key: &Key, account: u64, stamp: Stamp, said: Arc<Said>) {
        let bytes = key.len() + said.len() + OVERHEAD_BYTES;
        if said.len() > self.largest() || stamp.era != self.era.load(Ordering::SeqCst) {
            return;
        }
        let claim = self.shares.claim(account, bytes);
        while let Some(old) = self.shares.oldest_beyond(account, self.capacity() / SHARE) {
            self.store.remove_if(&old, |kept| kept.claim.account() == account);
        }
        let is_of_account =
            |key: &Key| self.store.peek(key).is_some_and(|kept| kept.claim.account() == account);
        let again = is_of_account(key);
        self.store.insert(key.clone(), Arc::new(Kept { said, stamp, claim }));
        if !again {
            self.shares.note(account, key, is_of_account);
        }
    }

    fn capacity(&self) -> usize {
        usize::try_from(self.store.capacity()).unwrap_or(usize::MAX)
    }

    fn flights(&self) -> MutexGuard<'_, HashMap<Key, Arc<Flight>>> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lead {
    /// The answer came, and is one to keep: gives it to those who wait.
    pub(crate) fn said(self, said: Said) {
        let said = Arc::new(said);
        self.cache.keep(&self.key, self.account, self.flight.stamp, Arc::clone(&said));
        self.end(Outcome::Said(said));
    }

    /// What came is not to be given to others: each asks alone.
    pub(crate) fn nothing(self) {
        self.end(Outcome::Nothing);
    }

    fn end(&self, outcome: Outcome) {
        let mut flights = self.cache.flights();
        if flights.get(&self.key).is_some_and(|flight| Arc::ptr_eq(flight, &self.flight)) {
            flights.remove(&self.key);
        }
        drop(flights);
        self.flight.end(outcome);
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        self.end(Outcome::Gone);
    }
}

#[cfg(test)]
mod tests;
