//! The accept loop.
//!
//! Takes connections while there is room, hands each to a worker, shakes hands where the listener
//! speaks TLS, and lets it run on its own. Leaves what happens on a connection to `connection`.
//! Invariants: no error of one client, and no lack of files, ends the loop or makes it spin; who
//! was connected when the socket closed is answered.

use std::io;
use std::net::{IpAddr, SocketAddr};
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
use crate::workers::Workers;

/// Wait after an error that concerns the process, not one client: no files, no memory.
const BACK_OFF: Duration = Duration::from_millis(100);

/// How long connections may take to close at the end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Serves `listener` on the runtime that this is called on; see [`run_on`].
pub async fn run<S: Serve>(
    listener: TcpListener,
    tls: Option<Tls>,
    limits: Limits,
    service: Arc<S>,
    drain: Drain,
) {
    run_on(Workers::here(), listener, tls, limits, service, drain).await;
}

/// Accepts what comes to `listener` and serves it on `workers` until `drain` ends, then returns
/// when its connections are closed.
///
/// The socket is closed as soon as the drain reaches [`Phase::Closed`].
pub async fn run_on<S: Serve>(
    workers: Workers,
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
    let handing = Handing { workers, tls, room: Arc::clone(&room), shared };
    tokio::select! {
        () = handing.accept(&listener) => {}
        () = drain.reached(Phase::Closed) => {}
    }
    handing.accept_the_last(listener);
    handing.shared.service.refuse_further();
    drain.reached(Phase::Ended).await;
    let all = u32::try_from(capacity).unwrap_or(u32::MAX);
    // What is still open then is dropped with the runtime.
    let _ = timeout(CLOSE_TIMEOUT, room.acquire_many(all)).await;
}

/// How connections come to their workers.
struct Handing<S> {
    workers: Workers,
    tls: Option<Tls>,
    room: Arc<Semaphore>,
    shared: Arc<Shared<S>>,
}

impl<S: Serve> Handing<S> {
    async fn accept(&self, listener: &TcpListener) {
        loop {
            self.shared.crowded.store(self.room.available_permits() == 0, Ordering::Relaxed);
            let Ok(permit) = Arc::clone(&self.room).acquire_owned().await else { return };
            // Its reactor is to be the worker's, so it leaves ours.
            let accepted = listener.accept().await;
            match accepted.and_then(|(stream, peer)| Ok((stream.into_std()?, peer))) {
                Ok((stream, peer)) => self.hand_over(stream, peer, permit),
                Err(error) if is_the_clients(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot accept connections");
                    sleep(BACK_OFF).await;
                }
            }
        }
    }

    /// Takes whoever is connected already, then closes the socket: what waits in it would be reset.
    fn accept_the_last(&self, listener: TcpListener) {
        let Ok(listener) = listener.into_std() else { return };
        while let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() {
            match listener.accept() {
                Ok((stream, peer)) if stream.set_nonblocking(true).is_ok() => {
                    self.hand_over(stream, peer, permit);
                }
                Ok(_) => {}
                Err(error) if is_the_clients(&error) => {}
                // Nobody is left, or nobody can be had.
                Err(_) => return,
            }
        }
    }

    fn hand_over(
        &self,
        stream: std::net::TcpStream,
        peer: SocketAddr,
        permit: OwnedSemaphorePermit,
    ) {
        // Answers are written whole; waiting for more bytes would only delay them.
        let _ = stream.set_nodelay(true);
        let (shared, tls) = (Arc::clone(&self.shared), self.tls.clone());
        let peer = peer.ip().to_canonical();
        self.workers.serve(move || open(stream, peer, tls, shared, permit));
    }
}

/// Did the client give up between its connection and our accepting it (accept(2))?
fn is_the_clients(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

async fn open<S: Serve>(
    stream: std::net::TcpStream,
    peer: IpAddr,
    tls: Option<Tls>,
    shared: Arc<Shared<S>>,
    _permit: OwnedSemaphorePermit,
) {
    // It fails only where the process has no file or memory left: the client sees a reset.
    let Ok(stream) = TcpStream::from_std(stream) else { return };
    match tls {
        None => connection::serve(stream, peer, shared).await,
        Some(tls) => Box::pin(shake_hands(tls, stream, peer, shared)).await,
    }
}

async fn shake_hands<S: Serve>(tls: Tls, stream: TcpStream, peer: IpAddr, shared: Arc<Shared<S>>) {
    let handshake = TlsAcceptor::from(tls.config()).accept(stream);
    // A failed or late handshake is the client's business: nothing was said that could be answered.
    if let Ok(Ok(stream)) = timeout(shared.limits.handshake_timeout, handshake).await {
        connection::serve(stream, peer, shared).await;
    }
}
