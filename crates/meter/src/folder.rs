//! The files of a store's folder: their names, how they are opened, and who holds them.
//!
//! Invariant: files are readable by their owner alone, and a service is held by one process at a
//! time, which its lock file names.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::{OpenError, Service};

/// The folder that holds everything embedded.
#[derive(Clone, Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// The folder at a path, made if it is not there.
    pub(crate) fn open(path: &Path) -> Result<Folder, OpenError> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(|source| OpenError::File { path: path.to_owned(), source })?;
        Ok(Folder(path.to_owned()))
    }

    /// The folder at a path, whether it is there or not.
    pub(crate) fn at(path: &Path) -> Folder {
        Folder(path.to_owned())
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The database of accounts, keys and usage.
    pub(crate) fn database(&self) -> PathBuf {
        Folder::database_in(&self.0)
    }

    /// Where the database of a folder is, or would be.
    pub(crate) fn database_in(path: &Path) -> PathBuf {
        path.join("portolan.sqlite")
    }

    /// The word that tells running servers of a change.
    pub(crate) fn epoch(&self) -> PathBuf {
        self.0.join("epoch")
    }

    /// The counters of a service that runs.
    pub(crate) fn usage(&self, service: Service) -> PathBuf {
        self.0.join(format!("usage-{service}.map"))
    }

    /// Takes a service for this process, until the lock is dropped.
    pub(crate) fn lock(&self, service: Service) -> Result<Lock, OpenError> {
        let path = self.0.join(format!("{service}.lock"));
        let mut file = open_shared(&path)?;
        let failed = |source| OpenError::File { path: path.clone(), source };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = holder(&mut file);
                return Err(OpenError::Locked { service, dir: self.0.clone(), holder });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        // Who holds it is said to people alone; a full disk keeps nobody from it.
        let _ = file.set_len(0).and_then(|()| write!(file, "process {}", std::process::id()));
        Ok(Lock { file })
    }
}

/// A service is held while this lives.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a process that is being started holds a copy until it runs.
        let _ = self.file.unlock();
    }
}

/// Opens a file for reading and writing, made if it is not there, never cut.
pub(crate) fn open_shared(path: &Path) -> Result<File, OpenError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.open(path).map_err(|source| OpenError::File { path: path.to_owned(), source })
}

/// Is it for want of room on the disk?
pub(crate) fn has_no_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read =
        file.rewind().and_then(|()| (file as &mut dyn io::Read).take(64).read_to_string(&mut text));
    match read {
        Ok(_) if text.starts_with("process ") => text,
        _ => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests;
