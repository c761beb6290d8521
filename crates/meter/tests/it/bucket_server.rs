//! The server of shared buckets by itself: how it is entered, and what the script does there.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::Duration;

use meter::BucketsAddress;
use testkit::Redis;

#[test]
fn a_server_is_entered_by_password_and_in_tls() {
    let mut names = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    names.is_ca = rcgen::IsCa::NoCa;
    let pair = rcgen::KeyPair::generate().unwrap();
    let certificate = names.self_signed(&pair).unwrap().pem();
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let tls = Redis::start_with_tls(&certificate, &pair.serialize_pem()).unwrap();
    let ca = file("ca", &certificate);
    let tried = |redis: &Redis, password: Option<&Path>, ca: Option<&Path>| {
        BucketsAddress::new(&redis.url(), password, ca).unwrap().try_it()
    };
    tried(&tls, None, Some(&ca)).unwrap();
    // Nobody vouches for it.
    tried(&tls, None, None).unwrap_err();
    let locked = Redis::start(&["--requirepass", "open sesame"]).unwrap();
    tried(&locked, Some(&file("right", "open sesame\n")), None).unwrap();
    let errors = [
        tried(&locked, Some(&file("wrong", "hunter2")), None).unwrap_err(),
        tried(&locked, None, None).unwrap_err(),
        tried(&locked, Some(&dir.path().join("none")), None).unwrap_err(),
    ];
    println!("{errors:?}");
    // A user with no more rights than the manual gives.
    let narrow = Redis::start(&[]).unwrap();
    let rights = "+evalsha +script|load +get +set +time";
    let user: Vec<&str> = ["ACL", "SETUSER", "portolan", "on", ">open", "~portolan:bucket:*"]
        .into_iter()
        .chain(rights.split(' '))
        .collect();
    assert_eq!(narrow.command(&user).unwrap(), "OK");
    let url = narrow.url().replace("redis://", "redis://portolan@");
    let entered = BucketsAddress::new(&url, Some(&file("narrow", "open")), None).unwrap();
    entered.try_it().unwrap();
    assert!(errors.iter().all(|error| !error.contains("hunter2")), "{errors:?}");
}

/// A number of the protocol, behind its mark.
fn number(reader: &mut impl BufRead) -> Option<usize> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    line.trim_end().get(1..)?.parse().ok()
}

/// The words of the next command.
pub fn command(reader: &mut impl BufRead) -> Option<Vec<String>> {
    let mut words = Vec::new();
    for _ in 0..number(reader)? {
        let mut word = vec![0; number(reader)? + 2];
        reader.read_exact(&mut word).ok()?;
        words.push(String::from_utf8_lossy(&word).trim_end().to_owned());
    }
    Some(words).filter(|words| !words.is_empty())
}

/// A server that answers each script with these numbers; its address.
fn saying(numbers: &'static str) -> BucketsAddress {
    let hash = redis::Script::new(include_str!("../../src/buckets/take.lua")).get_hash().to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while let Some(command) = command(&mut reader) {
                let answer = match command[0].as_str() {
                    "SCRIPT" => format!("${}\r\n{hash}\r\n", hash.len()),
                    "EVALSHA" => numbers.to_owned(),
                    _ => "+OK\r\n".to_owned(),
                };
                if stream.write_all(answer.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    BucketsAddress::new(&url, None, None).unwrap()
}

#[test]
fn a_server_that_says_what_cannot_be_is_none() {
    saying("*2\r\n:1\r\n:1000000\r\n").try_it().unwrap();
    for numbers in ["*2\r\n:0\r\n:9223372036854775807\r\n", "*2\r\n:1\r\n:-1\r\n"] {
        assert_eq!(saying(numbers).try_it().unwrap_err(), "it says what cannot be", "{numbers}");
    }
}

/// What the script says: whether tokens were taken, and how many millionths are missing.
fn take(redis: &Redis, key: &str, tokens: u32, rate: u32, elsewhere: u32) -> (bool, u64) {
    let script = include_str!("../../src/buckets/take.lua");
    let numbers = [tokens, rate, elsewhere].map(|number| number.to_string());
    let mut words = vec!["EVAL", script, "1", key];
    words.extend(numbers.iter().map(String::as_str));
    let said = redis.command(&words).unwrap();
    let (taken, missing) = said.split_once('\n').unwrap_or_else(|| panic!("{said}"));
    (taken == "1", missing.parse().unwrap())
}

#[test]
fn the_script_counts_in_whole_numbers_whatever_clock_and_plan_do() {
    const MILLION: u64 = 1_000_000;
    let redis = Redis::start(&[]).unwrap();
    let set = |key: &str, word: &str| redis.command(&["SET", key, word]).unwrap();
    let now = || -> u64 {
        let time = redis.command(&["TIME"]).unwrap();
        let (secs, micros) = time.split_once('\n').unwrap();
        secs.parse::<u64>().unwrap() * MILLION + micros.parse::<u64>().unwrap()
    };
    // A rate of one takes whole seconds: what is missing tells the time between.
    assert_eq!(take(&redis, "slow", 1, 1, 0), (true, MILLION));
    let (taken, missing) = take(&redis, "slow", 1, 1, 0);
    assert!(!taken && missing <= MILLION && missing > MILLION / 2, "{missing}");
    // The highest rate, emptied, and a debt of the largest batch.
    assert_eq!(take(&redis, "fast", 100_000, 100_000, 0), (true, 100_000 * MILLION));
    assert_eq!(take(&redis, "debt", 10_000, 1, 0), (true, 10_000 * MILLION));
    assert!(redis.command(&["PTTL", "debt"]).unwrap().parse::<u64>().unwrap() > 9_990_000);
    assert!(!take(&redis, "debt", 1, 1, 5).0, "a debt is no deeper by what was elsewhere");
    assert!(take(&redis, "debt", 0, 1, 0).1 <= 10_000 * MILLION);
    // What was admitted elsewhere empties it, and no more.
    assert_eq!(take(&redis, "told", 1, 40, 39), (true, 40 * MILLION));
    assert_eq!(take(&redis, "told twice", 1, 40, 4000), (false, 40 * MILLION));
    assert!(redis.command(&["GET", "told twice"]).unwrap().starts_with("40000000 "));
    // A changed plan keeps how full it is.
    set("plan", &format!("{} {} 100", 50 * MILLION, now() + 60 * MILLION));
    assert_eq!(take(&redis, "plan", 0, 10, 0), (true, 5 * MILLION));
    // A clock that is set back begins anew: nothing is given for it, and nobody is shut out.
    set("back", &format!("{} {} 40", 40 * MILLION, now() + 3600 * MILLION));
    assert_eq!(take(&redis, "back", 1, 40, 0), (false, 40 * MILLION));
    thread::sleep(Duration::from_millis(100));
    assert!(take(&redis, "back", 1, 40, 0).0);
    // A word that is none of ours is as good as none.
    set("odd", "what is this");
    assert_eq!(take(&redis, "odd", 1, 40, 0), (true, MILLION));
}
