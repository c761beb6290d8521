//! Whether a file may be opened for counting, found out without opening it for writing.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use super::header::{IDENTITY, WORDS, is_former, owner};
use super::layout::HEADER_WORDS;
use super::{UsageFile, foreign};
use crate::{OpenError, Service};

impl UsageFile {
    /// Looks whose file it is. One that is not there, empty, or of a former format is no obstacle.
    /// Without the identity of a store it may be of any. Makes and changes nothing.
    pub(crate) fn may_be(
        path: &Path,
        service: Service,
        identity: Option<u64>,
    ) -> Result<(), OpenError> {
        let failed = |source| OpenError::File { path: path.to_owned(), source };
        let mut file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            opened => opened.map_err(failed)?,
        };
        let length = file.metadata().map_err(failed)?.len();
        if length == 0 {
            return Ok(());
        }
        let mut bytes = [0; WORDS * 8];
        if length < HEADER_WORDS as u64 * 8 || file.read_exact(&mut bytes).is_err() {
            return Err(foreign(path, "it is no usage file, or was cut short"));
        }
        let (words, _) = bytes.as_chunks::<8>();
        let found: [u64; WORDS] = std::array::from_fn(|place| u64::from_ne_bytes(words[place]));
        let identity = identity.unwrap_or(found[IDENTITY]);
        match owner(&found, service, identity) {
            Err(problem) if !is_former(&found) => Err(foreign(path, problem)),
            _ => Ok(()),
        }
    }
}
