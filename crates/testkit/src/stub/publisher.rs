//! How a stub node publishes: `hashblock` for a new tip, `hashtx` for what begins to wait.
//!
//! Everything goes to everybody, whatever was subscribed to. Invariant: a subscriber that does not
//! keep up loses messages, as with a real node, and holds nobody up.
//!
//! Sources: ZMTP 3.0 (rfc.zeromq.org/spec/23), mechanism NULL; Bitcoin Core,
//! src/zmq/zmqpublishnotifier.cpp.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use chain::Hash32;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast::{Receiver, Sender, error::RecvError};
use tokio::task::JoinSet;

/// Messages that are kept for a slow subscriber.
const KEPT: usize = 1024;
/// A command frame with one property.
const READY: &[u8] = b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03PUB";

/// What is published.
#[derive(Debug)]
pub(super) struct Publisher {
    news: Sender<Bytes>,
    sequence: AtomicU32,
}

impl Publisher {
    /// Without subscribers.
    pub(super) fn new() -> Publisher {
        Publisher { news: Sender::new(KEPT), sequence: AtomicU32::new(0) }
    }

    /// Publishes a hash, in display order as nodes do.
    pub(super) fn publish(&self, topic: &str, hash: &Hash32) {
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed);
        let mut message = vec![1, topic.len() as u8];
        message.extend_from_slice(topic.as_bytes());
        message.extend_from_slice(&[1, 32]);
        message.extend(hash.wire().iter().rev());
        message.extend_from_slice(&[0, 4]);
        message.extend_from_slice(&sequence.to_le_bytes());
        // Nobody may be there to hear it.
        let _ = self.news.send(message.into());
    }

    /// The next subscriber's messages.
    fn subscribe(&self) -> Receiver<Bytes> {
        self.news.subscribe()
    }
}

/// Accepts and publishes for ever. Aborting the task closes the connections with it.
pub(super) async fn serve(listener: TcpListener, shared: std::sync::Arc<super::Shared>) {
    let mut subscribers = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    subscribers.spawn(subscriber(stream, shared.publisher.subscribe()));
                }
                Err(_) => tokio::task::yield_now().await,
            },
            Some(_) = subscribers.join_next() => {}
        }
    }
}

async fn subscriber(mut stream: TcpStream, mut news: Receiver<Bytes>) -> io::Result<()> {
    let mut greeting = [0; 64];
    (greeting[0], greeting[9], greeting[10]) = (0xff, 0x7f, 3);
    greeting[12..16].copy_from_slice(b"NULL");
    stream.write_all(&greeting).await?;
    stream.read_exact(&mut greeting).await?;
    stream.write_all(READY).await?;
    let mut ignored = [0; 256];
    loop {
        tokio::select! {
            message = news.recv() => match message {
                Ok(message) => stream.write_all(&message).await?,
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Ok(()),
            },
            read = stream.read(&mut ignored) => if read? == 0 {
                return Ok(());
            },
        }
    }
}
