//! B13 with a real `kill -9`: answered <= billed <= answered + in flight, and the rows of the day
//! add up to its counter.
//!
//! The test runs itself as a child that serves from a store and writes one byte to a pipe for
//! each answer; what is in the pipe outlives the child.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

#[path = "it/rig.rs"]
mod rig;

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use meter::{Clock, KeyOptions, Meter, PostgresAddress, Service};
use rig::*;

const NOON: &str = "2026-11-28T12:00:00Z";
const THREADS: usize = 4;
const FOLDER: &str = "METER_CRASH_FOLDER";
const KEY: &str = "METER_CRASH_KEY";
/// Address and password file of the store, where that is not in the folder.
const POSTGRES: [&str; 2] = ["METER_CRASH_POSTGRES", "METER_CRASH_PASSWORD_FILE"];
/// What the child writes before its first answer; the test harness writes text before it.
const READY: &[u8] = b"\x01READY\x01";

/// Runs only as the child; alone it does nothing.
#[test]
fn child() {
    let (Ok(folder), Ok(key)) = (std::env::var(FOLDER), std::env::var(KEY)) else { return };
    let (clock, hands) = Clock::test(utc(NOON));
    let postgres = std::env::var(POSTGRES[0]).ok().map(|url| {
        let password = std::env::var(POSTGRES[1]).unwrap();
        PostgresAddress::new(&url, Some(password.as_ref()), None).unwrap()
    });
    let storage = storage(folder.as_ref(), &postgres);
    let meter = Meter::over(storage, &Service::ALL, plans(wide()), clock).unwrap();
    let output = Mutex::new(std::io::stdout());
    output.lock().unwrap().write_all(READY).unwrap();
    output.lock().unwrap().flush().unwrap();
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (meter, key, output, hands) = (&meter, &key, &output, &hands);
            scope.spawn(move || {
                let chain = chain::ALL[number];
                for round in 0_u64.. {
                    let caller = block_on(meter.caller(Some(key), GATEWAY, HOME, None)).unwrap();
                    let Ok(mut permit) = at_once(meter.admit(&caller, chain, 1, 1)) else {
                        hands.advance(Duration::from_millis(1));
                        continue;
                    };
                    // Every fifth call fails and is given back: no answer, nothing billed.
                    if round % 5 == 4 {
                        permit.refund(1);
                        continue;
                    }
                    let mut output = output.lock().unwrap();
                    output.write_all(b"\x02").unwrap();
                    output.flush().unwrap();
                }
            });
        }
    });
}

/// Serves for a while, is killed, and says how many answers it gave.
fn serve_and_kill(rig: &Rig, server: Option<&testkit::Postgres>, after: Duration) -> u64 {
    let mut command = Command::new(std::env::current_exe().unwrap());
    if let (Some(server), Some(address)) = (server, &rig.postgres) {
        command.env(POSTGRES[0], address.url()).env(POSTGRES[1], server.password_file());
    }
    let mut child = command
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(FOLDER, rig.dir.path())
        .env(KEY, &rig.key)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut pipe = child.stdout.take().unwrap();
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        bytes
    });
    thread::sleep(after);
    // SIGKILL.
    child.kill().unwrap();
    child.wait().unwrap();
    let bytes = reader.join().unwrap();
    let Some(ready) = bytes.windows(READY.len()).position(|part| part == READY) else { return 0 };
    bytes[ready..].iter().filter(|byte| **byte == 2).count() as u64
}

#[test]
fn what_was_answered_is_billed_and_no_more_than_was_in_flight() {
    serve_and_be_killed(Rig::new(wide(), NOON), None, 14);
}

#[test]
fn the_same_holds_with_accounts_and_usage_in_postgresql() {
    let server = testkit::Postgres::start().unwrap();
    let address = database(&server, "crash");
    let rig = Rig::on(Some(address), wide(), NOON, KeyOptions::default());
    serve_and_be_killed(rig, Some(&server), 12);
}

fn serve_and_be_killed(mut rig: Rig, server: Option<&testkit::Postgres>, rounds: u64) {
    let (mut least, mut most) = (0, 0);
    for round in 0..rounds {
        rig.meter = None;
        // From "still opening" to "recording again and again".
        let after = Duration::from_millis(20 + round * round * 20);
        let answered = serve_and_kill(&rig, server, after);
        least += answered;
        most += answered + THREADS as u64;
        // As a command sees it before any process has opened the counters again.
        let (today, month, rows) = rig.used();
        assert!(least <= today && today <= most, "{least} <= {today} <= {most}");
        assert_eq!((today, month), (rows, today));
        rig.restart();
        assert_eq!(rig.used(), (today, month, rows));
        // The counter itself: with a cap of one more than was used exactly one call goes through.
        let tight = meter::PlanConfig { daily: Some(today + 1), ..wide() };
        rig.meter().set_plans(plans(tight));
        let mut permit = rig.admit(1, 1).unwrap();
        assert!(rig.admit(1, 1).is_err());
        permit.refund(1);
    }
    assert!(least > 1000, "the child did not serve: {least}");
}
