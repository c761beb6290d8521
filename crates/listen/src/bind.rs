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

/// Raises the process's limit of open files to what it may have; returns how many connections
/// that allows, nodes and store apart.
pub fn connections_allowed() -> usize {
    let now = getrlimit(Resource::Nofile);
    // Refused only where the hard limit changed in between: what there is then counts.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum });
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    // A forwarded call costs two files: the client's and the node's.
    usize::try_from(files.saturating_sub(RESERVED_FILES) / 2).unwrap_or(usize::MAX).max(16)
}
