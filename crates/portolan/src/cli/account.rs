//! `portolan account`: who may use the services, on which plan.

use meter::{AccountView, NO_PLAN, Plans};
use serde::Serialize;

use super::AccountCommand;
use super::output::{Output, table};
use super::store::{Changed, Whereabouts, open, open_or_make};
use crate::config::Config;
use crate::failure::Failure;

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
