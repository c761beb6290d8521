//! Posts bodies that are as much work as they can be for as few bytes: 2 MiB of empty gzip members
//! each, over many connections, each posting again once it was answered or cut off:
//! `gzip-flood ADDRESS SECONDS CONNECTIONS KEY`. Prints how many answers of which status came, as
//! `429 1200 400 5`, and `cut N` for connections that ended without one.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout_at;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Largest body that the gateway takes by default, in bytes.
const BODY_BYTES: usize = 2 << 20;

fn body() -> Result<Vec<u8>, Failure> {
    let mut empty = GzEncoder::new(Vec::new(), Compression::default());
    empty.write_all(b"")?;
    let member = empty.finish()?;
    Ok(member.repeat(BODY_BYTES / member.len()))
}

/// The status of one answer.
async fn post(stream: &mut TcpStream, request: &[u8]) -> Option<String> {
    // The answer may come, and the connection end, while the body is still being written.
    let _ = stream.write_all(request).await;
    let mut head = Vec::with_capacity(4096);
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        if stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let text = String::from_utf8_lossy(&head);
    let status = text.split(' ').nth(1)?.to_owned();
    let lower = text.to_ascii_lowercase();
    let (_, rest) = lower.split_once("content-length: ")?;
    let length: usize = rest.split("\r\n").next()?.parse().ok()?;
    let end = head.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let mut left = vec![0; (end + length).saturating_sub(head.len())];
    stream.read_exact(&mut left).await.ok()?;
    Some(status)
}

async fn client(address: String, request: Arc<Vec<u8>>, end: Instant) -> BTreeMap<String, u64> {
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    let mut kept: Option<TcpStream> = None;
    while Instant::now() < end {
        let mut stream = match kept.take() {
            Some(stream) => stream,
            None => match TcpStream::connect(&address).await {
                Ok(stream) => stream,
                Err(_) => continue,
            },
        };
        let Ok(status) = timeout_at(end.into(), post(&mut stream, &request)).await else { break };
        if status.is_some() {
            kept = Some(stream);
        }
        *seen.entry(status.unwrap_or_else(|| "cut".into())).or_default() += 1;
    }
    seen
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [address, seconds, connections, key] = &words[..] else {
        return Err("usage: gzip-flood ADDRESS SECONDS CONNECTIONS KEY".into());
    };
    let end = Instant::now() + Duration::from_secs_f64(seconds.parse()?);
    let body = body()?;
    let length = body.len();
    let head = format!(
        "POST /v1/rpc/ltc HTTP/1.1\r\nHost: bench\r\nX-API-Key: {key}\r\nContent-Encoding: gzip\r\nContent-Length: {length}\r\n\r\n"
    );
    let request = Arc::new([head.into_bytes(), body].concat());
    let clients: Vec<_> = (0..connections.parse()?)
        .map(|_| tokio::spawn(client(address.clone(), Arc::clone(&request), end)))
        .collect();
    let mut all: BTreeMap<String, u64> = BTreeMap::new();
    for client in clients {
        for (status, count) in client.await? {
            *all.entry(status).or_default() += count;
        }
    }
    let words: Vec<String> =
        all.iter().map(|(status, count)| format!("{status} {count}")).collect();
    println!("{}", words.join(" "));
    Ok(())
}
