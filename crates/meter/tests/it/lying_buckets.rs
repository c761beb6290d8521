//! A server of shared buckets that lies: answers without end, of every kind that the protocol has, and
//! what no script has for a hash. It takes little memory, and calls are served all the same.

use std::io::{BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use meter::{Admin, BucketsAddress, Clock, KeyOptions, Meter, Service, Storage};

use crate::bucket_server::command;
use crate::rig::*;

/// How an answer begins, and what follows for ever.
const ENDLESS: [(&str, &str); 12] = [
    ("$500000000\r\n", "x"),
    ("*1000000000\r\n", ":1\r\n"),
    (":", "1"),
    ("+", "a"),
    ("-ERR ", "a"),
    ("", "*1\r\n"),
    ("", "*4096\r\n*1\r\n:1\r\n"),
    ("%9223372036854775807\r\n", ":1\r\n"),
    ("|4611686018427387904\r\n", "_\r\n"),
    ("~9223372036854775807\r\n", "*0\r\n"),
    ("=-5\r\n", "txt:"),
    // Whole answers that nobody asked for.
    ("+OK\r\n", "+OK\r\n"),
];
/// More than a socket and our own buffers hold of an answer.
const MOST_TAKEN: u64 = 16 << 20;

/// When it begins to lie.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// With the first word.
    Start,
    /// When the script is tried.
    Trial,
    /// When a call asks.
    Call,
}

struct Liar {
    address: BucketsAddress,
    connections: Arc<AtomicUsize>,
    /// Most bytes that one connection took.
    taken: Arc<AtomicU64>,
}

impl Liar {
    fn start(from: From, begin: &'static str, more: &'static str) -> Liar {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("redis://{}", listener.local_addr().unwrap());
        let address = BucketsAddress::new(&url, None, None).unwrap();
        let liar = Liar { address, connections: Arc::default(), taken: Arc::default() };
        let (connections, taken) = (Arc::clone(&liar.connections), Arc::clone(&liar.taken));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                connections.fetch_add(1, Ordering::Relaxed);
                let taken = Arc::clone(&taken);
                thread::spawn(move || serve(&stream, from, begin, more, &taken));
            }
        });
        liar
    }
}

fn serve(stream: &TcpStream, from: From, begin: &str, more: &str, taken: &AtomicU64) {
    let mut stream = stream;
    let mut reader = BufReader::new(stream);
    while let Some(words) = command(&mut reader) {
        let lies = match (from, words[0].as_str()) {
            (From::Start, _) => true,
            (From::Trial, word) => word == "EVALSHA",
            (From::Call, word) => word == "EVALSHA" && !words[3].ends_with(":trial"),
        };
        if lies {
            break;
        }
        let answer = match words[0].as_str() {
            // Of another script, which is no matter.
            "SCRIPT" => "$40\r\n0123456789012345678901234567890123456789\r\n",
            "EVALSHA" => "*2\r\n:1\r\n:1000000\r\n",
            _ => "+OK\r\n",
        };
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
    let piece = more.repeat(65_536 / more.len());
    // No more is read: whoever asks on is not heard.
    let mut written = 0;
    let mut rest = if begin.is_empty() { piece.as_bytes() } else { begin.as_bytes() };
    while let Ok(1..) = stream.write(rest).inspect(|count| {
        written += *count as u64;
        rest = &rest[*count..];
    }) {
        taken.fetch_max(written, Ordering::Relaxed);
        if rest.is_empty() {
            rest = piece.as_bytes();
        }
        if written > 2 * MOST_TAKEN {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

#[test]
fn an_answer_without_end_is_cut_short_when_a_server_is_tried() {
    for (begin, more) in ENDLESS {
        for from in [From::Start, From::Trial] {
            let liar = Liar::start(from, begin, more);
            let why = liar.address.try_it().unwrap_err();
            let taken = liar.taken.load(Ordering::Relaxed);
            println!("{:?}: {taken} bytes, {why}", begin.chars().take(9).collect::<String>());
            assert!(taken < MOST_TAKEN, "{begin:?}{more:?}: took {taken} bytes");
            assert!(why.len() < 300 && !why.contains(char::is_control), "{why}");
        }
    }
}

#[test]
fn a_server_that_repeats_the_password_is_not_quoted() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("password");
    std::fs::write(&file, "hunter2").unwrap();
    let url = Liar::start(From::Start, "-WRONGPASS hunter2 is none\r\n", "+OK\r\n").address;
    let why = BucketsAddress::new(url.url(), Some(&file), None).unwrap().try_it().unwrap_err();
    assert!(!why.contains("hunter2"), "{why}");
}

#[test]
fn calls_are_served_while_the_server_answers_without_end() {
    for (begin, more) in ENDLESS {
        let liar = Liar::start(From::Call, begin, more);
        let dir = tempfile::tempdir().unwrap();
        let (plans, clock) = (plans(wide()), Clock::system());
        let storage = || Storage::embedded(dir.path()).unwrap();
        let admin = Admin::over(storage(), plans.clone(), clock.clone());
        admin.add_account("acme", Some("lab"), Some("lab")).unwrap();
        let key = admin.add_key("acme", KeyOptions::default()).unwrap().key.reveal().to_owned();
        let storage = storage().with_buckets(liar.address.clone());
        let meter = Meter::over(storage, &Service::ALL, plans, clock).unwrap();
        assert!(meter.buckets().unwrap().answer, "it is honest at first");
        let caller = block_on(meter.caller(Some(&key), GATEWAY, HOME, None)).unwrap();
        let (until, mut longest) = (Instant::now() + Duration::from_secs(1), Duration::ZERO);
        while Instant::now() < until {
            let began = Instant::now();
            drop(block_on(meter.admit(&caller, btc(), 1, 1)).unwrap());
            longest = longest.max(began.elapsed());
            thread::sleep(Duration::from_millis(1));
        }
        let (taken, view) = (liar.taken.load(Ordering::Relaxed), meter.buckets().unwrap());
        let connections = liar.connections.load(Ordering::Relaxed);
        println!("{begin:?}: {taken} bytes, {connections} connections, {longest:?}, {view:?}");
        assert!(taken < MOST_TAKEN, "{begin:?}{more:?}: took {taken} bytes");
        assert!(view.losses > 0 && view.share_calls > 0, "{view:?}");
        assert!(connections < 12, "{connections} connections");
        assert!(longest < Duration::from_millis(500), "{longest:?}");
    }
}

#[test]
fn a_line_that_is_given_up_is_closed_though_the_server_never_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let address = BucketsAddress::new(&url, None, None).unwrap();
    let closed = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(&stream);
        // Answers what a connection begins with, and no script.
        while let Some(words) = command(&mut reader) {
            if words[0] == "SCRIPT" {
                break;
            }
            (&stream).write_all(b"+OK\r\n").unwrap();
        }
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        std::io::copy(&mut reader, &mut std::io::sink())
    });
    let dir = tempfile::tempdir().unwrap();
    let storage = Storage::embedded(dir.path()).unwrap().with_buckets(address);
    let meter = Meter::over(storage, &Service::ALL, plans(wide()), Clock::system()).unwrap();
    closed.join().unwrap().expect("the line is closed");
    drop(meter);
}
