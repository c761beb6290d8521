//! Why a store cannot be opened, in words for the operator.

use std::path::PathBuf;

/// The store in a folder cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process serves this service from the folder.
    #[error("{} is already served from {} by {holder}", .service, .dir.display())]
    Locked {
        /// The service.
        service: crate::Service,
        /// The folder.
        dir: PathBuf,
        /// Who holds it, as far as it is known.
        holder: String,
    },
    /// A file of the folder cannot be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file of the folder is not what its name says.
    #[error("{}: {problem}", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// The store answers with an error.
    #[error("{0}")]
    Store(#[from] crate::StoreError),
}
