//! The store that an administration command works on, and saying which that was.
//!
//! Leaves what is done with it to the commands. Invariants: nothing but `account add` makes a store;
//! none is made in a folder that has neither a configuration nor a store, unless that was asked for:
//! no server would know its keys.

use std::path::Path;

use meter::{Admin, Clock};
use serde::Serialize;

use super::output::{Output, complain};
use crate::config::{Config, DEFAULT_FILE};
use crate::failure::Failure;

/// How a command comes to its store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whereabouts {
    /// A configuration was named, found, or given by the environment.
    pub(crate) configured: bool,
    /// A store may be made although nothing is configured.
    pub(crate) create: bool,
}

impl Whereabouts {
    /// Of the words of a command line: the file it names, and the variables that concern us.
    pub(crate) fn of(named: Option<&Path>, variables: &[(String, String)], create: bool) -> Self {
        let ours = ["PORTOLAN__STORE__DIR", "PORTOLAN__STORE__ACCOUNTS"];
        let is_ours = |name: &str| ours.iter().any(|ours| name.eq_ignore_ascii_case(ours));
        let said = variables.iter().any(|(name, _)| is_ours(name));
        let configured = named.is_some() || said || Path::new(DEFAULT_FILE).exists();
        Whereabouts { configured, create }
    }
}

/// An open store.
pub(crate) struct Opened {
    pub(crate) admin: Admin,
    store: String,
    store_made: bool,
}

/// What a command changed or read, and in which store.
#[derive(Serialize)]
pub(crate) struct Changed<T> {
    #[serde(flatten)]
    pub(crate) what: T,
    /// The folder of the store, or the address of its database.
    store: String,
    /// It was not there before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    store_made: bool,
}

/// Opens the store that the configuration names, and makes it where it is not there.
///
/// # Errors
/// It cannot be opened, or there is nothing that says that it should be made.
pub(crate) fn open_or_make(config: &Config, whereabouts: Whereabouts) -> Result<Opened, Failure> {
    let dir = &config.store.dir;
    let store_made = config.store.accounts.is_none() && !Admin::is_in(dir);
    if store_made && !whereabouts.configured && !whereabouts.create {
        return Err(nowhere(config));
    }
    let admin = Admin::over(config.store.open()?, config.plans(), Clock::system());
    Ok(Opened { admin, store: config.store.place(), store_made })
}

/// Opens the store that the configuration names, which must be there.
///
/// # Errors
/// It cannot be opened, or is not there.
pub(crate) fn open(config: &Config, whereabouts: Whereabouts) -> Result<Opened, Failure> {
    let Some(storage) = config.store.open_found()? else {
        if !whereabouts.configured {
            return Err(nowhere(config));
        }
        let store = config.store.place();
        let text =
            format!("there is no store in {store} yet: `portolan account add NAME` makes it");
        return Err(Failure::new(text));
    };
    let admin = Admin::over(storage, config.plans(), Clock::system());
    Ok(Opened { admin, store: config.store.place(), store_made: false })
}

/// Nothing says where a store should be.
fn nowhere(config: &Config) -> Failure {
    Failure::new(format!(
        "neither {DEFAULT_FILE} nor a store ({}) is in this folder, so no server would know what \
         this makes: name the configuration with -c FILE, or let `account add` make a store with \
         --create-store",
        config.store.dir.display()
    ))
}

impl Opened {
    /// Says in which store something was changed or read.
    pub(crate) fn changed<T>(&self, what: T) -> Changed<T> {
        Changed { what, store: self.store.clone(), store_made: self.store_made }
    }

    /// Prints a list and says in which store it was read; with `--json` on standard error, for a
    /// list has no place for it.
    pub(crate) fn list<T: Serialize>(
        &self,
        list: &[T],
        people: impl FnOnce(&[T]) -> String,
        output: Output,
    ) -> Result<(), Failure> {
        output.print(&list, |list| self.changed(()).told(&people(list)))?;
        if output.json {
            complain(&format!("Store: {}", self.store));
        }
        Ok(())
    }
}

impl<T> Changed<T> {
    /// A line for people below what was changed or read.
    pub(crate) fn told(&self, what: &str) -> String {
        let made = if self.store_made { " (new)" } else { "" };
        format!("{}\nStore: {}{made}\n", what.trim_end(), self.store)
    }
}
