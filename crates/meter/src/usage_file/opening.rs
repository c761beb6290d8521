//! Opens a usage file: to count in it, or to look into it.
//!
//! Invariant: a file is made, and one of a former format made anew, beside its place and moved there whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::header::header;
use super::layout::HEADER_BYTES;
use super::{UsageFile, former};
use crate::folder::has_no_room;
use crate::mapped::reserve;
use crate::{OpenError, Replica, Service};

impl UsageFile {
    /// Opens the file of a service for counting, making it if it is not there, or anew if it is of a former
    /// format. On a full disk that is done later: nothing can be counted until then.
    pub(crate) fn open(
        path: &Path,
        service: Service,
        identity: u64,
    ) -> Result<UsageFile, OpenError> {
        let failed = |source| OpenError::File { path: path.to_owned(), source };
        let length = fs::metadata(path).map_or(0, |metadata| metadata.len());
        // Nothing was counted in a file that was made but never begun.
        if length == 0 {
            let replica = Replica::random().map_err(failed)?;
            match make(path, &header(service, identity, replica), &[]) {
                Err(error) if has_no_room(&error) => {
                    return UsageFile::absent(path, service, identity);
                }
                made => made.map_err(failed)?,
            }
        } else if let Some(slots) = former::slots(path, service, identity).map_err(failed)? {
            // What it counted was recorded without a number.
            match make(path, &header(service, identity, Replica::FIRST), &slots) {
                Err(error) if has_no_room(&error) => {
                    let file = path.display();
                    tracing::error!(
                        %file,
                        "no room to write it anew, which a new version must: what is charged on the \
                         {service} is refused until there is; what it has counted stays in it"
                    );
                    return Ok(UsageFile::waiting(path, service, identity, &slots));
                }
                made => made.map_err(failed)?,
            }
        }
        UsageFile::map(path, service, identity)
    }

    /// Opens the file of a service to look into it; `None` if there is none.
    pub(crate) fn look(
        path: &Path,
        service: Service,
        identity: u64,
    ) -> Result<Option<UsageFile>, OpenError> {
        let failed = |source| OpenError::File { path: path.to_owned(), source };
        match fs::metadata(path) {
            Ok(metadata) if metadata.len() > 0 => {}
            Ok(_) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(failed(source)),
        }
        match former::slots(path, service, identity).map_err(failed)? {
            Some(slots) => Ok(Some(UsageFile::waiting(path, service, identity, &slots))),
            None => UsageFile::map(path, service, identity).map(Some),
        }
    }
}

/// Writes a new file beside the place and moves it there, so that it is whole or absent.
pub(super) fn make(path: &Path, header: &[u64], slots: &[u64]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let mut bytes: Vec<u8> = header.iter().flat_map(|word| word.to_ne_bytes()).collect();
    bytes.resize(HEADER_BYTES as usize, 0);
    bytes.extend(slots.iter().flat_map(|word| word.to_ne_bytes()));
    let write = || {
        let mut file = fs::File::options();
        let file = file.write(true).create(true).truncate(true).mode(0o600);
        let mut file = file.open(&fresh)?;
        // Rather than writing until the disk is full; whether it is, the writing tells.
        if let Err(error) = reserve(&file, 0, bytes.len() as u64)
            && has_no_room(&error)
        {
            return Err(error);
        }
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&fresh, path)?;
        // What is recorded from now on should not meet the former file after a power loss. Not every file
        // system can be told so.
        let _ = File::open(path.parent().unwrap_or(path)).and_then(|folder| folder.sync_all());
        Ok(())
    };
    let written = write();
    if written.is_err() {
        // It would take the room that others may find.
        let _ = fs::remove_file(&fresh);
    }
    written
}
