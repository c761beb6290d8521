//! A usage file that a full disk has no room for.
//!
//! The service runs without it and counts nothing: what would be charged is refused, all else is
//! served. It is made with the first row that it has room for. Invariants: it has its number from the
//! beginning, under which the store was told of this process; a file that came into its place meanwhile
//! is left alone.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::UsageFile;
use super::header::header;
use super::opening::make;
use crate::folder::open_shared;
use crate::{OpenError, Replica, Service};

/// Between two attempts to make a file.
pub(super) const TRY_AGAIN: Duration = Duration::from_millis(200);

/// What the file will be made of.
#[derive(Debug)]
pub(super) struct Absent {
    header: Vec<u64>,
    tried: Mutex<Instant>,
}

impl UsageFile {
    /// The file of a service, to be made as soon as there is room.
    pub(crate) fn absent(
        path: &Path,
        service: Service,
        identity: u64,
    ) -> Result<UsageFile, OpenError> {
        let replica = Replica::random();
        let replica =
            replica.map_err(|source| OpenError::File { path: path.to_owned(), source })?;
        let file = path.display();
        tracing::error!(%file, "no room for it: what is charged on the {service} is refused until there is");
        let header = header(service, identity, replica);
        let absent = Absent { header, tried: Mutex::new(Instant::now()) };
        Ok(UsageFile::of(path, replica, OnceLock::new(), Some(absent), None))
    }

    /// The file itself, made now if there is room by now.
    pub(super) fn made(&self) -> io::Result<&File> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let absent = self.absent.as_ref().ok_or_else(full)?;
        let mut tried = absent.tried.lock().unwrap_or_else(PoisonError::into_inner);
        if tried.elapsed() < TRY_AGAIN {
            return Err(full());
        }
        *tried = Instant::now();
        if fs::metadata(&self.path).is_ok_and(|there| there.len() > 0) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        make(&self.path, &absent.header, &[])?;
        let file = open_shared(&self.path).map_err(io::Error::other)?;
        tracing::info!(file = %self.path.display(), "there is room: it is made, and counted in");
        Ok(self.file.get_or_init(|| file))
    }
}
