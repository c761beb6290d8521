//! A file of rows in key order that a store takes in whole.
//!
//! Invariant: keys only ascend; the engine refuses anything else.

use std::path::{Path, PathBuf};

use rocksdb::{Options, SstFileWriter};
use self_cell::self_cell;

use super::read_error;
use crate::IndexError;

type Writer<'a> = SstFileWriter<'a>;

self_cell! {
    struct Open {
        owner: Options,

        #[not_covariant]
        dependent: Writer,
    }
}

/// A file that is being written.
pub(crate) struct SortedFile {
    open: Open,
    path: PathBuf,
    rows: u64,
}

impl SortedFile {
    pub(super) fn create(options: Options, path: &Path) -> Result<SortedFile, IndexError> {
        let open = Open::try_new(options, |options| {
            let writer = SstFileWriter::create(options);
            writer.open(path).map(|()| writer)
        });
        Ok(SortedFile { open: open.map_err(read_error)?, path: path.to_owned(), rows: 0 })
    }

    /// Appends a row; its key is above all before it.
    pub(crate) fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), IndexError> {
        self.rows += 1;
        let put = self.open.with_dependent_mut(|_, writer| writer.put(key, value));
        Ok(put.map_err(read_error)?)
    }

    /// Bytes written so far.
    pub(crate) fn bytes(&mut self) -> u64 {
        self.open.with_dependent_mut(|_, writer| writer.file_size())
    }

    /// Ends the file and gives its path; nothing is left where no row was put.
    pub(crate) fn finish(mut self) -> Result<Option<PathBuf>, IndexError> {
        if self.rows == 0 {
            // The engine cannot end an empty file; what it began may stay until the folder goes.
            return Ok(None);
        }
        self.open.with_dependent_mut(|_, writer| writer.finish()).map_err(read_error)?;
        Ok(Some(self.path))
    }
}
