//! `portolan key`: the API keys of an account.

use std::time::Duration;

use clap::Subcommand;
use jiff::Timestamp;
use meter::{KeyOptions, KeyView, NewKeyView, Scopes, Utc};

use super::output::{Output, number, table};
use super::store::{Changed, Whereabouts, open};
use super::time;
use crate::config::{Config, nearest};
use crate::failure::Failure;

/// `portolan key …`.
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Make a key and show it, this once
    #[command(
        after_help = "Examples:\n  portolan key add lab\n  portolan key add lab --label ci --daily-cap 10000 --expires 90d\n  portolan key add shop --chains btc,ltc --methods getblockcount,sendrawtransaction\n  portolan key add shop --networks 203.0.113.0/24 --origins https://shop.example\n\nOnly its SHA-256 is stored; a lost key cannot be shown again, but rotated."
    )]
    Add {
        /// Name or id of the account
        account: String,
        /// A word to know it by
        #[arg(long)]
        label: Option<String>,
        /// Units a UTC day on the gateway [default: no cap]
        #[arg(long, value_name = "N")]
        daily_cap: Option<u64>,
        /// When it ends: 2027-01-31, 2027-01-31T12:00:00Z, or 90d from now [default: never]
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
        /// The only chains it may use, with commas [default: those of the plan]
        #[arg(long, value_delimiter = ',', value_name = "CHAIN")]
        chains: Vec<String>,
        /// The only methods it may call, with commas [default: those of the chain]
        #[arg(long, value_delimiter = ',', value_name = "METHOD")]
        methods: Vec<String>,
        /// The only networks it may be used from, with commas [default: any]
        #[arg(long, value_delimiter = ',', value_name = "CIDR")]
        networks: Vec<ipnet::IpNet>,
        /// The only web pages it may be used from, with commas [default: any]
        #[arg(long, value_delimiter = ',', value_name = "ORIGIN")]
        origins: Vec<String>,
    },
    /// Set or lift the daily cap of a key; in force within a second
    #[command(
        after_help = "Examples:\n  portolan key cap key_3 50000\n  portolan key cap key_3 none"
    )]
    Cap {
        /// Id of the key
        key_id: String,
        /// Units a UTC day, or "none"
        #[arg(value_name = "N|none", value_parser = cap)]
        cap: self::Cap,
    },
    /// Refuse a key with KEY_REVOKED from now on; in force within a second
    Revoke {
        /// Id of the key
        key_id: String,
    },
    /// Make a new key like this one, and end the old one after an overlap
    #[command(
        after_help = "Example:\n  portolan key rotate key_3 --overlap 24h\n\nLabel, cap and scopes are those of the old key. Both work during the overlap."
    )]
    Rotate {
        /// Id of the key
        key_id: String,
        /// How long the old key works on, such as 24h, 7d, 0s
        #[arg(long, value_name = "TIME", default_value = "24h")]
        overlap: String,
    },
    /// List the keys of an account, without the keys themselves
    List {
        /// Name or id of the account
        account: String,
    },
}

/// A daily cap, or none.
// An own name, because the parser would take a bare `Option` for a word that may be left out.
pub type Cap = Option<u64>;

fn cap(text: &str) -> Result<Cap, String> {
    match text {
        "none" => Ok(None),
        units => units.parse().map(Some).map_err(|_| "expected a number or \"none\"".into()),
    }
}

/// Carries out a key command on the store.
pub(crate) fn run(
    config: &Config,
    whereabouts: Whereabouts,
    command: &KeyCommand,
    output: Output,
) -> Result<(), Failure> {
    // What makes no sense makes no store.
    known(config, command)?;
    let (options, overlap) = (options(command)?, overlap(command)?);
    let opened = open(config, whereabouts)?;
    let admin = &opened.admin;
    let changed = match command {
        KeyCommand::Add { account, .. } => {
            let made = opened.changed(admin.add_key(account, options)?);
            return Ok(output.print(&made, new)?);
        }
        KeyCommand::Rotate { key_id, .. } => {
            let made = opened.changed(admin.rotate(key_id, overlap)?);
            return Ok(output.print(&made, new)?);
        }
        KeyCommand::List { account } => {
            return opened.list(&admin.list_keys(account)?, people, output);
        }
        KeyCommand::Cap { key_id, cap } => admin.set_cap(key_id, *cap)?,
        KeyCommand::Revoke { key_id } => admin.revoke(key_id)?,
    };
    let told = |one: &Changed<KeyView>| one.told(&people(std::slice::from_ref(&one.what)));
    Ok(output.print(&opened.changed(changed), told)?)
}

/// Are the chains and methods of `key add` ones that exist, on the chains that it names or else on
/// any? Methods that the operator offers besides (`extra_methods`) do.
fn known(config: &Config, command: &KeyCommand) -> Result<(), Failure> {
    let KeyCommand::Add { chains, methods, .. } = command else { return Ok(()) };
    if let Some(slug) = chains.iter().find(|slug| chain::find(slug).is_none()) {
        let slugs = chain::ALL.iter().map(|chain| chain.slug);
        return Err(Failure::misunderstood(format!("--chains: {}", nearest("chain", slug, slugs))));
    }
    let in_scope = |slug: &str| chains.is_empty() || chains.iter().any(|one| one == slug);
    let all = chain::ALL.iter().filter(|chain| in_scope(chain.slug));
    let mut names: Vec<&str> = all.flat_map(|it| it.methods().iter().map(|it| it.name)).collect();
    let extra = config.chain.iter().filter(|(slug, _)| in_scope(slug));
    names.extend(extra.flat_map(|(_, chain)| chain.extra_methods.iter().map(String::as_str)));
    match methods.iter().find(|method| !names.contains(&method.as_str())) {
        Some(odd) => {
            let text = format!("--methods: {}", nearest("method", odd, names));
            Err(Failure::misunderstood(text))
        }
        None => Ok(()),
    }
}

/// How long the old key works on after `key rotate`.
fn overlap(command: &KeyCommand) -> Result<Duration, Failure> {
    let KeyCommand::Rotate { overlap, .. } = command else { return Ok(Duration::ZERO) };
    let overlap = time::span(overlap).map_err(Failure::misunderstood)?;
    Duration::try_from(overlap).map_err(|error| Failure::misunderstood(error.to_string()))
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
    let secs = moment.map_err(Failure::misunderstood)?.as_second();
    u64::try_from(secs)
        .map(Utc::from_secs)
        .map_err(|_| Failure::misunderstood("times before 1970 are not known"))
}

fn new(made: &Changed<NewKeyView>) -> String {
    let key = &made.what;
    made.told(&format!(
        "{}  {}\nKeep it now: only its hash is stored, and it is never shown again.",
        key.id,
        key.key.reveal()
    ))
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
