//! What `serve` would stumble over on this machine, whatever the nodes say.
//!
//! Leaves the nodes to `check`. Invariant: nothing is made, changed or held, so that it may be asked
//! beside a running server; an address that is taken may be that server's and is no obstacle.

use std::net::{IpAddr, TcpListener};
use std::path::{Path, PathBuf};

use index::ChainIndex;
use rustix::fs::Access;

use super::{index_dir, rebuilt};
use crate::config::{Config, ListenerTls};

/// A name, an address and the two TLS files of a listener.
type Listener<'a> = (&'static str, IpAddr, Option<&'a PathBuf>, Option<&'a PathBuf>);

/// All obstacles, each in one line.
pub(crate) fn obstacles(config: &Config) -> Vec<String> {
    let mut found = Vec::new();
    let (gateway, explorer) = (&config.gateway, &config.explorer);
    let mut listeners: Vec<Listener<'_>> = vec![
        ("gateway", gateway.listen.ip(), gateway.tls_cert.as_ref(), gateway.tls_key.as_ref()),
        ("explorer", explorer.listen.ip(), explorer.tls_cert.as_ref(), explorer.tls_key.as_ref()),
    ];
    let metrics = config.metrics.as_ref();
    listeners.extend(
        metrics.map(|it| ("metrics", it.listen.ip(), it.tls_cert.as_ref(), it.tls_key.as_ref())),
    );
    for (name, address, cert, key) in listeners {
        found.extend(of_address(name, address));
        found.extend(of_certificate(name, cert, key));
    }
    found.extend(of_store(&config.store.dir));
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
fn of_certificate(name: &str, cert: Option<&PathBuf>, key: Option<&PathBuf>) -> Option<String> {
    // That one of the two is missing was refused when the configuration was read.
    let files = ListenerTls::pair(cert, key).ok()??;
    let problem = match listen::Tls::load(&files.cert, &files.key) {
        Ok(tls) => tls.out_of_date(),
        Err(error) => Some(error.to_string()),
    };
    problem.map(|problem| format!("{name}: {problem}"))
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
