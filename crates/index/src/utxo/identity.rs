//! Whose index a folder holds: chain, network, genesis, format, and the secret of its script ids.
//!
//! Leaves the rows to `store`. Invariant: a folder of something else is refused before a row of it
//! is read.

use std::path::Path;

use chain::utxo::Format;
use chain::{Chain, Network};

use super::schema::{FORMAT, META, META_HASH_KEY, META_IDENTITY};
use super::script_id::HashKey;
use crate::IndexError;
use crate::db::{Batch, Db};

/// What an index is of.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Identity {
    /// Slug of the chain.
    pub chain: String,
    /// Name of the network.
    pub network: String,
    /// Hash of block 0, where the network fixes it.
    pub genesis: Option<String>,
    /// Version of the layout of the rows.
    pub format: u16,
}

impl Identity {
    /// What this version makes of that chain.
    pub fn new(chain: &Chain, network: &Network) -> Identity {
        Identity {
            chain: chain.slug.into(),
            network: network.name.into(),
            genesis: network.genesis.map(Into::into),
            format: FORMAT,
        }
    }
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "an index of {} {} in format {}", self.chain, self.network, self.format)
    }
}

/// What a store says that it is; none where it has just been made.
pub(super) fn read_identity(db: &Db) -> Result<Option<Identity>, IndexError> {
    let Some(row) = db.latest().get(META, META_IDENTITY)? else { return Ok(None) };
    let identity = serde_json::from_slice(&row);
    identity.map(Some).map_err(|_| IndexError::damaged("the identity in meta makes no sense"))
}

/// How the chain's blocks are written.
pub(super) fn format_of(dir: &Path, chain: &Chain) -> Result<Format, IndexError> {
    chain.format.ok_or_else(|| no_index(dir, chain))
}

/// No index of that chain is kept.
pub(crate) fn no_index(dir: &Path, chain: &Chain) -> IndexError {
    IndexError::Stranger {
        dir: dir.to_owned(),
        found: "no index".into(),
        wanted: format!("one of {}, whose blocks this index cannot read", chain.slug),
    }
}

/// A folder that holds something else, or the same in another format.
pub(super) fn stranger(dir: &Path, found: Option<&Identity>, wanted: &Identity) -> IndexError {
    if let Some(found) = found.filter(|it| Identity { format: FORMAT, ..(*it).clone() } == *wanted)
    {
        let (found, wanted) = (found.format, wanted.format);
        return IndexError::OtherFormat { dir: dir.to_owned(), found, wanted };
    }
    let found = found.map_or("no index".into(), ToString::to_string);
    IndexError::Stranger { dir: dir.to_owned(), found, wanted: wanted.to_string() }
}

/// The key of the script ids.
pub(super) fn stored_key(db: &Db) -> Result<HashKey, IndexError> {
    let row = db.latest().get(META, META_HASH_KEY)?;
    let bytes = row.and_then(|row| <[u8; 16]>::try_from(&row[..]).ok());
    bytes.map(HashKey::new).ok_or_else(|| IndexError::damaged("the key in meta is gone"))
}

/// Checks whose store it is, or makes it this one's, and gives its key.
pub(super) fn begin(
    db: &Db,
    wanted: &Identity,
    key: Option<HashKey>,
) -> Result<HashKey, IndexError> {
    match read_identity(db)? {
        Some(found) if found != *wanted => Err(stranger(db.dir(), Some(&found), wanted)),
        Some(_) => {
            let stored = stored_key(db)?;
            match key {
                Some(key) if key != stored => Err(IndexError::Stranger {
                    dir: db.dir().to_owned(),
                    found: "an index with another hash key".into(),
                    wanted: wanted.to_string(),
                }),
                _ => Ok(stored),
            }
        }
        None => {
            let mut drawn = [0; 16];
            getrandom::fill(&mut drawn).map_err(IndexError::failed)?;
            let key = key.unwrap_or(HashKey::new(drawn));
            let identity = serde_json::to_vec(wanted).expect("an identity is plain text");
            let mut batch = Batch::new(db);
            batch.put(META, META_IDENTITY, &identity);
            batch.put(META, META_HASH_KEY, key.bytes());
            db.commit(batch)?;
            Ok(key)
        }
    }
}
