//! `portolan usage`: what an account used.

use clap::Args;
use jiff::Timestamp;
use meter::{HourView, ServiceUsage, UsageView};

use super::key::utc;
use super::output::{Output, number, table};
use super::store::{Whereabouts, open};
use super::time;
use crate::config::Config;
use crate::failure::Failure;

/// `portolan usage`.
#[derive(Debug, Args)]
pub struct UsageArgs {
    /// Name or id of the account
    pub account: String,
    /// Show the hours from then on: 2026-11-01, 2026-11-01T12:00:00Z, or 24h ago
    /// [default: the first of this month]
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
}

/// Prints the units of an account, as its quotas count them.
pub(crate) fn run(
    config: &Config,
    whereabouts: Whereabouts,
    args: &UsageArgs,
    output: Output,
) -> Result<(), Failure> {
    let since = match &args.since {
        Some(text) => Some(utc(time::moment_before(text, Timestamp::now()))?),
        None => None,
    };
    let opened = open(config, whereabouts)?;
    let usage = opened.changed(opened.admin.usage(&args.account, since)?);
    Ok(output.print(&usage, |usage| usage.told(&people(&usage.what)))?)
}

fn people(usage: &UsageView) -> String {
    let row = |name: &str, used: &ServiceUsage| {
        vec![name.to_owned(), number(Some(used.today)), number(Some(used.month))]
    };
    let sums = [row("gateway", &usage.gateway), row("explorer", &usage.explorer)];
    let sums = table(&["units", "today", "this month"], &sums);
    if usage.hours.is_empty() {
        return sums;
    }
    let row = |hour: &HourView| {
        vec![
            hour.hour.to_string(),
            hour.service.to_owned(),
            hour.key.clone(),
            hour.chain.clone(),
            number(Some(hour.units)),
        ]
    };
    let rows: Vec<_> = usage.hours.iter().map(row).collect();
    format!("{sums}\n{}", table(&["hour (UTC)", "service", "key", "chain", "units"], &rows))
}
