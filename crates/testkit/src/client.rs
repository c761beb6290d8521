//! The barest HTTP/1.1 client: what was sent and what came back, byte for byte.
//!
//! It follows nothing, retries nothing, hides nothing. Invariant: an answer that ends early is an
//! error, never a shorter body.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// Names in lower case, in their order, duplicates kept.
    pub headers: Vec<(String, String)>,
    /// The body, whole, without its chunk lines.
    pub body: Vec<u8>,
}

impl Answer {
    /// The first header of this name (lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The body as text; bytes that are none become U+FFFD.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// One connection that stays open as long as both sides like.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects.
    pub async fn open(address: SocketAddr) -> io::Result<Connection> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, buffer: Vec::new() })
    }

    /// Sends bytes as they are.
    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Sends a request with a `Host` and a `Content-Length`.
    pub async fn request(
        &mut self,
        verb: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<()> {
        let mut head = format!("{verb} {target} HTTP/1.1\r\nHost: localhost\r\n");
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("Content-Length: {}\r\n\r\n", body.len());
        self.send(&[head.as_bytes(), body].concat()).await
    }

    /// Reads the next answer; `100 Continue` is passed over.
    pub async fn answer(&mut self) -> io::Result<Answer> {
        loop {
            let (status, headers) = self.head().await?;
            if status == 100 {
                continue;
            }
            let mut answer = Answer { status, headers, body: Vec::new() };
            let chunked = answer.header("transfer-encoding").is_some();
            let length = answer.header("content-length").map(str::to_owned);
            answer.body = match length {
                _ if matches!(status, 204 | 304) => Vec::new(),
                _ if chunked => self.chunks().await?,
                Some(length) => self.take(length.parse().map_err(bad)?).await?,
                None => self.rest().await?,
            };
            return Ok(answer);
        }
    }

    /// Reads until the other side closes, and gives all of it as it is.
    pub async fn rest(&mut self) -> io::Result<Vec<u8>> {
        self.stream.read_to_end(&mut self.buffer).await?;
        Ok(std::mem::take(&mut self.buffer))
    }

    /// Takes in at most so many bytes of what has come, to be given by a later
    /// [`answer`](Self::answer): a slow reader.
    pub async fn sip(&mut self, most: usize) -> io::Result<()> {
        let mut sip = vec![0; most];
        let taken = self.stream.read(&mut sip).await?;
        self.buffer.extend_from_slice(&sip[..taken]);
        Ok(())
    }

    async fn head(&mut self) -> io::Result<(u16, Vec<(String, String)>)> {
        loop {
            let mut headers = [httparse::EMPTY_HEADER; 128];
            let mut parsed = httparse::Response::new(&mut headers);
            if let httparse::Status::Complete(size) = parsed.parse(&self.buffer).map_err(bad)? {
                let status = parsed.code.unwrap_or_default();
                let headers = parsed.headers.iter().map(|header| {
                    let value = String::from_utf8_lossy(header.value).into_owned();
                    (header.name.to_ascii_lowercase(), value)
                });
                let headers = headers.collect();
                self.buffer.drain(..size);
                return Ok((status, headers));
            }
            self.more().await?;
        }
    }

    async fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            match httparse::parse_chunk_size(&self.buffer) {
                Ok(httparse::Status::Complete((size, length))) => {
                    self.buffer.drain(..size);
                    let chunk = self.take(length as usize + 2).await?;
                    body.extend_from_slice(&chunk[..length as usize]);
                    if length == 0 {
                        return Ok(body);
                    }
                }
                Ok(httparse::Status::Partial) => self.more().await?,
                Err(_) => return Err(bad("not a chunk size")),
            }
        }
    }

    async fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < length {
            self.more().await?;
        }
        let rest = self.buffer.split_off(length);
        Ok(std::mem::replace(&mut self.buffer, rest))
    }

    async fn more(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

fn bad(error: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

/// Posts a body to `http://HOST:PORT/PATH` on a connection of its own. A `Content-Type` is sent only
/// if it is among `headers`.
pub async fn post(url: &str, headers: &[(&str, &str)], body: &[u8]) -> io::Result<Answer> {
    request("POST", url, headers, body).await
}

/// Gets `http://HOST:PORT/PATH` on a connection of its own.
pub async fn get(url: &str, headers: &[(&str, &str)]) -> io::Result<Answer> {
    request("GET", url, headers, b"").await
}

/// Any verb, on a connection of its own.
pub async fn request(
    verb: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> io::Result<Answer> {
    let rest = url.strip_prefix("http://").ok_or_else(|| bad("only http:// is spoken"))?;
    let (host, target) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    let address = tokio::net::lookup_host(host).await?.next().ok_or_else(|| bad("no address"))?;
    let mut connection = Connection::open(address).await?;
    connection.request(verb, target, headers, body).await?;
    connection.answer().await
}

/// Sends bytes as they are on a connection of its own, and reads until the other side closes.
pub async fn exchange(address: SocketAddr, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut connection = Connection::open(address).await?;
    connection.send(bytes).await?;
    connection.rest().await
}

/// A port of loopback that nobody listens on right now.
pub fn free_port() -> io::Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
