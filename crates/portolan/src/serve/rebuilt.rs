//! An index that was made beside the one in use, and how it takes its place.
//!
//! Invariant: at every moment one of the two stands whole under a name that the next start finds.

use std::fs;
use std::path::{Path, PathBuf};

use chain::{Chain, Network};
use index::{ChainIndex, IndexError};

use super::index_dir;
use crate::failure::Failure;

/// Where the new one is made.
pub(crate) fn folder(store: &Path, slug: &str) -> PathBuf {
    store.join(format!("{slug}.new"))
}

/// Says that the new one is complete.
fn marker(store: &Path, slug: &str) -> PathBuf {
    store.join(format!("{slug}.new.ready"))
}

/// Notes that the new index is complete.
pub(crate) fn mark_ready(store: &Path, slug: &str) -> Result<(), Failure> {
    Ok(fs::write(marker(store, slug), b"")?)
}

/// Where an index that is complete and waits stands; `None` where there is none.
pub(crate) fn ready(store: &Path, slug: &str) -> Option<PathBuf> {
    marker(store, slug).exists().then(|| folder(store, slug))
}

/// Puts a complete new index in the place of the old one. Returns false where there is none.
///
/// # Errors
/// `InUse` while a process has the old one open; `Stranger` if the new one is of another network or
/// format than what is wanted by now: both stay.
pub(crate) fn put_in_place(
    store: &Path,
    chain: &'static Chain,
    network: &'static Network,
) -> Result<bool, IndexError> {
    let slug = chain.slug;
    let (marker, new, old) = (marker(store, slug), folder(store, slug), index_dir(store, slug));
    if !marker.exists() {
        return Ok(false);
    }
    ChainIndex::may_be(&new, chain, network)?;
    if ChainIndex::is_open(&old, chain) {
        return Err(IndexError::InUse { dir: old });
    }
    let failed =
        |error: std::io::Error| IndexError::File { path: new.clone(), problem: error.to_string() };
    if new.exists() {
        if old.exists() {
            let gone = store.join(format!("{slug}.old"));
            if gone.exists() {
                fs::remove_dir_all(&gone).map_err(failed)?;
            }
            fs::rename(&old, &gone).map_err(failed)?;
        }
        fs::rename(&new, &old).map_err(failed)?;
    }
    fs::remove_file(&marker).map_err(failed)?;
    let gone = store.join(format!("{slug}.old"));
    if gone.exists() {
        fs::remove_dir_all(&gone).map_err(failed)?;
    }
    Ok(true)
}
