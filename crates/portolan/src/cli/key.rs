//! `portolan key`: the API keys of an account.

use std::time::Duration;

use jiff::Timestamp;
use meter::{KeyOptions, KeyView, NewKeyView, Scopes, Utc};

use super::account::open;
use super::output::{Output, number, table};
use super::{KeyCommand, time};
use crate::config::Config;
use crate::failure::Failure;

/// Carries out a key command on the store.
pub(crate) fn run(config: &Config, command: &KeyCommand, output: Output) -> Result<(), Failure> {
    let admin = open(config)?;
    let changed = match command {
        KeyCommand::Add { account, .. } => {
            return Ok(output.print(&admin.add_key(account, options(command)?)?, new)?);
        }
        KeyCommand::Rotate { key_id, overlap } => {
            let overlap = time::span(overlap).map_err(Failure::new)?;
            let overlap = Duration::try_from(overlap)?;
            return Ok(output.print(&admin.rotate(key_id, overlap)?, new)?);
        }
        KeyCommand::List { account } => {
            return Ok(output.print(&admin.list_keys(account)?, |all| people(all))?);
        }
        KeyCommand::Cap { key_id, cap } => admin.set_cap(key_id, *cap)?,
        KeyCommand::Revoke { key_id } => admin.revoke(key_id)?,
    };
    Ok(output.print(&changed, |one| people(std::slice::from_ref(one)))?)
}

/// What `key add` asks for.
fn options(command: &KeyCommand) -> Result<KeyOptions, Failure> {
    let KeyCommand::Add { label, daily_cap, expires, chains, methods, networks, origins, .. } =
        command
    else {
        return Ok(KeyOptions::default());
    };
    let expires_at = match expires {
        Some(text) => Some(utc(time::moment_after(text, Timestamp::now()))?),
        None => None,
    };
    Ok(KeyOptions {
        label: label.clone(),
        daily_cap: *daily_cap,
        expires_at,
        scopes: Scopes {
            chains: chains.clone(),
            methods: methods.clone(),
            networks: networks.clone(),
            origins: origins.clone(),
        },
    })
}

/// The moment in the store's own type.
pub(crate) fn utc(moment: Result<Timestamp, String>) -> Result<Utc, Failure> {
    let secs = moment.map_err(Failure::new)?.as_second();
    u64::try_from(secs)
        .map(Utc::from_secs)
        .map_err(|_| Failure::new("times before 1970 are not known"))
}

fn new(key: &NewKeyView) -> String {
    format!(
        "{}  {}\nKeep it now: only its hash is stored, and it is never shown again.",
        key.id,
        key.key.reveal()
    )
}

fn people(keys: &[KeyView]) -> String {
    if keys.is_empty() {
        return "no key yet; make one with: portolan key add ACCOUNT".into();
    }
    let row = |key: &KeyView| {
        vec![
            key.id.clone(),
            format!("{}…", key.prefix),
            key.label.clone().unwrap_or_else(|| "-".into()),
            number(key.daily_cap),
            if key.revoked { "revoked" } else { "active" }.into(),
            key.expires_at.map_or_else(|| "never".into(), |end| end.to_string()),
            scopes(&key.scopes),
        ]
    };
    let head = ["id", "begins", "label", "daily cap", "state", "ends", "scopes"];
    table(&head, &keys.iter().map(row).collect::<Vec<_>>())
}

fn scopes(scopes: &Scopes) -> String {
    let networks: Vec<String> = scopes.networks.iter().map(ToString::to_string).collect();
    let parts: Vec<String> = [
        ("chains", &scopes.chains),
        ("methods", &scopes.methods),
        ("networks", &networks),
        ("origins", &scopes.origins),
    ]
    .into_iter()
    .filter(|(_, names)| !names.is_empty())
    .map(|(kind, names)| format!("{kind}={}", names.join(",")))
    .collect();
    if parts.is_empty() { "-".into() } else { parts.join(" ") }
}
