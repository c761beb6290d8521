//! What the command line does to a store: accounts, keys, usage.
//!
//! Works on the store whether a server runs or not and takes no lock. All functions block.
//! Invariant: what a function has changed is in the store when it returns, and the store has told
//! running servers of it.

use std::path::Path;
use std::time::Duration;

use crate::folder::Folder;
use crate::plan::NO_PLAN;
use crate::storage::Storage;
use crate::store::{Account, AccountChange, AccountRef, Key, KeyChange, NewAccount, NewKey, Store};
use crate::{ApiKey, Clock, MAX_UNITS, OpenError, Plans, Scopes, Utc};

mod error;
mod usage;
mod view;

pub use error::AdminError;
pub use usage::{HourView, ServiceUsage, UsageView};
pub use view::{AccountView, KeyView, NewKeyView};

/// Longest label of a key and name of an account, in characters.
const LONGEST_TEXT: usize = 64;

/// The administration of a store.
#[derive(Debug)]
pub struct Admin {
    folder: Folder,
    store: Box<dyn Store>,
    plans: Plans,
    clock: Clock,
}

/// What a new key is to be.
#[derive(Clone, Debug, Default)]
pub struct KeyOptions {
    /// The owner's words, at most 64 characters.
    pub label: Option<String>,
    /// Units a UTC day on the gateway through this key.
    pub daily_cap: Option<u64>,
    /// Refused from then on.
    pub expires_at: Option<Utc>,
    /// What it may be used for.
    pub scopes: Scopes,
}

impl Admin {
    /// Opens the store of a folder, making it if it is not there: [`Admin::over`] of
    /// [`Storage::embedded`].
    pub fn open(dir: &Path, plans: Plans, clock: Clock) -> Result<Admin, OpenError> {
        Ok(Admin::over(Storage::embedded(dir)?, plans, clock))
    }

    /// The administration of an open store. `plans` are those that accounts may be given.
    pub fn over(storage: Storage, plans: Plans, clock: Clock) -> Admin {
        let Storage { folder, store, .. } = storage;
        Admin { folder, store, plans, clock }
    }

    /// Whether a folder has a store already.
    pub fn is_in(dir: &Path) -> bool {
        Folder::database_in(dir).exists()
    }

    /// Adds an account; plans default to Free.
    pub fn add_account(
        &self,
        name: &str,
        gateway_plan: Option<&str>,
        explorer_plan: Option<&str>,
    ) -> Result<AccountView, AdminError> {
        if !is_name(name) {
            return Err(AdminError::Name(name.to_owned()));
        }
        let added = self.store.add_account(&NewAccount {
            name: name.to_owned(),
            gateway_plan: self.plan_name(gateway_plan.unwrap_or("Free"))?,
            explorer_plan: self.plan_name(explorer_plan.unwrap_or("Free"))?,
            created_at: self.clock.utc(),
        })?;
        Ok(added.into())
    }

    /// Gives an account other plans; an absent one stays.
    pub fn set_plans(
        &self,
        account: &str,
        gateway_plan: Option<&str>,
        explorer_plan: Option<&str>,
    ) -> Result<AccountView, AdminError> {
        let change = AccountChange {
            gateway_plan: gateway_plan.map(|name| self.plan_name(name)).transpose()?,
            explorer_plan: explorer_plan.map(|name| self.plan_name(name)).transpose()?,
            suspended: None,
        };
        self.change_account(account, &change)
    }

    /// Refuses every request of an account until it is resumed.
    pub fn suspend(&self, account: &str) -> Result<AccountView, AdminError> {
        let change = AccountChange { suspended: Some(true), ..AccountChange::default() };
        self.change_account(account, &change)
    }

    /// Ends a suspension.
    pub fn resume(&self, account: &str) -> Result<AccountView, AdminError> {
        let change = AccountChange { suspended: Some(false), ..AccountChange::default() };
        self.change_account(account, &change)
    }

    /// Every account, oldest first.
    pub fn list_accounts(&self) -> Result<Vec<AccountView>, AdminError> {
        Ok(self.store.accounts()?.into_iter().map(AccountView::from).collect())
    }

    /// Makes a key. Its characters are in the answer and nowhere else.
    pub fn add_key(&self, account: &str, options: KeyOptions) -> Result<NewKeyView, AdminError> {
        let now = self.clock.utc();
        let account = self.account(account)?.id;
        if let Some(end) = options.expires_at.filter(|end| *end <= now) {
            return Err(AdminError::Ended(end));
        }
        if options.label.as_ref().is_some_and(|label| !is_printable(label)) {
            return Err(AdminError::Label);
        }
        let characters = ApiKey::generate()?;
        let added = self.store.add_key(&NewKey {
            account,
            digest: characters.digest(),
            prefix: characters.prefix().to_owned(),
            label: options.label,
            daily_cap: checked_cap(options.daily_cap)?,
            expires_at: options.expires_at,
            scopes: options.scopes.checked()?,
            created_at: now,
        })?;
        Ok(NewKeyView::new(&added, characters))
    }

    /// Sets or lifts the daily cap of a key.
    pub fn set_cap(&self, key: &str, cap: Option<u64>) -> Result<KeyView, AdminError> {
        self.change_key(key, KeyChange::Cap(checked_cap(cap)?))
    }

    /// Refuses a key from now on, for good.
    pub fn revoke(&self, key: &str) -> Result<KeyView, AdminError> {
        self.change_key(key, KeyChange::Revoke)
    }

    /// Makes a key with the label, cap and scopes of another, which ends after the overlap.
    pub fn rotate(&self, key: &str, overlap: Duration) -> Result<NewKeyView, AdminError> {
        let now = self.clock.utc();
        let old = self.key(key)?;
        if old.revoked || old.expires_at.is_some_and(|end| end <= now) {
            return Err(AdminError::Dead(key.to_owned()));
        }
        let characters = ApiKey::generate()?;
        let new = NewKey {
            account: old.account,
            digest: characters.digest(),
            prefix: characters.prefix().to_owned(),
            label: old.label,
            daily_cap: old.daily_cap,
            expires_at: old.expires_at,
            scopes: old.scopes,
            created_at: now,
        };
        let ends_at = Utc::from_secs(now.secs().saturating_add(overlap.as_secs()));
        let added = self.store.replace_key(old.id, ends_at, &new)?;
        Ok(NewKeyView::new(&added, characters))
    }

    /// Every key of an account, oldest first, revoked ones included.
    pub fn list_keys(&self, account: &str) -> Result<Vec<KeyView>, AdminError> {
        let account = self.account(account)?;
        Ok(self.store.keys(account.id)?.into_iter().map(KeyView::from).collect())
    }

    /// Units that an account used: today, this month, and hour by hour from a time on (the first
    /// of this month unless said).
    pub fn usage(&self, account: &str, since: Option<Utc>) -> Result<UsageView, AdminError> {
        let account = self.account(account)?;
        usage::read(&self.folder, &*self.store, &account, self.clock.utc(), since)
    }

    fn account(&self, given: &str) -> Result<Account, AdminError> {
        let which = match view::number(given, "acc_") {
            Some(id) => AccountRef::Id(id),
            None => AccountRef::Name(given.to_owned()),
        };
        self.store.account(&which)?.ok_or_else(|| AdminError::NoAccount(given.to_owned()))
    }

    fn key(&self, given: &str) -> Result<Key, AdminError> {
        let none = || AdminError::NoKey(hide(given));
        let id = view::number(given, "key_").ok_or_else(none)?;
        self.store.key(id)?.ok_or_else(none)
    }

    fn change_account(
        &self,
        given: &str,
        change: &AccountChange,
    ) -> Result<AccountView, AdminError> {
        let account = self.account(given)?;
        let changed = self.store.change_account(account.id, change)?;
        changed.map(AccountView::from).ok_or_else(|| AdminError::NoAccount(given.to_owned()))
    }

    fn change_key(&self, given: &str, change: KeyChange) -> Result<KeyView, AdminError> {
        let key = self.key(given)?;
        let changed = self.store.change_key(key.id, &change)?;
        changed.map(KeyView::from).ok_or_else(|| AdminError::NoKey(given.to_owned()))
    }

    /// The plan's name as it is written where it is defined.
    fn plan_name(&self, given: &str) -> Result<String, AdminError> {
        if given.eq_ignore_ascii_case(NO_PLAN) {
            return Ok(NO_PLAN.to_owned());
        }
        self.plans.find(given).map(|plan| plan.name.clone()).ok_or_else(|| {
            let known: Vec<&str> = self.plans.iter().map(|plan| plan.name.as_str()).collect();
            AdminError::NoPlan { given: given.to_owned(), known: known.join(", ") }
        })
    }
}

/// A whole key given for a key's id is not repeated in an error text.
fn hide(given: &str) -> String {
    match given.starts_with("ptl_") {
        true => "ptl_…".to_owned(),
        false => given.to_owned(),
    }
}

fn checked_cap(cap: Option<u64>) -> Result<Option<u64>, AdminError> {
    match cap {
        Some(units) if !(1..=MAX_UNITS).contains(&units) => Err(AdminError::Cap(units)),
        cap => Ok(cap),
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && is_printable(name) && name.trim() == name && !name.starts_with("acc_")
}

fn is_printable(text: &str) -> bool {
    text.chars().count() <= LONGEST_TEXT && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests;
