//! The secret of the script ids, as the store keeps it.
//!
//! Invariant: it is drawn once, with the store, and never shown.

use super::schema::{META, META_HASH_KEY};
use super::script_id::HashKey;
use crate::db::{Batch, Db};
use crate::{Identity, IndexError};

/// The key of a store.
pub(super) fn stored_key(db: &Db) -> Result<HashKey, IndexError> {
    let row = db.latest().get(META, META_HASH_KEY)?;
    let bytes = row.and_then(|row| <[u8; 16]>::try_from(&row[..]).ok());
    bytes.map(HashKey::new).ok_or_else(|| IndexError::damaged("the key in meta is gone"))
}

/// Checks whose store it is, or makes it this one's, with this key or one that is drawn.
pub(super) fn begin(db: &Db, wanted: &Identity, key: Option<HashKey>) -> Result<(), IndexError> {
    wanted.claim(db, |batch: &mut Batch<'_>| {
        let mut drawn = [0; 16];
        getrandom::fill(&mut drawn).map_err(IndexError::failed)?;
        batch.put(META, META_HASH_KEY, key.unwrap_or(HashKey::new(drawn)).bytes());
        Ok(())
    })?;
    match key {
        Some(key) if key != stored_key(db)? => Err(IndexError::Stranger {
            dir: db.dir().to_owned(),
            found: "an index with another hash key".into(),
            wanted: wanted.to_string(),
        }),
        _ => Ok(()),
    }
}
