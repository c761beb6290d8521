//! What SQLite says when it does not do what it is asked, in the words of a store.

use crate::store::StoreError;

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => {
                StoreError::Foreign("it is no SQLite file".to_owned())
            }
            Some(rusqlite::ErrorCode::DiskFull) => StoreError::Full(error.to_string()),
            _ if is_damage(&error) => StoreError::Damaged(error.to_string()),
            _ => StoreError::Failed(error.to_string()),
        }
    }
}

/// Does SQLite say that the file is damaged?
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseCorrupt)
}
