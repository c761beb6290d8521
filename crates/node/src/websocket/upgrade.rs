//! Asks a node to go on in websocket frames (RFC 6455, section 4.1).
//!
//! Who asks, and what follows, is left to `websocket`. The request is ours and hyper's, since
//! tungstenite's own handshake traces it to the log, credentials and all. Invariant: a node that
//! does not answer as a websocket does is refused, never an error: by HTTP it shows what is wrong.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http::header::{
    CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use socket2::SockRef;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::stream::{Progress, Stream};
use crate::node::{Node, Route};
use crate::{Cause, NodeError, attempt, bounds, zmq};

/// Where dcrd takes websockets (internal/rpcserver/rpcserver.go, `route`).
const PATH: &str = "/ws";
/// Largest head of the answer, in bytes.
const LARGEST_HEAD: usize = 32 << 10;

/// What came of it.
pub(super) enum Upgrade {
    Granted(Box<WebSocketStream<Stream>>, Arc<Progress>),
    /// No websocket for us, or nobody there who knows what that is.
    Refused,
}

impl Node {
    /// Asks for the upgrade; once more with credentials that changed on disk.
    ///
    /// # Errors
    /// No connection, no TLS, or credentials that the node refuses.
    pub(super) async fn upgrade(&self) -> Result<Upgrade, NodeError> {
        let generation = self.credentials.generation();
        match self.try_upgrade().await {
            Err(error) if error.cause == Cause::Unauthorized => {
                self.credentials.read_again();
                match self.credentials.generation() != generation {
                    true => self.try_upgrade().await,
                    false => Err(error),
                }
            }
            outcome => outcome,
        }
    }

    async fn try_upgrade(&self) -> Result<Upgrade, NodeError> {
        let socket = self.connections.socket().await?;
        // An idle websocket to a node that vanished is found out within a minute.
        let _ = SockRef::from(socket.tcp()).set_tcp_keepalive(&zmq::KEEPALIVE);
        let (stream, progress) = Stream::new(socket);
        let key = generate_key();
        let request = self.upgrade_request(&key)?;
        let Ok(Ok((answer, parts))) = timeout(self.probe_limit, exchange(stream, request)).await
        else {
            return Ok(Upgrade::Refused);
        };
        if answer.status() == StatusCode::UNAUTHORIZED {
            return Err(attempt::unauthorized(answer.status(), b""));
        }
        let Some(parts) = parts.filter(|_| is_granted(&answer, &key)) else {
            return Ok(Upgrade::Refused);
        };
        let (stream, early) = (parts.io.into_inner(), parts.read_buf.to_vec());
        let limit = usize::try_from(self.flow_limits.response.min(bounds::LINE)).ok();
        let config = WebSocketConfig::default().max_message_size(limit).max_frame_size(limit);
        let open =
            WebSocketStream::from_partially_read(stream, early, Role::Client, Some(config)).await;
        Ok(Upgrade::Granted(Box::new(open), progress))
    }

    fn upgrade_request(&self, key: &str) -> Result<Request<Empty<Bytes>>, NodeError> {
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = self.path(Route::Path(PATH))?.into();
        let headers = request.headers_mut();
        headers.clone_from(&self.credentials.presented().headers);
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        let key = HeaderValue::from_str(key).expect("base64 is visible ASCII");
        headers.insert(SEC_WEBSOCKET_KEY, key);
        Ok(request)
    }
}

type Parts = http1::Parts<TokioIo<Stream>>;

/// The head of the answer, and the stream where the node let go of HTTP with it.
async fn exchange(
    stream: Stream,
    request: Request<Empty<Bytes>>,
) -> Result<(Response<Incoming>, Option<Parts>), hyper::Error> {
    let mut builder = http1::Builder::new();
    let (mut sender, driven) =
        builder.max_buf_size(LARGEST_HEAD).handshake(TokioIo::new(stream)).await?;
    let mut answer = pin!(sender.send_request(request));
    let mut driven = pin!(driven.without_shutdown());
    let mut parts = None;
    let answer = poll_fn(|cx| {
        if parts.is_none()
            && let Poll::Ready(ended) = driven.as_mut().poll(cx)
        {
            // An error of the connection reaches us by way of the request.
            parts = Some(ended.ok());
        }
        answer.as_mut().poll(cx)
    })
    .await?;
    if parts.is_none() && answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        parts = Some(driven.await.ok());
    }
    Ok((answer, parts.flatten()))
}

/// Whether the answer is that of somebody who speaks websocket, and to us.
fn is_granted(answer: &Response<Incoming>, key: &str) -> bool {
    let headers = answer.headers();
    let says = |name, word: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.is_some_and(|value| value.split(',').any(|one| one.trim().eq_ignore_ascii_case(word)))
    };
    answer.status() == StatusCode::SWITCHING_PROTOCOLS
        && says(UPGRADE, "websocket")
        && says(CONNECTION, "upgrade")
        && headers
            .get(SEC_WEBSOCKET_ACCEPT)
            .is_some_and(|said| *said == derive_accept_key(key.as_bytes()))
}
