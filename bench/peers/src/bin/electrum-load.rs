//! Load on a server of the Electrum protocol: `electrum-load ADDRESS SECONDS CONNECTIONS FILE`.
//!
//! `FILE` has a request on each line. Every connection sends its next one when the last was answered,
//! and at least one. Prints how many came back, how many of these were errors, and the seconds it took.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The first request of a connection.
const HELLO: &[u8] =
    b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"server.version\",\"params\":[\"bench\",\"1.4\"]}\n";

/// One connection's answers and errors.
async fn client(
    address: String,
    requests: Arc<Vec<Vec<u8>>>,
    first: usize,
    end: Instant,
) -> Result<(u64, u64), Failure> {
    let mut stream = BufReader::new(TcpStream::connect(address).await?);
    stream.get_ref().set_nodelay(true)?;
    let (mut answers, mut errors, mut line) = (0, 0, Vec::new());
    stream.get_mut().write_all(HELLO).await?;
    stream.read_until(b'\n', &mut line).await?;
    for request in requests.iter().cycle().skip(first) {
        stream.get_mut().write_all(request).await?;
        line.clear();
        if stream.read_until(b'\n', &mut line).await? == 0 {
            return Err("the server closed the connection".into());
        }
        answers += 1;
        // An error is short, and stands before or behind the id.
        let start = &line[..line.len().min(200)];
        errors += u64::from(memchr::memmem::find(start, b"\"error\":").is_some());
        if Instant::now() >= end {
            break;
        }
    }
    Ok((answers, errors))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [address, seconds, connections, file] = &words[..] else {
        return Err("usage: electrum-load ADDRESS SECONDS CONNECTIONS FILE".into());
    };
    let (seconds, connections): (f64, usize) = (seconds.parse()?, connections.parse()?);
    let text = std::fs::read_to_string(file)?;
    let requests: Vec<Vec<u8>> = text.lines().map(|line| format!("{line}\n").into()).collect();
    if requests.is_empty() {
        return Err("nothing is asked".into());
    }
    let (requests, start) = (Arc::new(requests), Instant::now());
    let mut clients = JoinSet::new();
    for place in 0..connections {
        let first = requests.len() * place / connections;
        let end = start + Duration::from_secs_f64(seconds);
        clients.spawn(client(address.clone(), Arc::clone(&requests), first, end));
    }
    let (mut answers, mut errors) = (0, 0);
    while let Some(ended) = clients.join_next().await {
        let (of, wrong) = ended??;
        answers += of;
        errors += wrong;
    }
    println!("{answers} {errors} {:.3}", start.elapsed().as_secs_f64());
    Ok(())
}
