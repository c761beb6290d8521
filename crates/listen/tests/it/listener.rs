//! A listener with an echoing service, and raw connections to it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use listen::{Drain, HttpRefusal, Limits, RequestBody, Serve, Tls, Workers, bind, run_on};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

pub const REFUSAL: &str = r#"{"refused":true}"#;

/// Answers every request with its own body; `/wait` first waits to be let go.
pub struct Echo {
    pub drain: Drain,
    pub calls: AtomicU32,
    pub refusals: AtomicU32,
    pub behind_proxy: AtomicBool,
    pub entered: Notify,
    pub go: Notify,
}

impl Serve for Echo {
    type Body = UnsyncBoxBody<Bytes, io::Error>;

    async fn serve(
        self: &Arc<Self>,
        request: Request<RequestBody>,
        peer: IpAddr,
    ) -> Response<UnsyncBoxBody<Bytes, io::Error>> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        let path = request.uri().path().to_owned();
        if path == "/wait" {
            self.entered.notify_one();
            self.go.notified().await;
        }
        let status = if self.drain.is_refusing() && path != "/wait" { 503 } else { 200 };
        let body = match path.as_str() {
            "/unread" => Bytes::from_static(b"unread"),
            "/large" => Bytes::from(vec![b'x'; 32 << 20]),
            "/peer" => Bytes::from(peer.to_string()),
            _ => {
                request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default()
            }
        };
        Response::builder()
            .status(status)
            .header("x-request-id", format!("call-{call}"))
            .body(match path.as_str() {
                "/broken" => broken(),
                _ => Full::new(body).map_err(|never| match never {}).boxed_unsync(),
            })
            .unwrap()
    }

    fn is_proxy(&self, _: IpAddr) -> bool {
        self.behind_proxy.load(Ordering::SeqCst)
    }

    fn http_refusal(&self) -> HttpRefusal {
        let refusal = self.refusals.fetch_add(1, Ordering::SeqCst);
        HttpRefusal {
            content_type: "application/json",
            request_id: format!("refusal-{refusal}"),
            body: Bytes::from_static(REFUSAL.as_bytes()),
        }
    }
}

/// A body without a length that breaks off.
fn broken() -> UnsyncBoxBody<Bytes, io::Error> {
    let frames = [
        Ok(Frame::data(Bytes::from_static(b"a part of the answer"))),
        Err(io::Error::other("broke off")),
    ];
    // The first part is on its way before the second is asked for.
    let slow = stream::iter(frames).then(|frame| async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        frame
    });
    StreamBody::new(slow).boxed_unsync()
}

pub struct Listener {
    pub address: SocketAddr,
    pub echo: Arc<Echo>,
    pub drain: Drain,
    pub running: tokio::task::JoinHandle<()>,
}

pub fn start(limits: Limits, tls: Option<Tls>) -> Listener {
    Waiting::new().start_on(Workers::here(), limits, tls)
}

/// A socket that clients connect to while nobody accepts yet.
pub struct Waiting {
    socket: TcpListener,
    pub address: SocketAddr,
    pub drain: Drain,
}

impl Waiting {
    pub fn new() -> Waiting {
        let socket = bind("echo", "127.0.0.1:0".parse().unwrap()).unwrap();
        let address = socket.local_addr().unwrap();
        Waiting { socket, address, drain: Drain::new() }
    }

    pub fn start_on(self, workers: Workers, limits: Limits, tls: Option<Tls>) -> Listener {
        let Waiting { socket, address, drain } = self;
        let echo = Arc::new(Echo {
            drain: drain.clone(),
            calls: AtomicU32::new(0),
            refusals: AtomicU32::new(0),
            behind_proxy: AtomicBool::new(false),
            entered: Notify::new(),
            go: Notify::new(),
        });
        let serving = run_on(workers, socket, tls, limits, echo.clone(), drain.clone());
        let running = tokio::spawn(serving);
        Listener { address, echo, drain, running }
    }
}

/// Times short enough for a test, long enough for a busy machine.
pub fn limits() -> Limits {
    Limits {
        head_timeout: Duration::from_secs(1),
        idle_timeout: Duration::from_secs(2),
        ..Limits::default()
    }
}

pub async fn connect(listener: &Listener) -> TcpStream {
    TcpStream::connect(listener.address).await.unwrap()
}

/// One answer, read by its `content-length`.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// Reads one answer; `None` if the connection ends before one begins.
pub async fn read_answer(stream: &mut (impl AsyncRead + Unpin)) -> Option<Answer> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match stream.read(&mut byte).await {
            Ok(1) => head.push(byte[0]),
            _ if head.is_empty() => return None,
            other => panic!("cut off in a head: {other:?} after {}", head.escape_ascii()),
        }
    }
    let head = String::from_utf8(head).unwrap();
    let status = head[9..12].parse().unwrap();
    let mut answer = Answer { status, head, body: Vec::new() };
    let length: usize = answer.header("content-length").unwrap().parse().unwrap();
    answer.body.resize(length, 0);
    stream.read_exact(&mut answer.body).await.unwrap();
    Some(answer)
}

pub async fn ask(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    request: &[u8],
) -> Option<Answer> {
    // A refused client may be cut off while it still writes.
    let _ = stream.write_all(request).await;
    read_answer(stream).await
}

pub fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: h\r\n\r\n").into_bytes()
}

/// Reads to the end of the connection; an error is an end too.
pub async fn rest(stream: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    rest
}
