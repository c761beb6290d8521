//! The least that an HTTP server on hyper can be: `constant-server ADDRESS`.
//!
//! One thread, 200 bytes of JSON to whatever is asked. No key, no path, no read: what an answer of
//! the explorer costs is held against this. It has the allocator that `portolan` has.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::{LocalSet, spawn_local};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Bytes of the answer.
const LENGTH: usize = 200;

fn constant() -> Bytes {
    let filling = "x".repeat(LENGTH - r#"{"constant":""}"#.len());
    format!(r#"{{"constant":"{filling}"}}"#).into()
}

async fn answer(_: Request<Incoming>, body: Bytes) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let address = std::env::args().nth(1).ok_or("usage: constant-server ADDRESS")?;
    let (listener, body) = (TcpListener::bind(address).await?, constant());
    let serving = async {
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let body = body.clone();
            let service = service_fn(move |request| answer(request, body.clone()));
            spawn_local(
                hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service),
            );
        }
    };
    LocalSet::new().run_until(serving).await
}
