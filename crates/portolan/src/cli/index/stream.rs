//! The stream that carries an index from one machine to another.
//!
//! A tar archive: `manifest.json`, which says what comes; the engine's files below `index/`, in the
//! manifest's order; `end.json`, with the SHA-256 of everything before it, without which a stream is
//! not whole. Leaves the rows to `index`. Invariant: what is written follows from the manifest alone,
//! so no stream reaches out of the folder it is unpacked in.

use std::io::{self, Read};

use index::Identity;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::failure::Failure;

/// Name of the first entry.
pub(super) const MANIFEST: &str = "manifest.json";
/// Name of the last entry.
pub(super) const END: &str = "end.json";
/// What a manifest says that it is of.
const KIND: &str = "an index of portolan";
/// Version of the stream itself; that of the rows is in the identity.
const STREAM: u16 = 1;
/// Longest manifest or end that is read, in bytes: some 100,000 files.
pub(super) const LONGEST: u64 = 16 << 20;

/// What a stream says of itself before its files.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    kind: String,
    stream: u16,
    pub(super) identity: Identity,
    pub(super) tip: Tip,
    pub(super) files: Vec<Listed>,
}

/// The block up to which the rows go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tip {
    pub(super) height: u32,
    /// As the chain's node shows it.
    pub(super) hash: String,
}

/// A file of the index.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) bytes: u64,
}

/// What a stream ends with.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    /// Of the manifest, then of each file in its order; hex digits.
    pub(super) sha256: Vec<String>,
}

impl Manifest {
    pub(super) fn new(identity: Identity, tip: Tip, files: Vec<Listed>) -> Manifest {
        Manifest { kind: KIND.into(), stream: STREAM, identity, tip, files }
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// It is none, is of a stream that this version does not know, or lists what no index has.
    pub(super) fn read(text: &[u8]) -> Result<Manifest, Failure> {
        /// What manifests of all versions have.
        #[derive(Deserialize)]
        struct Head {
            kind: String,
            stream: u16,
        }
        let head: Head = serde_json::from_slice(text).map_err(|_| no_stream())?;
        if head.kind != KIND {
            return Err(no_stream());
        }
        if head.stream != STREAM {
            let found = head.stream;
            let text = format!("a stream of version {found}, and this version reads {STREAM}");
            return Err(Failure::new(text));
        }
        let manifest: Manifest = serde_json::from_slice(text)
            .map_err(|error| damaged(format!("its manifest makes no sense: {error}")))?;
        manifest.check()?;
        Ok(manifest)
    }

    fn check(&self) -> Result<(), Failure> {
        let mut names: Vec<&str> = self.files.iter().map(|file| file.name.as_str()).collect();
        names.sort_unstable();
        let twice = names.windows(2).any(|two| two[0] == two[1]);
        if twice || names.iter().any(|name| !is_plain(name)) || self.bytes().is_none() {
            return Err(damaged("its manifest lists what no index has"));
        }
        Ok(())
    }

    /// Bytes of all files; none where that is more than a number holds.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.files.iter().try_fold(0u64, |sum, file| sum.checked_add(file.bytes))
    }
}

/// The name of an entry with a file of the index.
pub(super) fn entry_name(file: &Listed) -> String {
    format!("index/{}", file.name)
}

/// A name of the engine's own kind: it can neither leave the folder nor hide in it.
fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !name.is_empty() && name.len() <= 100 && !name.starts_with('.') && name.bytes().all(plain)
}

/// What is no stream of ours at all.
pub(super) fn no_stream() -> Failure {
    Failure::new("this is no stream of `portolan index export`")
}

/// What was one, and is not whole.
pub(super) fn damaged(what: impl std::fmt::Display) -> Failure {
    Failure::new(format!("the stream is cut off or damaged: {what}"))
}

/// A reader that sums up what is read through it.
pub(super) struct Summed<R> {
    from: R,
    sum: Sha256,
    /// How much that was.
    pub(super) bytes: u64,
    /// It could not be read on: what a copy failed for, if it failed.
    pub(super) broken: bool,
}

impl<R: Read> Summed<R> {
    pub(super) fn new(from: R) -> Summed<R> {
        Summed { from, sum: Sha256::new(), bytes: 0, broken: false }
    }

    /// The SHA-256 of all that was read, in hex digits.
    pub(super) fn sum(self) -> String {
        const_hex::encode(self.sum.finalize())
    }
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into);
        match &read {
            Ok(read) => {
                self.sum.update(&into[..*read]);
                self.bytes += *read as u64;
            }
            Err(error) => self.broken = error.kind() != io::ErrorKind::Interrupted,
        }
        read
    }
}

/// The SHA-256 of a text, in hex digits.
pub(super) fn sum_of(text: &[u8]) -> String {
    const_hex::encode(Sha256::digest(text))
}
