//! Load on one address over kept connections, counting answers that are right byte for byte:
//! `explorer-load ADDRESS SECONDS CONNECTIONS KEY WANTED [REQUESTS_PER_SECOND]`.
//!
//! `WANTED` is a file of targets with the bodies that are right: a line `TARGET LENGTH`, so many
//! bytes, a line feed, and so on. Without a rate every connection sends its next request when the
//! last was answered. With one, requests follow a fixed schedule and each is timed from when it was
//! due, so that a server that stalls is charged for the requests it held up. Prints
//! `right wrong requests_per_second p50_us p99_us`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A request and the body that is its right answer.
struct Exchange {
    request: Vec<u8>,
    body: Vec<u8>,
}

/// What one connection saw.
#[derive(Default)]
struct Seen {
    right: u64,
    wrong: u64,
    micros: Vec<u32>,
}

/// When a connection sends.
#[derive(Clone, Copy)]
struct Schedule {
    start: Instant,
    end: Instant,
    /// Time between two requests of one connection; none: as soon as it can.
    every: Option<Duration>,
}

fn wanted(mut rest: &[u8], key: &str) -> Result<Vec<Exchange>, Failure> {
    let mut exchanges = Vec::new();
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest).ok_or("a line without an end")?;
        let line = std::str::from_utf8(&rest[..end])?;
        let (target, length) = line.split_once(' ').ok_or("a line without a length")?;
        let length: usize = length.parse()?;
        let body = rest.get(end + 1..end + 1 + length).ok_or("a body is cut off")?.to_vec();
        let request = format!("GET {target} HTTP/1.1\r\nHost: bench\r\nX-API-Key: {key}\r\n\r\n");
        exchanges.push(Exchange { request: request.into(), body });
        rest = rest.get(end + 2 + length..).ok_or("a body without its line feed")?;
    }
    if exchanges.is_empty() { Err("nothing is wanted".into()) } else { Ok(exchanges) }
}

/// Place and length of the body, once the head is whole.
fn body_of(buffer: &[u8]) -> Result<Option<(usize, usize)>, Failure> {
    let Some(end) = memmem::find(buffer, b"\r\n\r\n") else { return Ok(None) };
    let name = b"\r\ncontent-length: ";
    let at = memmem::find(&buffer[..end], name).ok_or("an answer without a length")? + name.len();
    let digits = buffer[at..].iter().take_while(|byte| byte.is_ascii_digit());
    let length = digits.fold(0, |length, digit| length * 10 + usize::from(digit - b'0'));
    Ok(Some((end + 4, length)))
}

/// Reads one answer and tells whether it is status 200 with that body.
async fn is_right(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
    body: &[u8],
) -> Result<bool, Failure> {
    buffer.clear();
    let mut place = None;
    loop {
        if let Some((at, length)) = place.filter(|(at, length)| buffer.len() >= at + length) {
            return Ok(buffer.starts_with(b"HTTP/1.1 200") && buffer[at..at + length] == *body);
        }
        buffer.reserve(16 << 10);
        if stream.read_buf(buffer).await? == 0 {
            return Err("the server closed the connection".into());
        }
        if place.is_none() {
            place = body_of(buffer)?;
        }
    }
}

/// Waits on the core that it has to itself: a timer would come up to a millisecond late.
async fn until(due: Instant) {
    while Instant::now() < due {
        tokio::task::yield_now().await;
    }
}

async fn client(
    address: String,
    exchanges: Arc<Vec<Exchange>>,
    first: usize,
    schedule: Schedule,
    offset: Duration,
) -> Result<Seen, Failure> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut seen, mut buffer) = (Seen::default(), Vec::new());
    let mut due = schedule.start + offset;
    for exchange in exchanges.iter().cycle().skip(first) {
        match schedule.every {
            Some(_) => until(due).await,
            None => due = Instant::now(),
        }
        if Instant::now() >= schedule.end {
            break;
        }
        stream.write_all(&exchange.request).await?;
        match is_right(&mut stream, &mut buffer, &exchange.body).await? {
            true => seen.right += 1,
            false => seen.wrong += 1,
        }
        seen.micros.push(due.elapsed().as_micros() as u32);
        due += schedule.every.unwrap_or_default();
    }
    Ok(seen)
}

/// Keeps the core that the load has to itself from sleeping: a server that had to wake it with each
/// answer would pay for that, and the more, the seldomer it answers.
async fn stay_awake() {
    loop {
        tokio::task::yield_now().await;
    }
}

/// All connections' work.
async fn load(
    address: &str,
    connections: usize,
    exchanges: Vec<Exchange>,
    schedule: Schedule,
) -> Result<Seen, Failure> {
    let exchanges = Arc::new(exchanges);
    let mut clients = Vec::new();
    for place in 0..connections {
        let first = exchanges.len() * place / connections;
        let offset = schedule.every.unwrap_or_default() * place as u32 / connections as u32;
        let exchanges = Arc::clone(&exchanges);
        clients.push(tokio::spawn(client(address.into(), exchanges, first, schedule, offset)));
    }
    let awake = tokio::spawn(stay_awake());
    let mut all = Seen::default();
    for client in clients {
        let seen = client.await??;
        all.right += seen.right;
        all.wrong += seen.wrong;
        all.micros.extend(seen.micros);
    }
    awake.abort();
    Ok(all)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [address, seconds, connections, key, file, rate @ ..] = &words[..] else {
        let usage =
            "usage: explorer-load ADDRESS SECONDS CONNECTIONS KEY WANTED [REQUESTS_PER_SECOND]";
        return Err(usage.into());
    };
    let (seconds, connections): (f64, usize) = (seconds.parse()?, connections.parse()?);
    let rate: Option<f64> = rate.first().map(|rate| rate.parse()).transpose()?;
    let exchanges = wanted(&std::fs::read(file)?, key)?;
    let start = Instant::now();
    let every = rate.map(|rate| Duration::from_secs_f64(connections as f64 / rate));
    let schedule = Schedule { start, end: start + Duration::from_secs_f64(seconds), every };
    let mut all = load(address, connections, exchanges, schedule).await?;
    let rate = all.right as f64 / start.elapsed().as_secs_f64();
    all.micros.sort_unstable();
    let at = |share: f64| {
        all.micros.get((all.micros.len() as f64 * share) as usize).copied().unwrap_or_default()
    };
    println!("{} {} {rate:.0} {} {}", all.right, all.wrong, at(0.5), at(0.99));
    Ok(())
}
