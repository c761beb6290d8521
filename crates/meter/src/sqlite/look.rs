//! Whether a file may be opened as a store, found out without opening it for writing.
//!
//! Its header says what it is; SQLite is asked for the identity alone, and told that nobody changes
//! the file, for it would make files beside it otherwise. Invariant: nothing is made or changed.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::schema::{APPLICATION, SCHEMA};
use super::{Sqlite, meta};
use crate::OpenError;
use crate::store::StoreError;

/// What each file of SQLite begins with.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Where its header has the number of the schema and that of the program, in words.
const USER_VERSION: usize = 60;
const APPLICATION_ID: usize = 68;
const HEADER: usize = 100;

impl Sqlite {
    /// Looks at the file of a database. Gives the store's identity, where there is one that can be
    /// read; what is still in the log beside the file alone is not seen.
    pub(crate) fn look(path: &Path) -> Result<Option<u64>, OpenError> {
        let failed = |source| OpenError::File { path: path.to_owned(), source };
        // As it is opened later.
        let mut file = match OpenOptions::new().read(true).write(true).open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(failed)?,
        };
        let length = file.metadata().map_err(failed)?.len();
        if length == 0 {
            return Ok(None);
        }
        let mut header = [0; HEADER];
        match file.read_exact(&mut header) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {}
            read => read.map_err(failed)?,
        }
        let foreign = |why: &str| OpenError::Store(StoreError::Foreign(why.to_owned()));
        if !header.starts_with(MAGIC) {
            return Err(foreign("it is no SQLite file"));
        }
        let number = |at: usize| {
            let bytes = header[at..at + 4].iter();
            bytes.fold(0_i64, |number, byte| number << 8 | i64::from(*byte))
        };
        match (number(APPLICATION_ID), number(USER_VERSION)) {
            (APPLICATION, found) if found > SCHEMA => {
                Err(StoreError::Newer { found, known: SCHEMA }.into())
            }
            (APPLICATION, _) => Ok(identity(path).ok()),
            // A database that was begun and has no table yet.
            (0, _) if tables(path).is_ok_and(|tables| tables == 0) => Ok(None),
            _ => Err(foreign("it holds another program's tables")),
        }
    }
}

/// Opens a file that is taken for one that nobody changes.
fn still(path: &Path) -> Result<Connection, StoreError> {
    let path = std::path::absolute(path).map_err(|error| StoreError::Failed(error.to_string()))?;
    let path = path.to_str();
    let path = path.ok_or_else(|| StoreError::Failed("its path is not UTF-8".to_owned()))?;
    let path = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Ok(Connection::open_with_flags(format!("file:{path}?immutable=1"), flags)?)
}

fn identity(path: &Path) -> Result<u64, StoreError> {
    meta(&still(path)?, "identity")
}

fn tables(path: &Path) -> Result<i64, StoreError> {
    let count = "SELECT count(*) FROM sqlite_schema";
    Ok(still(path)?.query_row(count, [], |row| row.get(0))?)
}
