//! The accept loop.
//!
//! Takes connections while there is room, shakes hands where the listener speaks TLS, and lets
//! each run on its own. Leaves what happens on a connection to `connection`. Invariant: no error
//! of one client, and no lack of files, ends the loop or makes it spin.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::connection::{self, Shared};
use crate::drain::{Drain, Phase};
use crate::limits::Limits;
use crate::serve::Serve;
use crate::tls::Tls;

/// Wait after an error that concerns the process, not one client: no files, no memory.
const BACK_OFF: Duration = Duration::from_millis(100);

/// How long connections may take to close at the end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Serves `listener` until `drain` ends, then returns when its connections are closed.
///
/// The socket is closed as soon as the drain reaches [`Phase::Closed`].
pub async fn run<S: Serve>(
    listener: TcpListener,
    tls: Option<Tls>,
    limits: Limits,
    service: Arc<S>,
    drain: Drain,
) {
    let capacity = limits.max_connections.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
    let room = Arc::new(Semaphore::new(capacity));
    let shared =
        Arc::new(Shared { service, limits, drain: drain.clone(), crowded: AtomicBool::new(false) });
    tokio::select! {
        () = accept(&listener, tls.as_ref(), &room, &shared) => {}
        () = drain.reached(Phase::Closed) => {}
    }
    drop(listener);
    shared.service.refuse_further();
    drain.reached(Phase::Ended).await;
    let all = u32::try_from(capacity).unwrap_or(u32::MAX);
    // What is still open then is dropped with the runtime.
    let _ = timeout(CLOSE_TIMEOUT, room.acquire_many(all)).await;
}

async fn accept<S: Serve>(
    listener: &TcpListener,
    tls: Option<&Tls>,
    room: &Arc<Semaphore>,
    shared: &Arc<Shared<S>>,
) {
    loop {
        shared.crowded.store(room.available_permits() == 0, Ordering::Relaxed);
        let Ok(permit) = Arc::clone(room).acquire_owned().await else { return };
        let (stream, peer) = match listener.accept().await {
            Ok((stream, peer)) => (stream, peer.ip().to_canonical()),
            Err(error) if is_the_clients(&error) => continue,
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections");
                sleep(BACK_OFF).await;
                continue;
            }
        };
        // Answers are written whole; waiting for more bytes would only delay them.
        let _ = stream.set_nodelay(true);
        let shared = Arc::clone(shared);
        match tls {
            None => drop(tokio::spawn(open(stream, peer, shared, permit))),
            Some(tls) => drop(tokio::spawn(open_tls(tls.clone(), stream, peer, shared, permit))),
        }
    }
}

/// Did the client give up between its connection and our accepting it (accept(2))?
fn is_the_clients(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

async fn open<S: Serve>(
    stream: TcpStream,
    peer: IpAddr,
    shared: Arc<Shared<S>>,
    _permit: OwnedSemaphorePermit,
) {
    connection::serve(stream, peer, shared).await;
}

async fn open_tls<S: Serve>(
    tls: Tls,
    stream: TcpStream,
    peer: IpAddr,
    shared: Arc<Shared<S>>,
    _permit: OwnedSemaphorePermit,
) {
    let handshake = TlsAcceptor::from(tls.config()).accept(stream);
    // A failed or late handshake is the client's business: nothing was said that could be answered.
    if let Ok(Ok(stream)) = timeout(shared.limits.handshake_timeout, handshake).await {
        connection::serve(stream, peer, shared).await;
    }
}
