//! The accept loop of a replayed node: connections, one request after the other on each.
//!
//! What to answer is left to the [`Node`]. Invariant: dropping a [`Server`] ends the listener and
//! every connection; nothing that is asked afterwards is answered.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::node::Node;
use crate::options::Tls;
use crate::websocket;
use crate::wire::Wire;

/// A listener and its connections.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    task: AbortHandle,
    over: Arc<AtomicBool>,
    connections: Arc<AtomicU64>,
}

impl Server {
    /// Listens, and answers on the current runtime.
    pub(crate) async fn start<N: Node>(
        listen: SocketAddr,
        tls: Option<Tls>,
        node: Arc<N>,
    ) -> io::Result<Server> {
        let listener = TcpListener::bind(listen).await?;
        let address = listener.local_addr()?;
        let tls = tls.map(|tls| TlsAcceptor::from(tls.config));
        let over = Arc::new(AtomicBool::new(false));
        let connections = Arc::default();
        let serving = Serving { tls, node, over: Arc::clone(&over), connections };
        let connections = Arc::clone(&serving.connections);
        let task = tokio::spawn(accept(listener, Arc::new(serving))).abort_handle();
        Ok(Server { address, task, over, connections })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections so far, each with its handshake where it is over TLS.
    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Ordering::Acquire)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The tasks end when the runtime comes to them, which may be after the next request.
        self.over.store(true, Ordering::SeqCst);
        self.task.abort();
    }
}

/// What all connections share.
struct Serving<N> {
    tls: Option<TlsAcceptor>,
    node: Arc<N>,
    over: Arc<AtomicBool>,
    connections: Arc<AtomicU64>,
}

async fn accept<N: Node>(listener: TcpListener, serving: Arc<Serving<N>>) {
    // Aborting this task drops the set, which aborts the connections.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, Arc::clone(&serving)));
                }
                // No descriptor left, or the client was gone already.
                Err(_) => tokio::task::yield_now().await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection<N: Node>(stream: TcpStream, serving: Arc<Serving<N>>) {
    let _ = stream.set_nodelay(true);
    // An error here is a client that went away, or speaks no TLS.
    let _ = match &serving.tls {
        Some(tls) => match tls.accept(stream).await {
            Ok(stream) => speak(stream, &serving).await,
            Err(error) => Err(error),
        },
        None => speak(stream, &serving).await,
    };
}

async fn speak<N: Node, S>(stream: S, serving: &Serving<N>) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    serving.connections.fetch_add(1, Ordering::AcqRel);
    let (node, over) = (&serving.node, &serving.over);
    let mut wire = Wire::new(stream);
    let mut session = N::Session::default();
    while let Some(request) = wire.request().await? {
        let reply = node.answer(&mut session, &request);
        if let Some(delay) = reply.delay {
            tokio::time::sleep(delay).await;
        }
        if over.load(Ordering::SeqCst) {
            return Ok(());
        }
        if reply.hang_up || !wire.reply(&reply, request.last).await? {
            break;
        }
        if reply.upgrades {
            let (stream, early) = wire.into_stream();
            websocket::speak(stream, early, &**node, over).await;
            return Ok(());
        }
    }
    wire.close().await
}
