//! What `serve` would stumble over on this machine, whatever the nodes say.
//!
//! Leaves the nodes to `check`. Invariant: nothing is made, changed or held, so that it may be asked
//! beside a running server; an address that is taken may be that server's and is no obstacle.

use std::net::{IpAddr, TcpListener};
use std::path::Path;

use index::ChainIndex;
use rustix::fs::Access;

use super::{Services, can_serve, index_dir, rebuilt};
use crate::config::{Config, Listener, Listens};

/// All obstacles, each in one line.
pub(crate) fn obstacles(config: &Config) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(can_serve(config, &Services::all()).err().map(|error| error.to_string()));
    let is_built = |listener: &Listener<'_>| listener.who != Listens::Console;
    for listener in config.listeners().into_iter().filter(is_built) {
        found.extend(of_address(listener.name(), listener.listen.ip()));
        found.extend(of_certificate(&listener));
    }
    let folder = of_store(&config.store.dir);
    // In a folder that cannot be had nothing can be looked at.
    let looked = if folder.is_none() { config.store.look().err() } else { None };
    found.extend(folder);
    found.extend(looked.map(|error| error.to_string()));
    found.extend(of_indexes(config));
    found
}

/// An address that is none of this machine's.
fn of_address(name: &str, address: IpAddr) -> Option<String> {
    // Port 0: a free one, for a moment.
    let bound = TcpListener::bind((address, 0));
    bound.err().map(|error| format!("{name} cannot listen on {address}: {error}"))
}

/// Files that cannot be used, and a certificate that clients will not take.
fn of_certificate(listener: &Listener<'_>) -> Option<String> {
    // That one of the two is missing was refused when the configuration was read.
    let files = listener.tls().ok()??;
    let problem = match listen::Tls::load(&files.cert, &files.key) {
        Ok(tls) => tls.out_of_date(),
        Err(error) => Some(error.to_string()),
    };
    problem.map(|problem| format!("{}: {problem}", listener.name()))
}

/// A folder that cannot be written, or made.
fn of_store(dir: &Path) -> Option<String> {
    let absolute = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    // What is not there yet is made in the first folder above that is.
    let there = absolute.ancestors().find(|folder| folder.symlink_metadata().is_ok())?;
    let told = |problem: &str| format!("store.dir {}: {problem}", there.display());
    if !there.is_dir() {
        return Some(told("is no folder"));
    }
    let rights = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    let refused = rustix::fs::access(there, rights).err();
    refused.map(|error| told(&std::io::Error::from(error).to_string()))
}

/// A folder of an index that holds something else.
fn of_indexes(config: &Config) -> Vec<String> {
    let kept =
        |served: &crate::config::Served| served.explorer && ChainIndex::is_kept_of(served.chain);
    let check = |served: crate::config::Served| {
        let (store, slug) = (&config.store.dir, served.chain.slug);
        let dir = rebuilt::ready(store, slug).unwrap_or_else(|| index_dir(store, slug));
        let problem = ChainIndex::may_be(&dir, served.chain, served.network).err()?;
        Some(format!("chain.{slug}: its index: {problem}"))
    };
    config.served().into_iter().filter(kept).filter_map(check).collect()
}
