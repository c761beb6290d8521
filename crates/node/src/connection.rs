//! One HTTP/1.1 connection to a node, driven by whoever waits for its answer.
//!
//! No task runs for it and nothing stands between it and its reader: a call writes its bytes, reads a
//! head, and takes the body piece by piece out of the buffer that it came in. What a dropped request
//! leaves is closed at once. Keeping connections is left to `connections`. Invariants: a connection
//! with an unfinished exchange is never used again; no request is written over bytes that the node
//! sent before it.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use memchr::memchr;
use tokio::io::AsyncReadExt;
use tokio::runtime::{self, Handle};
use tokio::task::unconstrained;
use tokio::time::Sleep;

use crate::answer_head::{AnswerHead, Beginning, NotHttp, read};
use crate::digest::Session;
use crate::framing::{Framing, Garbled};
use crate::open_connection::OpenConnection;
use crate::outgoing::Outgoing;
use crate::says::Refusal;
use crate::stream::Socket;
use crate::{Cause, NodeError, Sent};

/// Largest head, and most that is read at once, in bytes. Some hundred slow readers each hold one of
/// these.
const READ_BUFFER: usize = 32 << 10;
/// What is read at once of an answer whose length is not known to be large, in bytes.
const SMALL_BUFFER: usize = 8 << 10;
/// First bytes of an alert and of a handshake (RFC 8446, section 5.1). No HTTP begins with these.
const TLS_RECORDS: [u8; 2] = [0x15, 0x16];

/// One HTTP/1.1 connection.
pub(crate) struct Connection {
    socket: Socket,
    outgoing: Outgoing,
    /// What was read and not taken yet.
    buffer: BytesMut,
    /// How much of it was looked through for the end of a head.
    looked_at: usize,
    /// It was made for large reads.
    is_large: bool,
    /// How the body that is being read ends.
    framing: Framing,
    /// Bytes that were read since it was opened.
    read: u64,
    /// Bytes of heads that were passed over since the last request.
    passed_over: usize,
    /// The node answered a request in the clear with a record of TLS.
    spoke_tls: bool,
    /// Fires at the end of the time for a head. Kept over the calls of a connection, because
    /// moving a timer to a later time costs far less than making one.
    alarm: Pin<Box<Sleep>>,
    /// It cannot serve another request.
    ended: bool,
    used: bool,
    idle_since: Instant,
    /// The runtime whose reactor wakes it.
    home: runtime::Id,
    _counted: OpenConnection,
    /// The Digest challenge that this connection answers.
    pub(crate) digest: Option<Session>,
}

/// Why an exchange goes no further.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Break {
    #[error("{0}")]
    Socket(#[from] io::Error),
    #[error("the node hung up before the answer was complete")]
    HungUp,
    #[error("the node spoke or hung up while nothing was asked")]
    Unasked,
    #[error("{0}")]
    NotHttp(&'static str),
    #[error("no head in time")]
    Late,
}

impl From<NotHttp> for Break {
    fn from(NotHttp(what): NotHttp) -> Break {
        Break::NotHttp(what)
    }
}

impl From<Garbled> for Break {
    fn from(_: Garbled) -> Break {
        Break::NotHttp("the chunks cannot be read")
    }
}

impl Connection {
    /// Speaks HTTP over an open socket.
    pub(crate) fn open(socket: Socket, counted: OpenConnection) -> Box<Connection> {
        Box::new(Connection {
            socket,
            outgoing: Outgoing::default(),
            buffer: BytesMut::new(),
            looked_at: 0,
            is_large: false,
            framing: Framing::Over,
            read: 0,
            passed_over: 0,
            spoke_tls: false,
            alarm: Box::pin(tokio::time::sleep(Duration::ZERO)),
            ended: false,
            used: false,
            idle_since: Instant::now(),
            home: Handle::current().id(),
            _counted: counted,
            digest: None,
        })
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

    /// The request that [`Connection::exchange`] sends next.
    pub(crate) fn outgoing(&mut self) -> &mut Outgoing {
        &mut self.outgoing
    }

    /// Sends the request that was made ready and waits for the head of its answer until `deadline`.
    pub(crate) async fn exchange(&mut self, deadline: Instant) -> Result<AnswerHead, NodeError> {
        let before = self.read;
        (self.passed_over, self.looked_at) = (0, 0);
        // A new connection may get a session ticket of TLS at any time.
        let may_speak = !self.used && matches!(self.socket, Socket::Tls(_));
        let outcome = match may_speak || self.is_silent() {
            true => {
                self.alarm.as_mut().reset(deadline.into());
                poll_fn(|cx| self.poll_head(cx)).await
            }
            false => Err(Break::Unasked),
        };
        outcome.map_err(|error| {
            self.ended = true;
            let sent = if self.outgoing.has_begun() { Sent::Maybe } else { Sent::Nothing };
            let error = match error {
                Break::Late => NodeError::new(Cause::TimedOutFirstByte, sent),
                Break::NotHttp(_) if self.spoke_tls => {
                    NodeError::new(Cause::Tls, sent).refusing(Refusal::SpeaksTls)
                }
                Break::NotHttp(what) => NodeError::new(Cause::Malformed, sent).detail(what),
                error => NodeError::new(Cause::Broken, sent).detail(error),
            };
            error.got_bytes(self.read != before).reused(self.used)
        })
    }

    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<AnswerHead, Break>> {
        self.write(cx)?;
        loop {
            if self.may_hold_head()
                && let Some(head) = self.take_head()?
            {
                return Poll::Ready(Ok(head));
            }
            // Twice as much each time, so that a head in many pieces is not read over too often.
            let room = SMALL_BUFFER.max(self.buffer.len()).min(READ_BUFFER - self.buffer.len());
            if room == 0 {
                return Poll::Ready(Err(Break::NotHttp("the head is too long")));
            }
            match self.poll_read(room, cx)? {
                Poll::Ready(0) => return Poll::Ready(Err(Break::HungUp)),
                Poll::Ready(_) => {}
                Poll::Pending => break,
            }
        }
        // Not counted against the task's budget, which a node that sends without end uses up.
        ready!(pin!(unconstrained(self.alarm.as_mut())).poll(cx));
        Poll::Ready(Err(Break::Late))
    }

    /// Whether it is worth reading the buffer as a head: at first, so that what is none is known at
    /// once, and then at each new line, so that a head that comes byte by byte is not read over and
    /// over.
    fn may_hold_head(&mut self) -> bool {
        let looked_at = std::mem::replace(&mut self.looked_at, self.buffer.len());
        let fresh = self.buffer.get(looked_at..).unwrap_or_default();
        !fresh.is_empty() && (looked_at == 0 || memchr(b'\n', fresh).is_some())
    }

    /// Takes the head out of the buffer, if all of it is there.
    ///
    /// Those that are passed over count against the largest head: a node may not keep a call waiting
    /// with them for ever.
    fn take_head(&mut self) -> Result<Option<AnswerHead>, NotHttp> {
        loop {
            match read(&self.buffer)? {
                Beginning::Part => return Ok(None),
                Beginning::Interim(bytes) => {
                    self.buffer.advance(bytes);
                    self.looked_at = self.buffer.len();
                    self.passed_over += bytes;
                    if self.passed_over > READ_BUFFER {
                        return Err(NotHttp("too much comes before the head"));
                    }
                }
                Beginning::Whole { head, bytes, framing, keeps_alive } => {
                    self.buffer.advance(bytes);
                    self.framing = framing;
                    self.ended |= !keeps_alive;
                    return Ok(Some(head));
                }
            }
        }
    }

    /// Takes the next piece of the answer's body.
    pub(crate) fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Break>>> {
        let piece = ready!(self.poll_piece(cx));
        self.ended |= piece.is_err();
        Poll::Ready(piece.transpose())
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Break>> {
        loop {
            if let Some(piece) = self.framing.take(&mut self.buffer)? {
                return Poll::Ready(Ok(Some(piece)));
            }
            let room = match self.framing {
                Framing::Over => return Poll::Ready(Ok(None)),
                Framing::Length(left) if left <= SMALL_BUFFER as u64 => SMALL_BUFFER,
                _ => READ_BUFFER,
            };
            self.write(cx)?;
            if ready!(self.poll_read(room, cx))? == 0 {
                self.ended = true;
                return Poll::Ready(match self.framing.hung_up() {
                    true => Ok(None),
                    false => Err(Break::HungUp),
                });
            }
        }
    }

    /// Whether all of the body was taken.
    pub(crate) fn is_over(&self) -> bool {
        self.framing.is_over()
    }

    /// Takes what of the body is here already, without waiting.
    ///
    /// Small answers come in one piece with their head; reading them here saves their caller all
    /// that a streamed body costs.
    pub(crate) fn read_immediate(&mut self) -> Immediate {
        let mut quiet = Context::from_waker(Waker::noop());
        let (mut first, mut second) = (None, None);
        for piece in [&mut first, &mut second] {
            match self.poll_data(&mut quiet) {
                Poll::Ready(Some(Ok(data))) => *piece = Some(data),
                Poll::Ready(Some(Err(error))) => return Immediate::Broken(error),
                Poll::Ready(None) | Poll::Pending => break,
            }
            if self.is_over() {
                break;
            }
        }
        match (self.is_over(), second) {
            (true, None) => Immediate::Whole(first.unwrap_or_default()),
            (true, Some(second)) => {
                Immediate::Whole([first.unwrap_or_default(), second].concat().into())
            }
            (false, second) => Immediate::Part(first.into_iter().chain(second).collect()),
        }
    }

    /// Whether the connection can serve another request, once an answer was read to its end. What
    /// the node sent beyond that end speaks against it.
    pub(crate) fn settle(&mut self) -> bool {
        self.used = true;
        self.idle_since = Instant::now();
        // A large answer's buffer is not kept by all who wait.
        if self.is_large && self.buffer.is_empty() {
            (self.buffer, self.is_large) = (BytesMut::new(), false);
        }
        !self.ended && self.is_over() && self.buffer.is_empty() && self.outgoing.is_done()
    }

    /// Whether the node has neither hung up nor sent anything since the last answer, as far as can
    /// be known: what TLS took in already counts, and what only the socket holds.
    fn is_silent(&mut self) -> bool {
        self.socket.is_drained() && self.socket.is_silent()
    }

    /// Writes what the socket takes of the request. A node that closes its side may have answered
    /// before, so once something was written it is the reading that fails.
    fn write(&mut self, cx: &mut Context<'_>) -> Result<(), io::Error> {
        match self.outgoing.poll(&mut self.socket, cx) {
            Poll::Ready(Err(error)) if !self.outgoing.has_begun() => return Err(error),
            Poll::Ready(Err(_)) => {
                self.outgoing.give_up();
                self.ended = true;
            }
            Poll::Ready(Ok(())) | Poll::Pending => {}
        }
        Ok(())
    }

    /// Reads at most `room` bytes more; none is the end.
    fn poll_read(&mut self, room: usize, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.is_large |= room > SMALL_BUFFER;
        self.buffer.reserve(room);
        let mut limited = (&mut self.buffer).limit(room);
        let bytes = ready!(pin!(self.socket.read_buf(&mut limited)).poll(cx))?;
        if self.read == 0 {
            self.spoke_tls = self.buffer.first().is_some_and(|first| TLS_RECORDS.contains(first));
        }
        self.read += bytes as u64;
        Poll::Ready(Ok(bytes))
    }
}

/// What of a body came together with its head.
pub(crate) enum Immediate {
    /// All of it.
    Whole(Bytes),
    /// These pieces, and more will come.
    Part(VecDeque<Bytes>),
    /// The connection broke.
    Broken(Break),
}
