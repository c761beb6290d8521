//! `portolan store copy`: moves accounts, keys and usage from one database to another.
//!
//! Leaves the copying, and the proof that it is right, to `meter`. Invariant: a password that the
//! configuration has for its own PostgreSQL goes to no other.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use meter::{Admin, Clock, Copied, PostgresAddress, Storage};
use serde::Serialize;

use super::output::{Output, number};
use crate::config::Config;
use crate::failure::Failure;

/// `portolan store …`.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Copy accounts, keys and usage between a folder and a PostgreSQL, either way
    #[command(
        after_help = "Examples:\n  portolan store copy --from data --to postgres://portolan@db.example/portolan --password-file pw\n  portolan store copy --from postgres://portolan@db.example/portolan --to data2\n\nStop the servers of both first. The target must be empty. Every row is read again on both sides;\nthe exit code is 1 if they differ. What PostgreSQL asks for is taken from [store] where the\naddress is that of the configuration."
    )]
    Copy {
        /// The store as it is: a folder, or postgres://user@host/database
        #[arg(long, value_name = "STORE")]
        from: String,
        /// The store to be, empty: a folder, or postgres://user@host/database
        #[arg(long, value_name = "STORE")]
        to: String,
        /// A file with the password of PostgreSQL
        #[arg(long, value_name = "FILE")]
        password_file: Option<PathBuf>,
        /// A file with the authorities that its certificate may come from, PEM
        #[arg(long, value_name = "FILE")]
        ca: Option<PathBuf>,
    },
}

/// What was copied, and where that was.
#[derive(Serialize)]
struct Told<'a> {
    from: &'a str,
    to: &'a str,
    #[serde(flatten)]
    copied: Copied,
}

/// Copies one store into another one.
pub(crate) fn run(config: &Config, command: &StoreCommand, output: Output) -> Result<(), Failure> {
    let StoreCommand::Copy { from, to, password_file, ca } = command;
    let files = (password_file.as_deref(), ca.as_deref());
    if !PostgresAddress::looks_like(from) && !Admin::is_in(Path::new(from)) {
        return Err(Failure::new(format!("--from {from}: there is no store in this folder")));
    }
    let source = open(config, "--from", from, files)?;
    let target = open(config, "--to", to, files)?;
    let copied = meter::copy(&source, &target, &Clock::system())?;
    Ok(output.print(&Told { from, to, copied }, people)?)
}

fn open(
    config: &Config,
    option: &str,
    place: &str,
    (password_file, ca): (Option<&Path>, Option<&Path>),
) -> Result<Storage, Failure> {
    if !PostgresAddress::looks_like(place) {
        return Ok(Storage::embedded(Path::new(place))?);
    }
    let own = Some(&config.store).filter(|store| store.accounts.as_deref() == Some(place));
    let password_file =
        password_file.or_else(|| own.and_then(|store| store.accounts_password_file.as_deref()));
    let ca = ca.or_else(|| own.and_then(|store| store.accounts_ca.as_deref()));
    let address = PostgresAddress::new(place, password_file, ca)
        .map_err(|error| Failure::misunderstood(format!("{option} {error}")))?;
    Ok(Storage::postgres(&config.store.dir, address)?)
}

fn people(told: &Told<'_>) -> String {
    let Copied { accounts, keys, usage_rows, gateway_units, explorer_units } = told.copied;
    let count = |count: usize| number(u64::try_from(count).ok());
    format!(
        "Copied {} accounts, {} keys, {} rows of usage\nfrom {}\nto   {}\nEvery row was read again \
         on both sides. Units of the gateway: {}, of the explorer: {}.",
        count(accounts),
        count(keys),
        number(Some(usage_rows)),
        told.from,
        told.to,
        number(Some(gateway_units)),
        number(Some(explorer_units)),
    )
}
