//! Accounts and keys in memory, as a request finds them.
//!
//! What a row says is replaced when it changes; what was counted stays with the account or key
//! for as long as the process lives. Invariant: once [`Table::apply`] returns, every request sees
//! what it brought.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;

use crate::bucket::Bucket;
use crate::buckets::at_server::AtServer;
use crate::lease::Lease;
use crate::plan::{Offer, chain_bits};
use crate::store::{Account, Changes, Key, Total};
use crate::tally::Tally;
use crate::{Bar, NO_PLAN, Plans, Scopes, Service, Utc};

const CHAINS: usize = chain::ALL.len();
/// A row's slot before it was looked for: of an hour that never is.
const NO_SLOT: u64 = u64::MAX;

/// Every account and key of the store.
#[derive(Debug)]
pub(crate) struct Table {
    key_by_digest: papaya::HashMap<[u8; 32], Arc<KeyEntry>, BuildHasherDefault<FirstBytes>>,
    rest: Mutex<Rest>,
}

#[derive(Debug)]
struct Rest {
    version: u64,
    plans: Plans,
    accounts: HashMap<u64, Arc<AccountEntry>>,
    keys: HashMap<u64, Arc<KeyEntry>>,
}

/// An account: what its row says and what it has used.
#[derive(Debug)]
pub(crate) struct AccountEntry {
    pub(crate) id: u64,
    pub(crate) now: ArcSwap<AccountNow>,
    pub(crate) allowances: [Allowance; 2],
}

/// What the row of an account says.
#[derive(Debug)]
pub(crate) struct AccountNow {
    pub(crate) suspended: bool,
    plans: [String; 2],
    /// The plan on each service; `None` without one, or if it is offered no more.
    pub(crate) offers: [Option<Arc<Offer>>; 2],
}

/// What an account has used of one service (decision B3). What most stores need comes first.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Allowance {
    pub(crate) bucket: Bucket,
    pub(crate) in_flight: AtomicU32,
    pub(crate) day: Tally,
    pub(crate) month: Tally,
    /// What a shared store has lent.
    pub(crate) day_lease: Lease,
    pub(crate) month_lease: Lease,
    /// What is known of its bucket where several processes have it in common.
    pub(crate) at_server: AtServer,
}

/// A key: what its row says and what it has used.
#[derive(Debug)]
pub(crate) struct KeyEntry {
    pub(crate) id: u64,
    pub(crate) account: Arc<AccountEntry>,
    pub(crate) now: ArcSwap<KeyNow>,
    /// Units of the day on the gateway.
    pub(crate) day: Tally,
    /// What a shared store has lent of it.
    pub(crate) day_lease: Lease,
    /// Hour and slot of the last row, by service and chain.
    pub(crate) slots: [[AtomicU64; CHAINS]; 2],
}

/// What the row of a key says.
#[derive(Debug)]
pub(crate) struct KeyNow {
    pub(crate) revoked: bool,
    pub(crate) expires_at: Option<Utc>,
    pub(crate) daily_cap: Option<u64>,
    pub(crate) scopes: Scopes,
    /// Bit `ordinal` is set for each chain in scope.
    pub(crate) chains: u32,
}

impl Table {
    pub(crate) fn new(plans: Plans) -> Table {
        let rest = Rest { version: 0, plans, accounts: HashMap::new(), keys: HashMap::new() };
        Table { key_by_digest: papaya::HashMap::default(), rest: Mutex::new(rest) }
    }

    /// The key of a digest.
    #[inline]
    pub(crate) fn find(&self, digest: &[u8; 32]) -> Option<Arc<KeyEntry>> {
        self.key_by_digest.pin().get(digest).cloned()
    }

    /// The store's version that this table shows.
    pub(crate) fn version(&self) -> u64 {
        self.rest().version
    }

    /// Takes changed rows in.
    pub(crate) fn apply(&self, changes: Changes) {
        let mut rest = self.rest();
        let Rest { version, plans, accounts, keys } = &mut *rest;
        for row in changes.accounts {
            let now = Arc::new(AccountNow::of(&row, plans));
            match accounts.get(&row.id) {
                Some(entry) => entry.now.store(now),
                None => drop(accounts.insert(row.id, Arc::new(AccountEntry::new(row.id, now)))),
            }
        }
        for row in changes.keys {
            let now = Arc::new(KeyNow::of(&row));
            if let Some(entry) = keys.get(&row.id) {
                entry.now.store(now);
            } else if let Some(account) = accounts.get(&row.account) {
                let entry = Arc::new(KeyEntry::new(row.id, Arc::clone(account), now));
                keys.insert(row.id, Arc::clone(&entry));
                self.key_by_digest.pin().insert(row.digest, entry);
            }
        }
        *version = changes.version;
    }

    /// Replaces the plans of all accounts.
    pub(crate) fn set_plans(&self, plans: Plans) {
        let mut rest = self.rest();
        for account in rest.accounts.values() {
            let past = account.now.load();
            let names = past.plans.clone();
            account.now.store(Arc::new(AccountNow::on(past.suspended, names, &plans)));
        }
        rest.plans = plans;
    }

    /// Tells the words what the rows of a day and of its month add up to.
    pub(crate) fn restore(
        &self,
        service: Service,
        (day, days): (u32, &[Total]),
        (month, months): (u32, &[Total]),
    ) {
        let rest = self.rest();
        for (account, units) in by_account(days) {
            if let Some(entry) = rest.accounts.get(&account) {
                entry.allowances[service.place()].day.restore(day, units);
            }
        }
        for (account, units) in by_account(months) {
            if let Some(entry) = rest.accounts.get(&account) {
                entry.allowances[service.place()].month.restore(month, units);
            }
        }
        for total in days.iter().filter(|_| service == Service::Gateway) {
            if let Some(entry) = rest.keys.get(&total.key) {
                entry.day.restore(day, total.units);
            }
        }
    }

    fn rest(&self) -> MutexGuard<'_, Rest> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn by_account(totals: &[Total]) -> HashMap<u64, u64> {
    totals.iter().fold(HashMap::new(), |mut sums, total| {
        *sums.entry(total.account).or_default() += total.units;
        sums
    })
}

impl AccountEntry {
    fn new(id: u64, now: Arc<AccountNow>) -> AccountEntry {
        AccountEntry { id, now: ArcSwap::new(now), allowances: Default::default() }
    }
}

impl AccountNow {
    fn of(row: &Account, plans: &Plans) -> AccountNow {
        let names = [row.gateway_plan.clone(), row.explorer_plan.clone()];
        AccountNow::on(row.suspended, names, plans)
    }

    fn on(suspended: bool, names: [String; 2], plans: &Plans) -> AccountNow {
        let offers = [plans.offer(&names[0]), plans.offer(&names[1])];
        AccountNow { suspended, plans: names, offers }
    }
}

impl AccountNow {
    /// Why there is no plan on a service that has none.
    pub(crate) fn bar(&self, service: Service) -> Bar {
        match self.plans[service.place()].eq_ignore_ascii_case(NO_PLAN) {
            true => Bar::NoPlan,
            false => Bar::RetiredPlan,
        }
    }
}

impl KeyEntry {
    fn new(id: u64, account: Arc<AccountEntry>, now: Arc<KeyNow>) -> KeyEntry {
        let slots = std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(NO_SLOT)));
        let (now, day) = (ArcSwap::new(now), Tally::default());
        KeyEntry { id, account, now, day, day_lease: Lease::default(), slots }
    }
}

impl KeyNow {
    fn of(row: &Key) -> KeyNow {
        let scopes = row.scopes.clone();
        let chains = Some(scopes.chains.as_slice()).filter(|chains| !chains.is_empty());
        KeyNow {
            revoked: row.revoked,
            expires_at: row.expires_at,
            daily_cap: row.daily_cap,
            chains: chain_bits(chains),
            scopes,
        }
    }
}

/// A digest is as random as a hash can be: its first bytes are the hash.
#[derive(Default)]
struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk::<8>() {
            self.0 = u64::from_le_bytes(*first);
        }
    }

    /// The length of an array, which is always the same.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}
