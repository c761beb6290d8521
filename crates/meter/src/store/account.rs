//! An account as a store keeps it, and what may be done to it.

use crate::Utc;

/// An account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Number, never used again.
    pub id: u64,
    /// Unique name.
    pub name: String,
    /// Name of its plan on the gateway, or `none`.
    pub gateway_plan: String,
    /// Name of its plan on the explorer, or `none`.
    pub explorer_plan: String,
    /// Refused until resumed.
    pub suspended: bool,
    /// When it was added.
    pub created_at: Utc,
}

/// An account that is to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAccount {
    /// Unique name.
    pub name: String,
    /// Name of its plan on the gateway, or `none`.
    pub gateway_plan: String,
    /// Name of its plan on the explorer, or `none`.
    pub explorer_plan: String,
    /// Now.
    pub created_at: Utc,
}

/// How an account is named in a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountRef {
    /// By number.
    Id(u64),
    /// By name.
    Name(String),
}

/// What changes in an account; absent fields stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountChange {
    /// Another plan on the gateway.
    pub gateway_plan: Option<String>,
    /// Another plan on the explorer.
    pub explorer_plan: Option<String>,
    /// Suspended or resumed.
    pub suspended: Option<bool>,
}
