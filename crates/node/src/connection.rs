//! One HTTP/1.1 connection to a node, driven by whoever waits for its answer.
//!
//! hyper's connection future is not spawned: the task of the request polls it, which saves two
//! wake-ups a call and lets a dropped request close the connection at once. hyper's channels
//! between the two halves are polled with a waker that does nothing, because they only ever
//! become ready while we drive the connection ourselves. Keeping it is left to `connections`. Invariant: a
//! connection with an unfinished exchange is never used again.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::runtime::{self, Handle};
use tokio::time::Sleep;

use crate::digest::Session;
use crate::open_connection::OpenConnection;
use crate::says::Refusal;
use crate::stream::{Progress, Socket, Stream};
use crate::{Cause, NodeError, Sent};

/// Largest read buffer of a connection, and so the largest head, in bytes. Some hundred slow
/// readers each hold one of these.
const READ_BUFFER: usize = 32 << 10;

/// One HTTP/1.1 connection.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driven: http1::Connection<TokioIo<Stream>, Full<Bytes>>,
    progress: Arc<Progress>,
    /// Fires at the end of the time for a head. Kept over the calls of a connection, because
    /// moving a timer to a later time costs far less than making one.
    alarm: Pin<Box<Sleep>>,
    ended: bool,
    used: bool,
    idle_since: Instant,
    /// The runtime whose reactor wakes it.
    home: runtime::Id,
    _counted: OpenConnection,
    /// The Digest challenge that this connection answers.
    pub(crate) digest: Option<Session>,
}

impl Connection {
    /// Speaks HTTP over an open socket.
    pub(crate) async fn open(
        socket: Socket,
        counted: OpenConnection,
    ) -> Result<Box<Connection>, NodeError> {
        let (stream, progress) = Stream::new(socket);
        let (sender, driven) = http1::Builder::new()
            .max_buf_size(READ_BUFFER)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| NodeError::unsent(Cause::Connect, error))?;
        Ok(Box::new(Connection {
            sender,
            driven,
            progress,
            alarm: Box::pin(tokio::time::sleep(Duration::ZERO)),
            ended: false,
            used: false,
            idle_since: Instant::now(),
            home: Handle::current().id(),
            _counted: counted,
            digest: None,
        }))
    }

    /// Whether an earlier exchange was made over this connection.
    pub(crate) fn is_reused(&self) -> bool {
        self.used
    }

    /// The runtime on which it was opened.
    pub(crate) fn home(&self) -> runtime::Id {
        self.home
    }

    /// When the connection was last found free.
    pub(crate) fn idle_since(&self) -> Instant {
        self.idle_since
    }

    /// Sends a request and waits for the head of its answer until `deadline`.
    pub(crate) async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        deadline: Instant,
    ) -> Result<Response<Incoming>, NodeError> {
        let (written, read) = (self.progress.written(), self.progress.read());
        if self.used {
            // A new connection may get a session ticket of TLS at any time.
            self.progress.demand_silence();
        }
        self.alarm.as_mut().reset(deadline.into());
        // Not counted against the task's budget: a channel that is not ready for lack of budget
        // would wake the waker that does nothing.
        let mut answer = pin!(tokio::task::unconstrained(self.sender.try_send_request(request)));
        let (driven, alarm, ended) = (&mut self.driven, &mut self.alarm, &mut self.ended);
        let outcome = poll_fn(|cx| {
            drive(driven, ended, cx);
            match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(Ok(response)) => Poll::Ready(Ok(response)),
                Poll::Ready(Err(error)) => Poll::Ready(Err(Some(error.into_error()))),
                Poll::Pending => {
                    ready!(alarm.as_mut().poll(cx));
                    Poll::Ready(Err(None))
                }
            }
        })
        .await;
        outcome.map_err(|error| {
            let got_bytes = self.progress.read() != read;
            let sent = if self.progress.written() == written { Sent::Nothing } else { Sent::Maybe };
            let error = match error {
                Some(error) if error.is_parse() && self.progress.spoke_tls() => {
                    NodeError::new(Cause::Tls, sent).refusing(Refusal::SpeaksTls)
                }
                error => head_error(error, sent),
            };
            error.got_bytes(got_bytes).reused(self.used)
        })
    }

    /// Drives the connection and takes the next frame of an answer's body.
    pub(crate) fn poll_data(
        &mut self,
        body: &mut Incoming,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, hyper::Error>>> {
        if let Poll::Ready(frame) = poll_quietly(body) {
            return Poll::Ready(frame);
        }
        drive(&mut self.driven, &mut self.ended, cx);
        poll_quietly(body)
    }

    /// Takes what of the body is here already, without waiting.
    ///
    /// Small answers come in one piece with their head; reading them here saves their caller all
    /// that a streamed body costs.
    pub(crate) fn read_immediate(&mut self, body: &mut Incoming) -> Immediate {
        let mut first = VecDeque::new();
        let mut quiet = Context::from_waker(Waker::noop());
        for _ in 0..2 {
            if body.is_end_stream() {
                return Immediate::whole(first);
            }
            match poll_quietly(body) {
                Poll::Ready(Some(Ok(data))) => first.push_back(data),
                Poll::Ready(Some(Err(error))) => return Immediate::Broken(error),
                Poll::Ready(None) => return Immediate::whole(first),
                Poll::Pending => return Immediate::Part(first),
            }
            if body.is_end_stream() {
                return Immediate::whole(first);
            }
            // The end of a body without a length may be in the buffer already.
            drive(&mut self.driven, &mut self.ended, &mut quiet);
        }
        Immediate::Part(first)
    }

    /// Whether the connection can serve another request, once an answer was read to its end.
    ///
    /// The connection is polled with a waker that does nothing, so that neither its socket nor
    /// its channels wake the task of the last request any more.
    pub(crate) fn settle(&mut self) -> bool {
        self.used = true;
        self.idle_since = Instant::now();
        self.is_free()
    }

    /// Whether the node has neither closed the connection nor sent anything unasked.
    pub(crate) fn is_free(&mut self) -> bool {
        let mut quiet = Context::from_waker(Waker::noop());
        drive(&mut self.driven, &mut self.ended, &mut quiet);
        !self.ended && self.sender.is_ready()
    }
}

/// What of a body came together with its head.
pub(crate) enum Immediate {
    /// All of it.
    Whole(Bytes),
    /// These pieces, and more will come.
    Part(VecDeque<Bytes>),
    /// The connection broke.
    Broken(hyper::Error),
}

impl Immediate {
    fn whole(mut pieces: VecDeque<Bytes>) -> Immediate {
        match pieces.len() {
            0 => Immediate::Whole(Bytes::new()),
            1 => Immediate::Whole(pieces.pop_front().expect("there is one piece")),
            _ => Immediate::Whole(Vec::from(pieces).concat().into()),
        }
    }
}

fn drive(
    driven: &mut http1::Connection<TokioIo<Stream>, Full<Bytes>>,
    ended: &mut bool,
    cx: &mut Context<'_>,
) {
    // An error of the connection reaches the caller by way of the request or the body.
    if !*ended && Pin::new(driven).poll(cx).is_ready() {
        *ended = true;
    }
}

fn poll_quietly(body: &mut Incoming) -> Poll<Option<Result<Bytes, hyper::Error>>> {
    let mut quiet = Context::from_waker(Waker::noop());
    loop {
        match ready!(Pin::new(&mut *body).poll_frame(&mut quiet)) {
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => return Poll::Ready(Some(Ok(data))),
                // Trailers are no part of an answer.
                Err(_) => continue,
            },
            Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            None => return Poll::Ready(None),
        }
    }
}

fn head_error(error: Option<hyper::Error>, sent: Sent) -> NodeError {
    match error {
        None => NodeError::new(Cause::TimedOutFirstByte, sent),
        Some(error) if error.is_parse() => NodeError::new(Cause::Malformed, sent).detail(error),
        Some(error) => NodeError::new(Cause::Broken, sent).detail(error),
    }
}
