//! One connection, from its first byte to its last.
//!
//! Runs hyper over the watched socket and ends what waits too long. Leaves the reading of heads to
//! hyper and the answers to the service. hyper's own head timer is off: it would bound a connection
//! between two requests by the same time as a head that has begun.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderValue, Request, Response, header};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use pin_project_lite::pin_project;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::{sleep_until, timeout};

use crate::drain::{Drain, Phase};
use crate::limits::Limits;
use crate::refusal::render;
use crate::serve::Serve;
use crate::socket::Socket;
use crate::watch::{Answering, Verdict, Watch};

/// How long a connection may take to close once it has nothing left to say.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// What all connections of a listener share.
pub(crate) struct Shared<S> {
    pub(crate) service: Arc<S>,
    pub(crate) limits: Limits,
    pub(crate) drain: Drain,
    /// No connection is left for the next client.
    pub(crate) crowded: AtomicBool,
}

/// Serves one connection to its end.
pub(crate) async fn serve<S, I>(io: I, peer: IpAddr, shared: Arc<Shared<S>>)
where
    S: Serve,
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let watch = Watch::new(shared.drain.clone());
    let socket = Socket::new(io, Arc::clone(&shared.service), Arc::clone(&watch));
    let call = {
        let (shared, watch) = (Arc::clone(&shared), Arc::clone(&watch));
        service_fn(move |request| {
            // Counted here, before the first poll: from now on the request is in flight.
            answer(Arc::clone(&shared), watch.begin(), request, peer)
        })
    };
    let mut http = http1::Builder::new();
    let head = shared.limits.max_head_bytes.max(8192);
    // The buffer alone is no bound: one read may go past it.
    http.header_read_timeout(None).max_header_size(head).max_buf_size(head);
    let mut connection = http.serve_connection(TokioIo::new(socket), call);
    let ended = shared.drain.reached(Phase::Ended);
    tokio::pin!(ended);
    let mut timer = std::pin::pin!(sleep_until(tokio::time::Instant::now()));
    loop {
        tokio::select! {
            // An error here is the client's going away, or a head that was refused.
            _ = &mut connection => return,
            () = &mut ended => break,
            () = &mut timer => match watch.judge(&shared.limits, shared.crowded.load(Ordering::Relaxed)) {
                Verdict::LookAgain(at) => timer.as_mut().reset(at),
                Verdict::Close => break,
                Verdict::Stalled => return,
                Verdict::HeadTooSlow => {
                    refuse(connection.into_parts().io.into_inner(), &*shared.service).await;
                    return;
                }
            },
        }
    }
    Pin::new(&mut connection).graceful_shutdown();
    let _ = timeout(CLOSE_TIMEOUT, connection).await;
}

/// Asks the service, and sees to what every answer of a listener has in common.
async fn answer<S: Serve>(
    shared: Arc<Shared<S>>,
    answering: Answering,
    request: Request<Incoming>,
    peer: IpAddr,
) -> Result<Response<WatchedBody<S::Body>>, Infallible> {
    let mut response = shared.service.serve(request, peer).await;
    if shared.drain.is_draining() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response.map(|body| WatchedBody { body, answering }))
}

/// Answers a head that never ended.
async fn refuse<S: Serve, I>(mut socket: Socket<I, S>, service: &S)
where
    I: AsyncRead + AsyncWrite + Unpin,
{
    let _ = timeout(CLOSE_TIMEOUT, async {
        socket.write_all(&render(&service.http_refusal())).await?;
        socket.shutdown().await
    })
    .await;
}

pin_project! {
    /// A body that says when it is done.
    struct WatchedBody<B> {
        #[pin]
        body: B,
        answering: Answering,
    }
}

impl<B: Body> Body for WatchedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.project().body.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
