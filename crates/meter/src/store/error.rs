//! Why a store does not do what it was asked.

use crate::Service;

/// Why the store does not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// An account of that name is there.
    #[error("an account named {0:?} is there already")]
    NameTaken(String),
    /// A newer program made this store.
    #[error("the store has schema {found}, this program knows {known}: use a newer Portolan")]
    Newer {
        /// Schema of the store.
        found: i64,
        /// Schema that this program writes.
        known: i64,
    },
    /// The file belongs to something else.
    #[error("the database is not a store of Portolan: {0}")]
    Foreign(String),
    /// Its file is damaged, and how it shows.
    #[error("the store's database is damaged ({0}): stop, and restore it from a backup")]
    Damaged(String),
    /// Its disk has no room.
    #[error("the store's disk is full ({0}): make room")]
    Full(String),
    /// Another process counts the service, and not beside this one.
    #[error(
        "{service} is counted for this store by {by}, beside which this process may not: it has a \
         copy of the same folder, is of an older version, or a store is being copied; stop that one \
         first"
    )]
    Counted {
        /// The service.
        service: Service,
        /// Who, as far as it is known.
        by: String,
    },
    /// A copy is to go where something is.
    #[error("the store that is to become the copy is not empty")]
    NotEmpty,
    /// The database says no.
    #[error("the store cannot be used: {0}")]
    Failed(String),
}
