//! The folder of an index: opened for one chain, or refused.
//!
//! Leaves what is in the rows to each family's store. Invariants: a folder of another chain, network,
//! genesis or format is refused before anything is written to it; one process writes at a time.

use std::path::Path;
use std::sync::Arc;

use crate::db::{Db, Memory, TableSpec};
use crate::{Identity, IndexError};

/// Opens the rows of an index in `dir`, or makes its tables. Whoever opens it claims it for
/// `wanted` (see [`Identity::claim`]).
pub(crate) fn open(
    dir: &Path,
    wanted: &Identity,
    tables: &'static [TableSpec],
    memory: &Memory,
) -> Result<Arc<Db>, IndexError> {
    wanted.check_tables(dir, tables)?;
    Ok(Arc::new(Db::open(dir, tables, memory)?))
}

/// Opens the rows for reading, as they are now; another process may go on with them.
pub(crate) fn open_read_only(
    dir: &Path,
    wanted: &Identity,
    tables: &'static [TableSpec],
    memory: &Memory,
) -> Result<Arc<Db>, IndexError> {
    wanted.check_tables(dir, tables)?;
    let db = Arc::new(Db::open_read_only(dir, tables, memory)?);
    wanted.check_store(&db)?;
    Ok(db)
}

/// Whether a process has the index in a folder open, be it this one.
pub(crate) fn is_open(dir: &Path, tables: &'static [TableSpec]) -> bool {
    let memory = Memory::new(8 << 20, 8 << 20);
    dir.join("CURRENT").exists()
        && matches!(Db::open(dir, tables, &memory).err(), Some(IndexError::InUse { .. }))
}
