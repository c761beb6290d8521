//! Load on one address over kept connections, counting right answers byte for byte:
//! `load ADDRESS SECONDS CONNECTIONS KEY [CALLS_PER_SECOND [CHAIN]]`.
//!
//! Without a rate every connection sends its next call when the last was answered. With one, calls
//! follow a fixed schedule and each is timed from when it was due, so that a server that stalls is
//! charged for the calls it held up. Prints `right wrong calls_per_second p50_us p99_us`.

use std::time::{Duration, Instant};

use bench_gateway::{Failure, answer, call, quantile};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// What one connection saw.
#[derive(Default)]
struct Seen {
    right: u64,
    wrong: u64,
    micros: Vec<u32>,
}

async fn client(
    address: String,
    call: String,
    start: Instant,
    end: Instant,
    every: Option<Duration>,
    offset: Duration,
) -> Result<Seen, Failure> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut seen, mut buffer, mut due) =
        (Seen::default(), Vec::with_capacity(4096), start + offset);
    while Instant::now() < end {
        match every {
            Some(every) => {
                tokio::time::sleep_until(due.into()).await;
                due += every;
            }
            None => due = Instant::now(),
        }
        let began = every.map_or(due, |every| due - every);
        stream.write_all(call.as_bytes()).await?;
        if answer(&mut stream, &mut buffer).await? {
            seen.right += 1;
        } else {
            seen.wrong += 1;
        }
        seen.micros.push(began.elapsed().as_micros() as u32);
    }
    Ok(seen)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [address, seconds, connections, key, rate @ ..] = &words[..] else {
        return Err("usage: load ADDRESS SECONDS CONNECTIONS KEY [CALLS_PER_SECOND [CHAIN]]".into());
    };
    let (seconds, connections): (f64, u32) = (seconds.parse()?, connections.parse()?);
    let chain = rate.get(1).map_or("btc", String::as_str);
    let rate: Option<f64> = rate.first().map(|rate| rate.parse()).transpose()?;
    let call = call(chain, key);
    let start = Instant::now();
    let end = start + Duration::from_secs_f64(seconds);
    let every = rate.map(|rate| Duration::from_secs_f64(f64::from(connections) / rate));
    let mut clients = Vec::new();
    for place in 0..connections {
        let offset = every.unwrap_or_default() * place / connections;
        clients.push(tokio::spawn(client(
            address.clone(),
            call.clone(),
            start,
            end,
            every,
            offset,
        )));
    }
    let mut all = Seen::default();
    for client in clients {
        let seen = client.await??;
        all.right += seen.right;
        all.wrong += seen.wrong;
        all.micros.extend(seen.micros);
    }
    all.micros.sort_unstable();
    let at = |share| quantile(&all.micros, share);
    println!(
        "{} {} {:.0} {} {}",
        all.right,
        all.wrong,
        all.right as f64 / start.elapsed().as_secs_f64(),
        at(0.5),
        at(0.99)
    );
    Ok(())
}
