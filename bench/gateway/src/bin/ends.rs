//! Both ends of a proxy in one thread that never sleeps under load: the node behind it and the clients
//! before it. `ends NODE_ADDRESS`, then a line of standard input for each load:
//! `ADDRESS SECONDS CONNECTIONS KEY [CALLS_PER_SECOND]`, answered with
//! `right wrong calls_per_second p50_us p90_us p99_us`.
//!
//! A server that has to wake whoever it writes to pays for that, the more the seldomer it writes, and a
//! timer of a millisecond hides what a call takes. So this asks the kernel for news without waiting,
//! and looks at the clock each time. Without a rate each connection sends its next call when the last
//! was answered. With one, calls are due at random times of that mean, whatever became of those before;
//! each goes out on the connection that has been free for longest, and is timed from when it was due.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::BufRead;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use bench_gateway::{Failure, answer, call, quantile};
use replay::{Mock, MockOptions};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::yield_now;

/// What one connection saw.
#[derive(Default)]
struct Seen {
    right: u64,
    wrong: u64,
    micros: Vec<u32>,
}

/// The calls that are due, and the clients that wait for one.
#[derive(Default)]
struct Calls {
    due: VecDeque<Instant>,
    free: VecDeque<Waker>,
    is_over: bool,
}

/// What all clients share.
#[derive(Clone, Default)]
struct Line(Arc<Mutex<Calls>>);

impl Line {
    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next call, or none where it is over.
    async fn next(&self) -> Option<Instant> {
        poll_fn(|cx| {
            let mut calls = self.lock();
            if let Some(due) = calls.due.pop_front() {
                return Poll::Ready(Some(due));
            }
            if calls.is_over {
                return Poll::Ready(None);
            }
            calls.free.push_back(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    fn add(&self, due: Instant) {
        let mut calls = self.lock();
        calls.due.push_back(due);
        let free = calls.free.pop_front();
        drop(calls);
        free.into_iter().for_each(Waker::wake);
    }

    fn end(&self) {
        let mut calls = self.lock();
        calls.is_over = true;
        let free = std::mem::take(&mut calls.free);
        drop(calls);
        free.into_iter().for_each(Waker::wake);
    }
}

async fn client(
    mut stream: TcpStream,
    call: Arc<str>,
    line: Option<Line>,
    end: Instant,
) -> Result<Seen, Failure> {
    let (mut seen, mut buffer) = (Seen::default(), Vec::with_capacity(4096));
    loop {
        let due = match &line {
            Some(line) => line.next().await,
            None => Some(Instant::now()).filter(|now| *now < end),
        };
        let Some(due) = due else { return Ok(seen) };
        stream.write_all(call.as_bytes()).await?;
        match answer(&mut stream, &mut buffer).await? {
            true => seen.right += 1,
            false => seen.wrong += 1,
        }
        seen.micros.push(due.elapsed().as_micros() as u32);
    }
}

/// Random gaps with a mean, the same in each run (xorshift64*).
struct Gaps {
    state: u64,
    mean: f64,
}

impl Gaps {
    fn next(&mut self) -> Duration {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let bits = self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
        let share = (bits + 1) as f64 / (1_u64 << 53) as f64;
        Duration::from_secs_f64(-share.ln() * self.mean)
    }
}

/// One load, and its line.
async fn load(words: &str) -> Result<String, Failure> {
    let words: Vec<&str> = words.split_whitespace().collect();
    let [address, seconds, connections, key, rate @ ..] = &words[..] else {
        return Err("not ADDRESS SECONDS CONNECTIONS KEY [CALLS_PER_SECOND]".into());
    };
    let (seconds, connections): (f64, usize) = (seconds.parse()?, connections.parse()?);
    let rate: Option<f64> = rate.first().map(|rate| rate.parse()).transpose()?;
    let (call, line) = (Arc::<str>::from(call("btc", key)), rate.map(|_| Line::default()));
    let mut streams = Vec::with_capacity(connections);
    for _ in 0..connections {
        let stream = TcpStream::connect(*address).await?;
        stream.set_nodelay(true)?;
        streams.push(stream);
    }
    let start = Instant::now();
    let end = start + Duration::from_secs_f64(seconds);
    let clients: Vec<_> = streams
        .into_iter()
        .map(|stream| tokio::spawn(client(stream, Arc::clone(&call), line.clone(), end)))
        .collect();
    let mut gaps = Gaps { state: 0x9E37_79B9_7F4A_7C15, mean: 1.0 / rate.unwrap_or(1.0) };
    let mut due = start;
    loop {
        let now = Instant::now();
        if now >= end {
            break;
        }
        while let Some(line) = line.as_ref().filter(|_| due <= now) {
            line.add(due);
            due += gaps.next();
        }
        // The runtime looks for news before it comes back here, and does not wait for any.
        yield_now().await;
    }
    line.iter().for_each(Line::end);
    let mut all = Seen::default();
    for client in clients {
        let seen = client.await??;
        all.right += seen.right;
        all.wrong += seen.wrong;
        all.micros.extend(seen.micros);
    }
    let per_second = all.right as f64 / start.elapsed().as_secs_f64();
    all.micros.sort_unstable();
    let at = |share| quantile(&all.micros, share);
    let (p50, p90, p99) = (at(0.5), at(0.9), at(0.99));
    Ok(format!("{} {} {per_second:.0} {p50} {p90} {p99}", all.right, all.wrong))
}

async fn run() -> Result<(), Failure> {
    let node = std::env::args().nth(1).ok_or("usage: ends NODE_ADDRESS")?.parse()?;
    // The calls all have the id 1.
    let options = MockOptions { listen: node, echo_ids: false, ..MockOptions::default() };
    let _mock = Mock::start(options).await?;
    let (told, mut asked) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        std::io::stdin().lock().lines().map_while(Result::ok).all(|line| told.send(line).is_ok())
    });
    while let Some(line) = asked.recv().await {
        println!("{}", load(&line).await?);
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    // Looks for news often, so that what came is timed when it came.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().event_interval(8).build()?.block_on(run())
}
