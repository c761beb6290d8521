//! Whose index a folder holds: chain, network, genesis, format.
//!
//! Leaves the rows to the family's store. Invariants: a folder of something else is refused before a
//! row of it is read; the table of a store's own words is the first of every family.

use std::path::Path;

use chain::{Chain, Family, Network};

use crate::db::{Batch, Db, Table, TableSpec};
use crate::{IndexError, Memory, account, ring, utxo};

/// What a store says of itself: the first table of every family.
pub(crate) const META: Table = Table(0);
/// Key of the identity there.
pub(crate) const META_IDENTITY: &[u8] = b"identity";
/// Key of the last block there.
pub(crate) const META_TIP: &[u8] = b"tip";

/// What an index is of.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Identity {
    /// Slug of the chain.
    pub chain: String,
    /// Name of the network.
    pub network: String,
    /// Hash of block 0, where the network fixes it.
    pub genesis: Option<String>,
    /// Version of the layout of the rows, of the chain's family.
    pub format: u16,
}

impl Identity {
    /// What this version makes of that chain.
    pub fn new(chain: &Chain, network: &Network) -> Identity {
        Identity {
            chain: chain.slug.into(),
            network: network.name.into(),
            genesis: network.genesis.map(Into::into),
            format: match chain.family {
                Family::Utxo(_) => utxo::FORMAT,
                Family::Account => account::FORMAT,
                Family::Ring => ring::FORMAT,
            },
        }
    }

    /// Its row.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("an identity is plain text")
    }

    /// What a store says that it is; none where it has just been made.
    pub(crate) fn of_store(db: &Db) -> Result<Option<Identity>, IndexError> {
        let Some(row) = db.latest().get(META, META_IDENTITY)? else { return Ok(None) };
        let identity = serde_json::from_slice(&row);
        identity.map(Some).map_err(|_| IndexError::damaged("the identity in meta makes no sense"))
    }

    /// What a folder holds, without opening it as an index of a certain chain.
    pub(crate) fn of_folder(
        dir: &Path,
        tables: &'static [TableSpec],
    ) -> Result<Option<Identity>, IndexError> {
        if !dir.join("CURRENT").exists() {
            return Ok(None);
        }
        // That of another format may have other tables besides.
        let db = Db::open_read_only(dir, &tables[..1], &Memory::new(8 << 20, 8 << 20))?;
        Identity::of_store(&db)
    }

    /// Refuses a folder whose tables are not those of this index, before it is opened and given
    /// those that it lacks.
    pub(crate) fn check_tables(
        &self,
        dir: &Path,
        tables: &'static [TableSpec],
    ) -> Result<(), IndexError> {
        if Db::has_tables(dir, tables) {
            return Ok(());
        }
        match Identity::of_folder(dir, tables)? {
            Some(found) if found == *self => {
                Err(IndexError::damaged("a table is gone; rebuild the index"))
            }
            found => Err(self.refuse(dir, found.as_ref())),
        }
    }

    /// Refuses a store that is not this index.
    pub(crate) fn check_store(&self, db: &Db) -> Result<(), IndexError> {
        match Identity::of_store(db)? {
            Some(found) if found == *self => Ok(()),
            found => Err(self.refuse(db.dir(), found.as_ref())),
        }
    }

    /// The same of a store that may have just been made: that becomes this index, with what else
    /// the batch is given.
    pub(crate) fn claim(
        &self,
        db: &Db,
        more: impl FnOnce(&mut Batch<'_>) -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        if Identity::of_store(db)?.is_some() {
            return self.check_store(db);
        }
        let mut batch = Batch::new(db);
        batch.put(META, META_IDENTITY, &self.bytes());
        more(&mut batch)?;
        db.commit(batch)
    }

    /// The error of a folder that holds something else, or the same in another format.
    fn refuse(&self, dir: &Path, found: Option<&Identity>) -> IndexError {
        let as_ours = |it: &&Identity| Identity { format: self.format, ..(*it).clone() } == *self;
        if let Some(found) = found.filter(as_ours) {
            let (found, wanted) = (found.format, self.format);
            return IndexError::OtherFormat { dir: dir.to_owned(), found, wanted };
        }
        let found = found.map_or("no index".into(), ToString::to_string);
        IndexError::Stranger { dir: dir.to_owned(), found, wanted: self.to_string() }
    }
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "an index of {} {} in format {}", self.chain, self.network, self.format)
    }
}

/// No index of that chain is kept.
pub(crate) fn no_index(dir: &Path, chain: &Chain) -> IndexError {
    IndexError::Stranger {
        dir: dir.to_owned(),
        found: "no index".into(),
        wanted: format!("one of {}, whose blocks this index cannot read", chain.slug),
    }
}
