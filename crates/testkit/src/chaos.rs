//! A proxy that breaks the network: it stands in front of any address and spoils what comes back.
//!
//! It knows bytes, not HTTP, but for the head that it makes up itself. Invariant: what it spoils is
//! the answer; requests pass whole.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// What is done to the answers of a connection. Counted from its start, over all its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mischief {
    /// Nothing.
    #[default]
    Pass,
    /// After so many bytes the connection ends as if the answer were whole (FIN).
    CloseAfter(u64),
    /// After so many bytes the connection is reset (RST).
    ResetAfter(u64),
    /// Every piece of an answer waits so long.
    Delay(Duration),
    /// So many bytes a second.
    Throttle(u64),
    /// The request is read, an answer never comes.
    Hang,
    /// The answer is a head of so many bytes; the node is not asked.
    OversizeHead(usize),
    /// The connection is reset as soon as it is there.
    Refuse,
}

/// A running proxy. Dropping it ends its listener and its connections.
#[derive(Debug)]
pub struct Chaos {
    address: SocketAddr,
    mischief: Arc<Mutex<Mischief>>,
    connections: Arc<AtomicU64>,
    task: AbortHandle,
}

impl Chaos {
    /// Stands in front of `upstream`, on the current runtime.
    pub async fn start(upstream: SocketAddr, mischief: Mischief) -> io::Result<Chaos> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let mischief = Arc::new(Mutex::new(mischief));
        let connections = Arc::new(AtomicU64::new(0));
        let accepting = accept(listener, upstream, mischief.clone(), connections.clone());
        let task = tokio::spawn(accepting).abort_handle();
        Ok(Chaos { address, mischief, connections, task })
    }

    /// Where it is reached, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Does something else to connections that come from now on.
    pub fn set(&self, mischief: Mischief) {
        *self.mischief.lock().unwrap_or_else(PoisonError::into_inner) = mischief;
    }

    /// Connections so far.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Acquire)
    }
}

impl Drop for Chaos {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(
    listener: TcpListener,
    upstream: SocketAddr,
    mischief: Arc<Mutex<Mischief>>,
    connections: Arc<AtomicU64>,
) {
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((client, _)) = accepted else { continue };
                connections.fetch_add(1, Ordering::AcqRel);
                let mischief = *mischief.lock().unwrap_or_else(PoisonError::into_inner);
                running.spawn(connection(client, upstream, mischief));
            }
            Some(_) = running.join_next() => {}
        }
    }
}

async fn connection(
    mut client: TcpStream,
    upstream: SocketAddr,
    mischief: Mischief,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    match mischief {
        Mischief::Refuse => return client.set_zero_linger(),
        Mischief::OversizeHead(size) => return oversize_head(&mut client, size).await,
        Mischief::Hang => {
            while client.read_buf(&mut Vec::with_capacity(1024)).await? > 0 {}
            return Ok(());
        }
        _ => {}
    }
    let node = TcpStream::connect(upstream).await?;
    node.set_nodelay(true)?;
    let (mut from_node, mut to_node) = node.into_split();
    let (mut from_client, mut to_client) = client.into_split();
    let requests = tokio::spawn(async move {
        let _ = tokio::io::copy(&mut from_client, &mut to_node).await;
        to_node.shutdown().await
    });
    let resets = spoil(&mut from_node, &mut to_client, mischief).await?;
    requests.abort();
    if resets {
        to_client.as_ref().set_zero_linger()?;
        // Its drop would end the connection cleanly first.
        to_client.forget();
        return Ok(());
    }
    to_client.shutdown().await
}

/// Passes the answers on until one side ends; `true` if the connection is to be reset.
async fn spoil(
    from: &mut OwnedReadHalf,
    to: &mut OwnedWriteHalf,
    mischief: Mischief,
) -> io::Result<bool> {
    let (limit, resets) = match mischief {
        Mischief::CloseAfter(limit) => (limit, false),
        Mischief::ResetAfter(limit) => (limit, true),
        _ => (u64::MAX, false),
    };
    let mut passed = 0_u64;
    let mut piece = vec![0; 16 * 1024];
    loop {
        let size = from.read(&mut piece).await?;
        if size == 0 {
            return Ok(false);
        }
        if let Mischief::Delay(wait) = mischief {
            tokio::time::sleep(wait).await;
        }
        let size = u64::try_from(size).unwrap_or(u64::MAX).min(limit - passed);
        let part = &piece[..usize::try_from(size).unwrap_or(piece.len())];
        match mischief {
            Mischief::Throttle(rate) => slowly(to, part, rate).await?,
            _ => to.write_all(part).await?,
        }
        passed += size;
        if passed >= limit {
            return Ok(resets);
        }
    }
}

async fn slowly(to: &mut OwnedWriteHalf, bytes: &[u8], per_second: u64) -> io::Result<()> {
    // Ten pieces a second.
    let size = usize::try_from(per_second / 10).unwrap_or(usize::MAX).max(1);
    for part in bytes.chunks(size) {
        to.write_all(part).await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

async fn oversize_head(client: &mut TcpStream, size: usize) -> io::Result<()> {
    client.read_buf(&mut Vec::with_capacity(64 * 1024)).await?;
    let (open, close) = ("HTTP/1.1 200 OK\r\nX-Filling: ", "\r\nContent-Length: 2\r\n\r\n{}");
    let filling = "x".repeat(size.saturating_sub(open.len() + close.len() - 2));
    client.write_all([open, &filling, close].concat().as_bytes()).await?;
    client.shutdown().await
}
