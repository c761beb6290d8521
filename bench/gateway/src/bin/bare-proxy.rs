//! The least that a reverse proxy on hyper can be: `bare-proxy LISTEN NODE`.
//!
//! One thread, a pool of kept connections to one node, bodies passed on as they come. No key, no
//! check, no count: what the gateway costs is held against this.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_local};

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Pool = Rc<RefCell<Vec<SendRequest<Full<Bytes>>>>>;

async fn connection(pool: &Pool, node: SocketAddr) -> Result<SendRequest<Full<Bytes>>, Failure> {
    loop {
        let Some(mut kept) = pool.borrow_mut().pop() else { break };
        if kept.ready().await.is_ok() {
            return Ok(kept);
        }
    }
    let stream = TcpStream::connect(node).await?;
    stream.set_nodelay(true)?;
    let (sender, driver) = handshake(TokioIo::new(stream)).await?;
    spawn_local(driver);
    Ok(sender)
}

async fn forward(
    pool: Pool,
    node: SocketAddr,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Failure> {
    let body = request.into_body().collect().await?.to_bytes();
    let mut sender = connection(&pool, node).await?;
    let onward = Request::post("/")
        .header("host", "node")
        .header("content-type", "application/json")
        .body(Full::new(body))?;
    let (head, body) = sender.send_request(onward).await?.into_parts();
    let body = body.collect().await?.to_bytes();
    pool.borrow_mut().push(sender);
    Ok(Response::from_parts(head, Full::new(body)))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut words = std::env::args().skip(1);
    let (Some(listen), Some(node)) = (words.next(), words.next()) else {
        return Err("usage: bare-proxy LISTEN NODE".into());
    };
    let (listener, node, pool) = (TcpListener::bind(listen).await?, node.parse()?, Pool::default());
    let serving = async {
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let pool = Rc::clone(&pool);
            let service = service_fn(move |request| forward(Rc::clone(&pool), node, request));
            spawn_local(
                hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service),
            );
        }
    };
    LocalSet::new().run_until(serving).await
}
