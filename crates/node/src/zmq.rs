//! News of a node by ZMQ: a word that something happened, never what.
//!
//! What to do about it is left to whoever waits. Invariants: a message is only ever a wake-up, a
//! publisher that is silent or gone is no error, and nothing that a peer says costs more than a
//! small buffer.
//!
//! These few lines are ours because the crate `zeromq` 0.7 makes room for whatever length a frame
//! claims to have, so that nine bytes of a peer can end the process. Source: ZMTP 3.0
//! (rfc.zeromq.org/spec/23), mechanism NULL, a SUB socket; topics: Bitcoin Core, doc/zmq.md.

use std::io;
use std::time::Duration;

use http::Uri;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Signature, version 3.0, mechanism NULL, no server, filler.
const GREETING: [u8; 64] = {
    let mut greeting = [0; 64];
    greeting[0] = 0xff;
    greeting[9] = 0x7f;
    greeting[10] = 3;
    [greeting[12], greeting[13], greeting[14], greeting[15]] = *b"NULL";
    greeting
};
/// `READY` with one property, as a command frame.
const READY: &[u8] = b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03SUB";
/// What we subscribe to: 32 bytes of a hash each, not whole blocks.
const TOPICS: [&[u8]; 2] = [b"hashblock", b"hashtx"];
/// Longest frame that is read, in bytes; the longest that is due is a hash.
const LONGEST_FRAME: u64 = 4096;
const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

/// For the connection, and again for greeting and `READY`.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);
/// A publisher that was cut off without a word is found out within a minute.
pub(crate) const KEEPALIVE: TcpKeepalive =
    TcpKeepalive::new().with_time(Duration::from_secs(30)).with_interval(Duration::from_secs(10));

/// Where a node publishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Publisher {
    host: String,
    port: u16,
}

impl Publisher {
    /// Reads `tcp://host:port`; the error says what is wrong without repeating it.
    pub(crate) fn parse(url: &str) -> Result<Publisher, &'static str> {
        let wrong = "zmq must be tcp://host:port";
        let uri: Uri = url.parse().map_err(|_| wrong)?;
        let (authority, port) =
            uri.authority().and_then(|a| Some((a, a.port_u16()?))).ok_or(wrong)?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let bare = uri.path().trim_matches('/').is_empty() && uri.query().is_none();
        match uri.scheme_str() == Some("tcp") && bare && !authority.as_str().contains('@') {
            true if !host.is_empty() && host != "*" => {
                Ok(Publisher { host: host.to_owned(), port })
            }
            _ => Err(wrong),
        }
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        let tcp = timeout(HANDSHAKE_LIMIT, TcpStream::connect((self.host.as_str(), self.port)))
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        tcp.set_nodelay(true)?;
        SockRef::from(&tcp).set_tcp_keepalive(&KEEPALIVE)?;
        Ok(tcp)
    }
}

/// Connects and subscribes once, to see whether somebody publishes there.
pub(crate) async fn greet(publisher: &Publisher) -> io::Result<()> {
    let mut peer = BufReader::new(publisher.connect().await?);
    timeout(HANDSHAKE_LIMIT, subscribe(&mut peer))
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

/// Listens until the connection ends; says of each message whether it may be about a block.
pub(crate) async fn listen(
    publisher: &Publisher,
    mut tick: impl FnMut(bool),
) -> Result<std::convert::Infallible, io::Error> {
    let mut peer = BufReader::new(publisher.connect().await?);
    timeout(HANDSHAKE_LIMIT, subscribe(&mut peer))
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    tick(true);
    let mut of_block = false;
    loop {
        let frame = read_frame(&mut peer).await?;
        of_block |= frame.body == TOPICS[0];
        if frame.is_last_of_message() {
            tick(std::mem::take(&mut of_block));
        }
    }
}

/// Greeting, `READY` and subscriptions.
async fn subscribe<S: AsyncRead + AsyncWrite + Unpin>(peer: &mut S) -> io::Result<()> {
    peer.write_all(&GREETING).await?;
    peer.flush().await?;
    let mut greeting = [0; 64];
    peer.read_exact(&mut greeting[..10]).await?;
    if greeting[0] != 0xff || greeting[9] & 1 == 0 {
        return Err(garbled("no ZMTP"));
    }
    peer.read_exact(&mut greeting[10..]).await?;
    if greeting[10] < 3 {
        return Err(garbled("ZMTP older than 3.0"));
    }
    if greeting[12..32] != GREETING[12..32] {
        return Err(garbled("another security mechanism than NULL"));
    }
    let mut opening = READY.to_vec();
    for topic in TOPICS {
        opening.extend_from_slice(&[0, topic.len() as u8 + 1, 1]);
        opening.extend_from_slice(topic);
    }
    peer.write_all(&opening).await?;
    peer.flush().await?;
    let ready = read_frame(peer).await?;
    match ready.flags & COMMAND != 0 && ready.body.starts_with(b"\x05READY") {
        true => Ok(()),
        false => Err(garbled("not READY")),
    }
}

/// A frame.
struct Frame {
    flags: u8,
    body: Vec<u8>,
}

impl Frame {
    fn is_last_of_message(&self) -> bool {
        self.flags & (MORE | COMMAND) == 0
    }
}

async fn read_frame<R: AsyncRead + Unpin>(peer: &mut R) -> io::Result<Frame> {
    let flags = peer.read_u8().await?;
    let length = match flags & LONG {
        0 => u64::from(peer.read_u8().await?),
        _ => peer.read_u64().await?,
    };
    if flags > (MORE | LONG | COMMAND) || length > LONGEST_FRAME {
        return Err(garbled("no frame that is due"));
    }
    let mut body = vec![0; length as usize];
    peer.read_exact(&mut body).await?;
    Ok(Frame { flags, body })
}

fn garbled(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked() {
        let at = Publisher::parse("tcp://[::1]:28332").unwrap();
        assert_eq!((at.host.as_str(), at.port), ("::1", 28332));
        assert_eq!(Publisher::parse("tcp://node:1/").unwrap().host, "node");
        for bad in
            ["", "node:1", "tcp://node", "ipc://x", "tcp://*:1", "tcp://u@n:1", "tcp://n:1/x"]
        {
            assert!(Publisher::parse(bad).is_err(), "{bad}");
        }
    }

    /// What a peer says, and what subscribing and one frame make of it.
    async fn hear(words: &[&[u8]]) -> (io::Result<()>, Vec<u8>) {
        let (mut ours, mut theirs) = tokio::io::duplex(1 << 16);
        theirs.write_all(&words.concat()).await.unwrap();
        theirs.shutdown().await.unwrap();
        let heard = match subscribe(&mut ours).await {
            Ok(()) => read_frame(&mut ours).await.map(|frame| {
                assert!(frame.is_last_of_message());
            }),
            Err(error) => Err(error),
        };
        drop(ours);
        let mut said = Vec::new();
        theirs.read_to_end(&mut said).await.unwrap();
        (heard, said)
    }

    #[tokio::test]
    async fn handshake_subscribes_to_the_two_topics() {
        let ready = b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03PUB";
        let (heard, said) = hear(&[&GREETING, ready, b"\x00\x01x"]).await;
        heard.unwrap();
        assert_eq!(said[..64], GREETING);
        let rest = [READY, b"\x00\x0a\x01hashblock\x00\x07\x01hashtx"].concat();
        assert_eq!(said[64..], rest);
    }

    #[tokio::test]
    async fn garbage_is_told_from_a_publisher() {
        let mut old = GREETING;
        old[10] = 2;
        let mut curve = GREETING;
        curve[12..17].copy_from_slice(b"CURVE");
        let huge = [&b"\x06"[..], &[0x7f; 8]].concat();
        let ready = b"\x04\x06\x05READY";
        let cases: [&[&[u8]]; 8] = [
            &[b"HTTP/1.1 400 Bad Request\r\n\r\n"],
            &[b""],
            &[&GREETING[..30]],
            &[&old, ready],
            &[&curve, ready],
            &[&GREETING, b"\x04\x06\x05ERROR"],
            &[&GREETING, &huge],
            &[&GREETING, ready, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"],
        ];
        for words in cases {
            assert!(hear(words).await.0.is_err(), "{words:?}");
        }
    }
}
