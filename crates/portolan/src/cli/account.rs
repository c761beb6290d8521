//! `portolan account`: who may use the services, on which plan.

use clap::Subcommand;
use meter::{AccountView, NO_PLAN, Plans};
use serde::Serialize;

use super::output::{Output, table};
use super::store::{Changed, Whereabouts, open, open_or_make};
use crate::config::Config;
use crate::failure::Failure;

/// `portolan account …`.
#[derive(Debug, Subcommand)]
pub enum AccountCommand {
    /// Add an account
    #[command(
        after_help = "Examples:\n  portolan account add lab\n  portolan account add shop --gateway-plan Pro --explorer-plan none\n\nA plan is one of `portolan plan list`, or \"none\" for no access."
    )]
    Add {
        /// Its name: unique, 1 to 64 characters, not like an id
        name: String,
        /// Plan on the gateway
        #[arg(long, value_name = "PLAN", default_value = "Free")]
        gateway_plan: String,
        /// Plan on the explorer
        #[arg(long, value_name = "PLAN", default_value = "Free")]
        explorer_plan: String,
        /// Make a new store where neither a configuration nor a store is
        #[arg(long)]
        create_store: bool,
    },
    /// Change the plans of an account; in force within a second
    #[command(after_help = "Example:\n  portolan account plan lab --gateway-plan Pro")]
    Plan {
        /// Name or id
        account: String,
        /// New plan on the gateway [default: unchanged]
        #[arg(long, value_name = "PLAN", required_unless_present = "explorer_plan")]
        gateway_plan: Option<String>,
        /// New plan on the explorer [default: unchanged]
        #[arg(long, value_name = "PLAN")]
        explorer_plan: Option<String>,
    },
    /// Refuse all keys of an account with ACCOUNT_SUSPENDED; in force within a second
    Suspend {
        /// Name or id
        account: String,
    },
    /// Serve a suspended account again
    Resume {
        /// Name or id
        account: String,
    },
    /// List all accounts
    List,
}

/// Carries out an account command on the store.
pub(crate) fn run(
    config: &Config,
    whereabouts: Whereabouts,
    command: &AccountCommand,
    output: Output,
) -> Result<(), Failure> {
    let opened = match command {
        AccountCommand::Add { .. } => open_or_make(config, whereabouts)?,
        _ => open(config, whereabouts)?,
    };
    let (admin, plans) = (&opened.admin, config.plans());
    let changed = match command {
        AccountCommand::Add { name, gateway_plan, explorer_plan, .. } => {
            admin.add_account(name, Some(gateway_plan), Some(explorer_plan))?
        }
        AccountCommand::Plan { account, gateway_plan, explorer_plan } => {
            admin.set_plans(account, gateway_plan.as_deref(), explorer_plan.as_deref())?
        }
        AccountCommand::Suspend { account } => admin.suspend(account)?,
        AccountCommand::Resume { account } => admin.resume(account)?,
        AccountCommand::List => {
            let all = admin.list_accounts()?;
            let all: Vec<Shown> = all.into_iter().map(|one| Shown::of(one, &plans)).collect();
            return opened.list(&all, people, output);
        }
    };
    let changed = opened.changed(Shown::of(changed, &plans));
    let told = |one: &Changed<Shown>| one.told(&people(std::slice::from_ref(&one.what)));
    Ok(output.print(&changed, told)?)
}

/// An account, and which of its plans the configuration has no longer.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    account: AccountView,
    /// Such a plan is PLAN_UNAVAILABLE on the gateway (decision B16).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    plans_not_configured: Vec<String>,
}

impl Shown {
    fn of(account: AccountView, plans: &Plans) -> Shown {
        let gone = |name: &&String| *name != NO_PLAN && plans.find(name).is_none();
        let mut plans_not_configured: Vec<String> = [&account.gateway_plan, &account.explorer_plan]
            .into_iter()
            .filter(gone)
            .cloned()
            .collect();
        plans_not_configured.dedup();
        Shown { account, plans_not_configured }
    }

    /// A plan's name for people.
    fn plan(&self, name: &String) -> String {
        let mark = if self.plans_not_configured.contains(name) { " (not configured)" } else { "" };
        format!("{name}{mark}")
    }
}

fn people(accounts: &[Shown]) -> String {
    if accounts.is_empty() {
        return "no account yet; add one with: portolan account add NAME".into();
    }
    let row = |shown: &Shown| {
        let account = &shown.account;
        vec![
            account.id.clone(),
            account.name.clone(),
            shown.plan(&account.gateway_plan),
            shown.plan(&account.explorer_plan),
            if account.suspended { "suspended" } else { "active" }.into(),
            account.created_at.to_string(),
        ]
    };
    let head = ["id", "name", "gateway plan", "explorer plan", "state", "created"];
    table(&head, &accounts.iter().map(row).collect::<Vec<_>>())
}
