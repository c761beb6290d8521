//! The websocket of a replayed node (RFC 6455): messages in, answers out.
//!
//! The upgrade is a [`Reply`] like others; what is answered is left to the [`Node`]. Invariant: a
//! message that breaks a bound ends its connection.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::BytesMut;
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use crate::chunks::Chunks;
use crate::node::Node;
use crate::wire::Reply;

/// The largest message that dcrd reads (internal/rpcserver/rpcwebsocket.go,
/// `websocketReadLimitAuthenticated`), in bytes.
const LARGEST: usize = 1 << 24;

/// Grants what the client of this key asks for.
pub(crate) fn granted(key: &str) -> Reply {
    let mut reply = Reply::new(101, "", Chunks::default());
    reply.headers.push(("Upgrade", "websocket".to_owned()));
    reply.headers.push(("Connection", "Upgrade".to_owned()));
    reply.headers.push(("Sec-WebSocket-Accept", derive_accept_key(key.trim().as_bytes())));
    reply.upgrades = true;
    reply
}

/// Answers messages until one side lets go.
pub(crate) async fn speak<N: Node, S>(stream: S, early: BytesMut, node: &N, over: &AtomicBool)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let config =
        WebSocketConfig::default().max_message_size(Some(LARGEST)).max_frame_size(Some(LARGEST));
    let (role, early) = (Role::Server, early.to_vec());
    let mut socket = WebSocketStream::from_partially_read(stream, early, role, Some(config)).await;
    while let Some(Ok(message)) = socket.next().await {
        let Message::Text(text) = message else { continue };
        let Some(answer) = node.message(&text) else { continue };
        // What was recorded is JSON, and so UTF-8.
        let Ok(answer) = Utf8Bytes::try_from(answer.whole()) else { return };
        if over.load(Ordering::SeqCst) || socket.send(Message::Text(answer)).await.is_err() {
            return;
        }
    }
}
