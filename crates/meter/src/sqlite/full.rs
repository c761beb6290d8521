//! A store whose disk has no room: a copy in memory, which is read until the file can be written.
//!
//! SQLite needs room to open a database that others may have open too. Here it is opened for a
//! moment by this process alone, which needs none, and copied. Invariant: nothing is written.

use std::path::Path;
use std::time::Duration;

use rusqlite::backup::Backup;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{BUSY_TIMEOUT, schema};
use crate::store::StoreError;

/// With less than this free a disk has no room.
const FULL: u64 = 1 << 20;
/// Pages that are copied in one step.
const PAGES: i32 = 4096;

/// Is it for want of room that SQLite does not do what it was asked?
pub(super) fn is_full(error: &rusqlite::Error, database: &Path) -> bool {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => true,
        // What it says where one of its side files cannot be made or grown.
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => has_no_room(database),
        _ => false,
    }
}

fn has_no_room(database: &Path) -> bool {
    let Ok(disk) = rustix::fs::statvfs(database) else { return false };
    disk.f_bavail.saturating_mul(disk.f_frsize) < FULL
}

/// Reads the whole database into memory.
///
/// # Errors
/// It cannot be read, or is none that can be used as it is.
pub(super) fn copy(database: &Path) -> Result<Connection, StoreError> {
    // It is written to in no case; but only who may write may have it alone.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    match copy_of(Connection::open_with_flags(database, flags)?) {
        Err(_) if is_closed(database) => {
            // Its log cannot be made, so there is none: the file is all.
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            let escaped = database.display().to_string().replace('%', "%25");
            let escaped = escaped.replace('?', "%3f").replace('#', "%23");
            let uri = format!("file:{escaped}?immutable=1");
            copy_of(Connection::open_with_flags(uri, flags)?)
        }
        copied => copied,
    }
}

/// Has the database no log, so that nobody has it open?
fn is_closed(database: &Path) -> bool {
    let mut log = database.to_owned().into_os_string();
    log.push("-wal");
    !Path::new(&log).exists()
}

fn copy_of(file: Connection) -> Result<Connection, StoreError> {
    file.busy_timeout(BUSY_TIMEOUT)?;
    // Its index of the log is in memory then, not in a file that must be made.
    file.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    schema::must_be_ours(&file)?;
    let mut memory = Connection::open_in_memory()?;
    Backup::new(&file, &mut memory)?.run_to_completion(PAGES, Duration::ZERO, None)?;
    memory.pragma_update(None, "query_only", true)?;
    Ok(memory)
}
