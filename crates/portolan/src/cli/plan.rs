//! `portolan plan`: every plan with its numbers.

use clap::Subcommand;
use meter::Plan;

use super::output::{Output, number, table};
use crate::config::Config;
use crate::failure::Failure;

/// `portolan plan …`.
#[derive(Debug, Subcommand)]
pub enum PlanCommand {
    /// List every plan with its numbers
    List,
}

/// Prints the plans of the configuration; the store is not asked.
pub(crate) fn run(config: &Config, command: &PlanCommand, output: Output) -> Result<(), Failure> {
    let PlanCommand::List = command;
    let plans = config.plans();
    let plans: Vec<&Plan> = plans.iter().collect();
    Ok(output.print(&plans, |plans| people(plans))?)
}

fn people(plans: &[&Plan]) -> String {
    let row = |plan: &&Plan| {
        vec![
            plan.name.clone(),
            plan.price_usd.map_or_else(|| "-".into(), |price| price.to_string()),
            plan.requests_per_second.to_string(),
            number(plan.daily),
            number(plan.monthly),
            plan.batch_size.to_string(),
            plan.concurrency.to_string(),
            plan.chains.as_ref().map_or_else(|| "all".into(), |chains| chains.join(",")),
        ]
    };
    let head =
        ["plan", "usd/month", "per second", "daily", "monthly", "batch", "in flight", "chains"];
    table(&head, &plans.iter().map(row).collect::<Vec<_>>())
}
