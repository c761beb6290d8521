//! HTTP/1.1 as the replayed nodes need it: requests read whole, answers written to the byte.
//!
//! Own code because nodes differ in what no HTTP library lets a server choose: reason phrases,
//! bodies without a length, closing without an answer. Invariant: a request that breaks a bound
//! ends its connection; nothing is buffered without a bound.

use std::io;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::chunks::Chunks;

/// The longest request head, in bytes.
const MAX_HEAD: usize = 64 * 1024;
/// The longest request body, in bytes (Bitcoin Core's own bound, src/httpserver.h `MAX_BODY_SIZE`).
const MAX_BODY: usize = 32 * 1024 * 1024;
/// Pieces up to this many bytes are gathered into one write.
const GATHERED: usize = 16 * 1024;

/// A request, whole.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) verb: String,
    /// Without the query.
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
    pub(crate) content_type: Option<String>,
    /// Asks for a websocket: the client's key (RFC 6455, section 4.1).
    pub(crate) websocket_key: Option<String>,
    /// The client will not send another.
    pub(crate) last: bool,
    pub(crate) body: Bytes,
}

/// How the end of a body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Framing {
    /// `Content-Length`.
    #[default]
    Length,
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// Neither: the connection closes behind it.
    Close,
}

/// An answer.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The reason phrase, where it is not the usual one.
    pub(crate) reason: Option<&'static str>,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) framing: Framing,
    pub(crate) body: Chunks,
    /// Close without a word.
    pub(crate) hang_up: bool,
    /// Go on in websocket frames.
    pub(crate) upgrades: bool,
    /// Wait before answering.
    pub(crate) delay: Option<Duration>,
}

impl Reply {
    /// An answer with a body of this content type; no header if the type is empty.
    pub(crate) fn new(status: u16, content_type: &'static str, body: Chunks) -> Reply {
        let headers = match content_type {
            "" => Vec::new(),
            _ => vec![("Content-Type", content_type.to_owned())],
        };
        Reply { status, headers, body, ..Reply::default() }
    }

    fn head(&self, last: bool) -> Vec<u8> {
        use io::Write;
        let mut head = Vec::with_capacity(256);
        let reason = self.reason.unwrap_or_else(|| reason(self.status));
        // Writing to a vector cannot fail.
        let _ = write!(head, "HTTP/1.1 {} {reason}\r\n", self.status);
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        match self.framing {
            Framing::Length if matches!(self.status, 101 | 204) => {}
            Framing::Length => {
                let _ = write!(head, "Content-Length: {}\r\n", self.body.len());
            }
            Framing::Chunked => head.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
            Framing::Close => {}
        }
        if last || self.framing == Framing::Close {
            head.extend_from_slice(b"Connection: close\r\n");
        }
        head.extend_from_slice(b"\r\n");
        head
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        101 => "Switching Protocols",
        200 => "OK",
        204 => "No Content",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Payload Too Large",
        415 => "Unsupported Media Type",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Status",
    }
}

/// One side of a connection that speaks HTTP/1.1.
pub(crate) struct Wire<S> {
    stream: S,
    buffer: BytesMut,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    pub(crate) fn new(stream: S) -> Wire<S> {
        Wire { stream, buffer: BytesMut::with_capacity(4096) }
    }

    /// The next request; `None` if the client is gone or breaks a bound.
    pub(crate) async fn request(&mut self) -> io::Result<Option<Request>> {
        let (mut request, length) = loop {
            if let Some(found) = self.head() {
                match found {
                    Ok(head) => break head,
                    Err(()) => return Ok(None),
                }
            }
            if self.buffer.len() > MAX_HEAD || self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        };
        if request.expects {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        let body = match length {
            Length::Bytes(length) if length > MAX_BODY => None,
            Length::Bytes(length) => self.take(length).await?,
            Length::Chunked => self.chunks().await?,
        };
        let Some(body) = body else { return Ok(None) };
        request.request.body = body;
        Ok(Some(request.request))
    }

    /// The head at the front of the buffer, taken out of it; `None` if it is not whole yet.
    fn head(&mut self) -> Option<Result<(Head, Length), ()>> {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut parsed = httparse::Request::new(&mut headers);
        let size = match parsed.parse(&self.buffer) {
            Ok(httparse::Status::Complete(size)) => size,
            Ok(httparse::Status::Partial) => return None,
            Err(_) => return Some(Err(())),
        };
        let head = Head::from(&parsed);
        self.buffer.advance(size);
        Some(head)
    }

    async fn fill(&mut self, length: usize) -> io::Result<bool> {
        self.buffer.reserve(length.saturating_sub(self.buffer.len()).min(1 << 20));
        while self.buffer.len() < length {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn take(&mut self, length: usize) -> io::Result<Option<Bytes>> {
        let whole = self.fill(length).await?;
        Ok(whole.then(|| self.buffer.split_to(length).freeze()))
    }

    async fn chunks(&mut self) -> io::Result<Option<Bytes>> {
        let mut body = BytesMut::new();
        loop {
            let (size, length) = match httparse::parse_chunk_size(&self.buffer) {
                Ok(httparse::Status::Complete((size, length))) => (size, length as usize),
                Ok(httparse::Status::Partial) if self.buffer.len() < 1024 => {
                    let wanted = self.buffer.len() + 1;
                    if !self.fill(wanted).await? {
                        return Ok(None);
                    }
                    continue;
                }
                _ => return Ok(None),
            };
            if body.len().saturating_add(length) > MAX_BODY {
                return Ok(None);
            }
            self.buffer.advance(size);
            // A chunk and its line end; behind the last one, no trailers are expected.
            let Some(chunk) = self.take(length + 2).await? else { return Ok(None) };
            body.extend_from_slice(&chunk[..length]);
            if length == 0 {
                return Ok(Some(body.freeze()));
            }
        }
    }

    /// Writes an answer; `false` if the connection must close behind it.
    pub(crate) async fn reply(&mut self, reply: &Reply, last: bool) -> io::Result<bool> {
        let mut gathered = reply.head(last);
        let chunked = reply.framing == Framing::Chunked;
        if chunked && reply.body.len() > 0 {
            gathered.extend_from_slice(format!("{:x}\r\n", reply.body.len()).as_bytes());
        }
        for piece in reply.body.pieces() {
            if gathered.len() + piece.len() > GATHERED {
                self.stream.write_all(&gathered).await?;
                gathered.clear();
            }
            match piece.len() > GATHERED {
                true => self.stream.write_all(piece).await?,
                false => gathered.extend_from_slice(piece),
            }
        }
        if chunked {
            let end: &[u8] = if reply.body.len() > 0 { b"\r\n0\r\n\r\n" } else { b"0\r\n\r\n" };
            gathered.extend_from_slice(end);
        }
        self.stream.write_all(&gathered).await?;
        self.stream.flush().await?;
        Ok(!last && reply.framing != Framing::Close)
    }

    /// The stream, and what was read of it beyond the last request.
    pub(crate) fn into_stream(self) -> (S, BytesMut) {
        (self.stream, self.buffer)
    }

    /// Ends the sending side, so that the client sees a clean end.
    pub(crate) async fn close(&mut self) -> io::Result<()> {
        self.stream.shutdown().await
    }
}

enum Length {
    Bytes(usize),
    Chunked,
}

struct Head {
    request: Request,
    expects: bool,
}

impl Head {
    fn from(parsed: &httparse::Request<'_, '_>) -> Result<(Head, Length), ()> {
        let target = parsed.path.unwrap_or_default();
        // Clients that speak to a proxy send the whole address.
        let target = match target.split_once("://") {
            Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
            None => target,
        };
        let path = target.split('?').next().unwrap_or_default();
        let mut request = Request {
            verb: parsed.method.unwrap_or_default().to_owned(),
            path: path.to_owned(),
            last: parsed.version == Some(0),
            ..Request::default()
        };
        let mut length = Length::Bytes(0);
        let mut expects = false;
        for header in &*parsed.headers {
            let value = String::from_utf8_lossy(header.value);
            match header.name.to_ascii_lowercase().as_str() {
                "content-length" => length = Length::Bytes(value.trim().parse().map_err(|_| ())?),
                "transfer-encoding" => length = Length::Chunked,
                "expect" => expects = true,
                "authorization" => request.authorization = Some(value.into_owned()),
                "content-type" => request.content_type = Some(value.into_owned()),
                "sec-websocket-key" => request.websocket_key = Some(value.into_owned()),
                "connection" => request.last |= value.eq_ignore_ascii_case("close"),
                _ => {}
            }
        }
        Ok((Head { request, expects }, length))
    }
}
