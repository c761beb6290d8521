//! The body of a request, which comes back to its connection where a service leaves it unread.
//!
//! Leaves limits of size and time to the services. Invariant: whether a body was read to its end
//! is known to the connection before its answer is sent, so a connection that cannot go on says so
//! (decision B6).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::timeout;

use crate::unread::Unread;
use crate::watch::Watch;

/// How much of a body is read to its end after its request was answered, in bytes.
const UNREAD_BYTES: u64 = 64 << 10;
/// The same on a connection of a trusted proxy, which other clients share.
const UNREAD_BYTES_OF_PROXY: u64 = 256 << 10;
/// How long such a body may take to arrive.
const UNREAD_FOR: Duration = Duration::from_secs(1);

/// The body of a request, as a service reads it.
#[derive(Debug)]
pub struct RequestBody {
    inner: Option<Incoming>,
    touched: bool,
    watch: Arc<Watch>,
}

impl RequestBody {
    pub(crate) fn new(body: Incoming, watch: Arc<Watch>) -> RequestBody {
        let inner = Some(body).filter(|body| !body.is_end_stream());
        RequestBody { inner, touched: false, watch }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = self.inner.as_mut() else { return Poll::Ready(None) };
        let polled = Pin::new(&mut *body).poll_frame(cx);
        let ended = match &polled {
            Poll::Ready(Some(Ok(_))) => body.is_end_stream(),
            Poll::Ready(_) => true,
            Poll::Pending => false,
        };
        self.touched = true;
        if ended {
            self.inner = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if let Some(body) = self.inner.take() {
            self.watch.leave_unread(Unread { body, touched: self.touched });
        }
    }
}

impl Unread {
    /// Reads the rest and drops it, within bounds. Says whether the connection can live on.
    /// `waits`: the client asked for `100 Continue`; `proxy`: it is a trusted proxy.
    pub(crate) async fn finish(self, waits: bool, proxy: bool) -> bool {
        let Unread { mut body, touched } = self;
        let most = if proxy { UNREAD_BYTES_OF_PROXY } else { UNREAD_BYTES };
        // Whether a client that was told no before it sent its body sends it, nobody knows.
        if waits && !touched || body.size_hint().lower() > most {
            return false;
        }
        let reading = async {
            let mut read = 0;
            while !body.is_end_stream() {
                match body.frame().await {
                    None => break,
                    Some(Err(_)) => return false,
                    Some(Ok(frame)) => read += frame.data_ref().map_or(0, |data| data.len() as u64),
                }
                if read > most {
                    return false;
                }
            }
            true
        };
        timeout(UNREAD_FOR, reading).await.unwrap_or(false)
    }
}
