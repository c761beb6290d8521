//! What can go wrong while an index is read or written.
//!
//! Invariant: a row that makes no sense is an error that names its table, never a panic and never
//! a value that was bent to fit.

use std::path::PathBuf;

use chain::Hash32;

/// How far a read may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Only what is in memory: never waits for the disk.
    Cached,
    /// Wherever the row is.
    Any,
}

/// A read that gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Only [`Tier::Cached`]: the row is not in memory.
    #[error("not in memory")]
    Cold,
    /// A row makes no sense, or the engine found its files damaged.
    #[error("the index is damaged: {0}")]
    Damaged(String),
    /// The engine could not read or write: the disk is full or failing. Or the process could not:
    /// work was cut off, there was no randomness.
    #[error("the index cannot be read or written: {0}")]
    Failed(String),
}

/// A change to an index, or its opening, that failed. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// The store failed, or a row makes no sense.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The folder holds something else than the index that was asked for.
    #[error("{dir} holds {found}, not {wanted}; give another folder, or see `portolan index info`")]
    Stranger {
        /// The folder of the index.
        dir: PathBuf,
        /// What it holds.
        found: String,
        /// What was asked for.
        wanted: String,
    },
    /// The folder holds the index that was asked for, in rows that this version does not read.
    #[error(
        "{dir} holds an index in format {found}, and this version reads format {wanted}: make it \
         anew with `portolan index rebuild`, or remove the folder and start"
    )]
    OtherFormat {
        /// The folder of the index.
        dir: PathBuf,
        /// Its format.
        found: u16,
        /// The one that is read.
        wanted: u16,
    },
    /// Another process has the index open.
    #[error("{dir} is in use by another process")]
    InUse {
        /// The folder of the index.
        dir: PathBuf,
    },
    /// The node gave bytes that are no block of this chain.
    #[error("block {height} cannot be read: {problem}")]
    Block {
        /// The height it was asked for.
        height: u32,
        /// What is wrong with it.
        problem: String,
    },
    /// A block that does not follow our tip.
    #[error("block {hash} does not follow our tip")]
    NotNext {
        /// Hash of the block.
        hash: Hash32,
    },
    /// An input spends an output that the index does not have.
    #[error("block {height} spends {txid}:{vout}, which is not in the index")]
    Unknown {
        /// Height of the block.
        height: u32,
        /// Transaction of the missing output.
        txid: Hash32,
        /// Its place there.
        vout: u32,
    },
    /// Less is free on the disk than is to stay free; nothing more is written.
    #[error("less than {least} MiB are free in {dir}", least = .least_bytes >> 20, dir = .dir.display())]
    NoRoom {
        /// The folder.
        dir: PathBuf,
        /// Bytes that are to stay free, with what the next step may need.
        least_bytes: u64,
    },
    /// A file operation failed.
    #[error("{path}: {problem}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        problem: String,
    },
}

impl IndexError {
    /// Whether what is on the disk is not what was written: it stays so until the index is made
    /// anew.
    pub fn is_damage(&self) -> bool {
        matches!(self, IndexError::Read(ReadError::Damaged(_)))
    }

    /// What a row that makes no sense is told as.
    pub(crate) fn damaged(text: impl Into<String>) -> IndexError {
        IndexError::Read(ReadError::Damaged(text.into()))
    }

    /// What could not be done for a reason that is not in the rows is told as.
    pub(crate) fn failed(text: impl std::fmt::Display) -> IndexError {
        IndexError::Read(ReadError::Failed(text.to_string()))
    }
}
