//! Where programs and the build output are.
//!
//! Invariant: only looks; starts and writes nothing.

use std::io;
use std::path::PathBuf;

/// The program of this name in `PATH`.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The folder of the build output: a test runs from `target/PROFILE/deps`.
pub(crate) fn build_output() -> io::Result<PathBuf> {
    let test = std::env::current_exe()?;
    let target = test.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    target.map(PathBuf::from).ok_or_else(|| io::ErrorKind::NotFound.into())
}
