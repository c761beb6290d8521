//! Listening sockets and the files that connections cost.
//!
//! Leaves what is done with a socket to the accept loop. Invariant: an address that cannot be had
//! is an error that names the listener and the address.

use std::io;
use std::net::SocketAddr;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;

/// Connections that the kernel holds for us while none is accepted. Linux caps it by
/// `net.core.somaxconn` (4,096 by default since 5.4).
const BACKLOG: i32 = 4096;

/// Files left for nodes, the store and the log.
const RESERVED_FILES: u64 = 256;

/// Why a listener cannot listen.
#[derive(Debug, thiserror::Error)]
#[error("{listener} cannot listen on {address}: {source}")]
pub struct BindError {
    /// The listener's name, as in the configuration.
    pub listener: String,
    /// The address it was to have.
    pub address: SocketAddr,
    /// What the operating system says.
    pub source: io::Error,
}

/// Binds `address` for the listener of this name. Port 0 takes a free one.
///
/// # Errors
/// [`BindError`] if the address is taken, not this machine's, or not allowed.
pub fn bind(listener: &str, address: SocketAddr) -> Result<TcpListener, BindError> {
    let open = || {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        // A restart must not wait for the connections of the process before it.
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        TcpListener::from_std(socket.into())
    };
    open().map_err(|source| BindError { listener: listener.to_owned(), address, source })
}

/// Raises the process's limit of open files to what it may have, and gives that.
pub fn raise_open_files() -> u64 {
    let now = getrlimit(Resource::Nofile);
    // Refused only where the hard limit changed in between: what there is then counts.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum });
    open_files()
}

fn open_files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// How many connections the limit of open files allows, nodes and store apart.
pub fn connections_allowed() -> usize {
    let files = open_files();
    // A forwarded call costs two files: the client's and the node's.
    usize::try_from(files.saturating_sub(RESERVED_FILES) / 2).unwrap_or(usize::MAX).max(16)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn the_limit_of_open_files_is_raised_to_what_it_may_be() {
        let before = getrlimit(Resource::Nofile);
        let low = Rlimit { current: before.current.map(|now| now / 2), maximum: before.maximum };
        setrlimit(Resource::Nofile, low).unwrap();
        assert_eq!(Some(raise_open_files()), before.maximum.or(Some(u64::MAX)));
        assert_eq!(getrlimit(Resource::Nofile).current, before.maximum);
        let files = before.maximum.unwrap_or(u64::MAX);
        assert_eq!(connections_allowed() as u64, (files.saturating_sub(256) / 2).max(16));
    }
}
