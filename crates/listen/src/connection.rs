//! One connection, from its first byte to its last.
//!
//! Runs hyper over the watched socket and ends what waits too long. Leaves the reading of heads to
//! hyper and the answers to the service. hyper's own head timer is off: it would bound a connection
//! between two requests by the same time as a head that has begun.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use pin_project_lite::pin_project;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::task::unconstrained;
use tokio::time::{sleep_until, timeout};

use crate::drain::{Drain, Phase};
use crate::limits::Limits;
use crate::refusal::render;
use crate::request_body::RequestBody;
use crate::request_id::RequestId;
use crate::reset::Reset;
use crate::serve::{HttpRefusal, Serve};
use crate::socket::Socket;
use crate::watch::{Answering, Verdict, Watch};

/// How long after it was opened a connection may still bring its first request, at the end.
const FIRST_WORDS: Duration = Duration::from_secs(1);

/// How long a connection may take to close once it has nothing left to say.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

const CLOSE: HeaderValue = HeaderValue::from_static("close");

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
    I: AsyncRead + AsyncWrite + Reset + Unpin + Send + 'static,
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
    http.header_read_timeout(None).max_header_size(head).max_buf_size(head).half_close(true);
    let mut connection = http.serve_connection(TokioIo::new(socket), call);
    let ended = shared.drain.reached(Phase::Ended);
    let mut ended = pin!(ended);
    let mut timer = pin!(sleep_until(tokio::time::Instant::now()));
    // Who is woken by the end and by the timer. As long as it is the same they need not be asked, but for the
    // end once it has begun: each phase wakes once whoever waits for a later one, and may be seen before
    // it does.
    let mut told: Option<Waker> = None;
    loop {
        let next = poll_fn(|cx| {
            if Pin::new(&mut connection).poll(cx).is_ready() {
                return Poll::Ready(Next::Gone);
            }
            let knows_us = told.as_ref().is_some_and(|told| told.will_wake(cx.waker()));
            // Not counted against the task's budget: what is not asked for lack of it wakes nobody.
            if (!knows_us || shared.drain.is_draining()) && polls_ready(ended.as_mut(), cx) {
                return Poll::Ready(Next::Ended);
            }
            if (!knows_us || timer.is_elapsed()) && polls_ready(timer.as_mut(), cx) {
                return Poll::Ready(Next::Judge);
            }
            if !knows_us {
                told = Some(cx.waker().clone());
            }
            Poll::Pending
        });
        match next.await {
            // An error of the connection is the client's going away, or a head that was refused.
            Next::Gone => return,
            Next::Ended => break,
            Next::Judge => {}
        }
        told = None;
        match watch.judge(&shared.limits, shared.crowded.load(Ordering::Relaxed)) {
            Verdict::LookAgain(at) => timer.as_mut().reset(at),
            Verdict::Close => break,
            Verdict::Stalled => return,
            Verdict::HeadTooSlow => {
                refuse(connection.into_parts().io.into_inner(), &*shared.service).await;
                return;
            }
        }
    }
    if let Some(until) = watch.first_words_until(FIRST_WORDS) {
        tokio::select! {
            _ = &mut connection => return,
            () = sleep_until(until) => {}
        }
    }
    Pin::new(&mut connection).graceful_shutdown();
    let _ = timeout(CLOSE_TIMEOUT, connection).await;
}

/// Whether it is over, whatever the task's budget.
fn polls_ready(future: Pin<&mut impl Future>, cx: &mut Context<'_>) -> bool {
    pin!(unconstrained(future)).poll(cx).is_ready()
}

/// What is next for a connection.
enum Next {
    /// Nothing: it is over.
    Gone,
    /// The process ends.
    Ended,
    /// It is to be judged.
    Judge,
}

/// Asks the service, and sees to what every answer of a listener has in common.
async fn answer<S: Serve>(
    shared: Arc<Shared<S>>,
    answering: Answering,
    request: Request<Incoming>,
    peer: IpAddr,
) -> Result<Response<WatchedBody<S::Body>>, Infallible> {
    if !is_plainly_framed(request.headers()) {
        return Ok(unreadable(&*shared.service, answering));
    }
    let waits = request.headers().contains_key(header::EXPECT);
    let request = request.map(|body| RequestBody::new(body, Arc::clone(answering.watch())));
    let mut response = shared.service.serve(request, peer).await;
    let lives_on = match answering.watch().take_unread() {
        Some(unread) => {
            let proxy = shared.service.is_proxy(peer);
            Box::pin(unread.finish(waits, proxy)).await
        }
        None => true,
    };
    if !lives_on || shared.drain.is_draining() {
        response.headers_mut().insert(header::CONNECTION, CLOSE);
    }
    Ok(response.map(|body| WatchedBody { body: Content::Service { body }, answering }))
}

/// Is the body framed by a length, or by chunks and nothing besides? hyper takes any list of
/// codings that ends in `chunked` and undoes the last one alone, so what a service reads then is
/// not what the client meant.
fn is_plainly_framed(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(coding), None) => coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked"),
        (Some(_), Some(_)) => false,
    }
}

/// The service's answer to a request that cannot be read.
fn unreadable<S: Serve>(service: &S, answering: Answering) -> Response<WatchedBody<S::Body>> {
    let HttpRefusal { content_type, request_id, body } = service.http_refusal();
    let body = WatchedBody { body: Content::Ours { bytes: body }, answering };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::BAD_REQUEST;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Ok(id) = HeaderValue::try_from(request_id) {
        RequestId::stamp_value(id, headers);
    }
    headers.insert(header::CONNECTION, CLOSE);
    response
}

/// Answers a head that never ended.
async fn refuse<S: Serve, I>(mut socket: Socket<I, S>, service: &S)
where
    I: AsyncRead + AsyncWrite + Reset + Unpin,
{
    let _ = timeout(CLOSE_TIMEOUT, async {
        socket.write_all(&render(&service.http_refusal())).await?;
        socket.shutdown().await
    })
    .await;
}

pin_project! {
    /// A body that says when it is done, and how.
    struct WatchedBody<B> {
        #[pin]
        body: Content<B>,
        answering: Answering,
    }
}

pin_project! {
    #[project = Projected]
    enum Content<B> {
        Service { #[pin] body: B },
        Ours { bytes: Bytes },
    }
}

impl<B: Body<Data = Bytes>> Body for WatchedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.project();
        let polled = match this.body.project() {
            Projected::Service { body } => body.poll_frame(cx),
            Projected::Ours { bytes } if bytes.is_empty() => Poll::Ready(None),
            Projected::Ours { bytes } => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
        };
        if let Poll::Ready(Some(Err(_))) = &polled {
            this.answering.watch().broke_off();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        match &self.body {
            Content::Service { body } => body.is_end_stream(),
            Content::Ours { bytes } => bytes.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            Content::Service { body } => body.size_hint(),
            Content::Ours { bytes } => SizeHint::with_exact(bytes.len() as u64),
        }
    }
}
