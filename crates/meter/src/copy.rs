//! Moving a store from one database to another, in either direction.
//!
//! While it is copied nobody counts for either of the two. What the usage files of the source still
//! had is recorded first; the identity is carried along, so that they go on with the copy. Invariants:
//! a copy goes into an empty store and is there as a whole or not at all; it is told to be right only
//! after every row of both was read again and held against the other's.

use serde::Serialize;

use crate::folder::Lock;
use crate::ledger::Ledger;
use crate::storage::Storage;
use crate::store::{Head, Store, StoreError, StoredRow};
use crate::{Clock, OpenError, Service};

/// Rows of usage that are read at once.
const PAGE: u32 = 4096;

/// What was copied, as both stores have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Copied {
    /// Accounts.
    pub accounts: usize,
    /// Keys, revoked ones included.
    pub keys: usize,
    /// Rows of usage.
    pub usage_rows: u64,
    /// Units of the gateway over all rows.
    pub gateway_units: u64,
    /// Units of the explorer over all rows.
    pub explorer_units: u64,
}

/// Why a store is not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// A store cannot be taken.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A store says no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There are damaged rows.
    #[error("the source is damaged ({0}): restore it from a backup, then copy")]
    Damaged(String),
    /// The copy is not what was copied.
    #[error(
        "{0} differ between the two after copying: something changed the source meanwhile, or \
         one of the databases is damaged; do not use the copy"
    )]
    Differs(&'static str),
}

/// What keeps others from counting while a store is copied.
#[derive(Default)]
struct Taken {
    _ledgers: Vec<Ledger>,
    _locks: Vec<Lock>,
}

/// Copies everything from one store into another, empty one, and proves that both agree. Blocks.
pub fn copy(from: &Storage, to: &Storage, clock: &Clock) -> Result<Copied, CopyError> {
    let _source = take_source(from, clock)?;
    let _target = take_target(from, to)?;
    let head = whole_head(&*from.store)?;
    let mut last: Option<StoredRow> = None;
    let mut pages = || {
        let page = from.store.stored(last.as_ref(), PAGE)?;
        last = page.last().cloned();
        Ok(match last {
            Some(_) => page,
            None => Vec::new(),
        })
    };
    to.store.fill(&head, &mut pages)?;
    proven(&*from.store, &*to.store, &head)
}

/// Holds both services of the source, and records what its usage files have.
fn take_source(from: &Storage, clock: &Clock) -> Result<Taken, CopyError> {
    let Storage { folder, store, .. } = from;
    let mut taken = Taken::default();
    for service in Service::ALL {
        match open_ledger(from, service, clock)? {
            Some(ledger) => {
                // What there is no room for would be missing in the copy.
                ledger.record(&**store, clock.now())?;
                taken._ledgers.push(ledger);
            }
            None => taken._locks.push(folder.lock(service)?),
        }
        store.hold_alone(service)?;
    }
    Ok(taken)
}

/// The ledger of a service, where this machine has counted for this store.
fn open_ledger(
    Storage { folder, store, .. }: &Storage,
    service: Service,
    clock: &Clock,
) -> Result<Option<Ledger>, OpenError> {
    if !folder.usage(service).exists() {
        return Ok(None);
    }
    match Ledger::open(folder, service, &**store, clock.now()) {
        Ok(ledger) => Ok(Some(ledger)),
        // What it counted for another store is nothing to this one.
        Err(OpenError::Foreign { .. }) if store.is_shared() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Holds both services of the target. Its folder may be the source's.
fn take_target(from: &Storage, to: &Storage) -> Result<Taken, CopyError> {
    let mut taken = Taken::default();
    for service in Service::ALL {
        if to.folder.path() != from.folder.path() {
            taken._locks.push(to.folder.lock(service)?);
        }
        to.store.hold_alone(service)?;
    }
    Ok(taken)
}

fn whole_head(store: &dyn Store) -> Result<Head, CopyError> {
    let changes = store.changes_after(0)?;
    if !changes.damaged.is_empty() {
        return Err(CopyError::Damaged(changes.damaged.join("; ")));
    }
    let identity = store.identity()?;
    let (version, accounts, keys) = (changes.version, changes.accounts, changes.keys);
    Ok(Head { identity, version, accounts, keys })
}

/// Reads both stores again, row by row.
fn proven(from: &dyn Store, to: &dyn Store, head: &Head) -> Result<Copied, CopyError> {
    if whole_head(from)? != *head || whole_head(to)? != *head {
        return Err(CopyError::Differs("accounts or keys"));
    }
    let mut copied =
        Copied { accounts: head.accounts.len(), keys: head.keys.len(), ..Copied::default() };
    let mut last: Option<StoredRow> = None;
    loop {
        let page = from.stored(last.as_ref(), PAGE)?;
        if page != to.stored(last.as_ref(), PAGE)? {
            return Err(CopyError::Differs("rows of usage"));
        }
        let Some(end) = page.last() else { return Ok(copied) };
        last = Some(end.clone());
        copied.usage_rows += page.len() as u64;
        for row in &page {
            let sum = match Service::from_name(&row.service) {
                Some(Service::Gateway) => &mut copied.gateway_units,
                Some(Service::Explorer) => &mut copied.explorer_units,
                None => continue,
            };
            *sum = sum.saturating_add(row.units.cast_unsigned());
        }
    }
}
