//! `portolan account`: who may use the services, on which plan.

use meter::{AccountView, Admin, Clock};

use super::AccountCommand;
use super::output::{Output, table};
use crate::config::Config;
use crate::failure::Failure;

/// Carries out an account command on the store.
pub(crate) fn run(
    config: &Config,
    command: &AccountCommand,
    output: Output,
) -> Result<(), Failure> {
    let admin = open(config)?;
    let changed = match command {
        AccountCommand::Add { name, gateway_plan, explorer_plan } => {
            admin.add_account(name, Some(gateway_plan), Some(explorer_plan))?
        }
        AccountCommand::Plan { account, gateway_plan, explorer_plan } => {
            admin.set_plans(account, gateway_plan.as_deref(), explorer_plan.as_deref())?
        }
        AccountCommand::Suspend { account } => admin.suspend(account)?,
        AccountCommand::Resume { account } => admin.resume(account)?,
        AccountCommand::List => {
            return Ok(output.print(&admin.list_accounts()?, |all| people(all))?);
        }
    };
    Ok(output.print(&changed, |one| people(std::slice::from_ref(one)))?)
}

/// Opens the store that the configuration names.
pub(crate) fn open(config: &Config) -> Result<Admin, Failure> {
    Ok(Admin::open(&config.store.dir, config.plans(), Clock::system())?)
}

fn people(accounts: &[AccountView]) -> String {
    if accounts.is_empty() {
        return "no account yet; add one with: portolan account add NAME".into();
    }
    let row = |account: &AccountView| {
        vec![
            account.id.clone(),
            account.name.clone(),
            account.gateway_plan.clone(),
            account.explorer_plan.clone(),
            if account.suspended { "suspended" } else { "active" }.into(),
            account.created_at.to_string(),
        ]
    };
    let head = ["id", "name", "gateway plan", "explorer plan", "state", "created"];
    table(&head, &accounts.iter().map(row).collect::<Vec<_>>())
}
