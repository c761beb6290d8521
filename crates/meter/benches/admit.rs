//! What the meter costs a request: `caller` with `admit`, and `admit` alone from one and two
//! threads of one account; and from one where a PostgreSQL lends units, if there is one here.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use criterion::{Criterion, criterion_group, criterion_main};
use meter::{
    Admin, Caller, Clock, KeyOptions, Meter, PlanConfig, Plans, PostgresAddress, Service, Storage,
};
use testkit::Postgres;

const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The highest rate a plan can have: above it the bucket refuses, which costs about the same.
fn plans() -> Plans {
    let lab = PlanConfig {
        requests_per_second: 100_000,
        daily: Some(10_000_000_000_000),
        monthly: Some(10_000_000_000_000),
        ..PlanConfig::default()
    };
    Plans::with([("lab".to_owned(), lab)]).expect("the numbers are in range")
}

fn store() -> (tempfile::TempDir, Arc<Meter>, String) {
    store_in(|dir| Storage::embedded(dir).expect("a new store"))
}

fn store_in(open: impl Fn(&Path) -> Storage) -> (tempfile::TempDir, Arc<Meter>, String) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let admin = Admin::over(open(dir.path()), plans(), Clock::system());
    admin.add_account("acme", Some("lab"), Some("lab")).expect("a new account");
    let options = KeyOptions { daily_cap: Some(10_000_000_000_000), ..KeyOptions::default() };
    let key = admin.add_key("acme", options).expect("a new key").key.reveal().to_owned();
    let meter = Meter::over(open(dir.path()), &Service::ALL, plans(), Clock::system());
    let meter = meter.expect("a store");
    (dir, meter, key)
}

fn caller(meter: &Meter, runtime: &tokio::runtime::Runtime, key: &str) -> Caller {
    let caller = meter.caller(Some(key), Service::Gateway, HOME, None);
    runtime.block_on(caller).expect("the key is valid")
}

/// What a future that waits for nothing gives.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(done) => done,
        Poll::Pending => unreachable!("all counters are of this process"),
    }
}

fn benches(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let (_dir, meter, key) = store();
    let btc = chain::find("btc").expect("a chain");
    let both = async || {
        let caller = meter.caller(Some(&key), Service::Gateway, HOME, None).await?;
        meter.admit(&caller, btc, 1, 1).await
    };
    criterion.bench_function("caller + admit", |bencher| {
        bencher.iter_custom(|rounds| {
            runtime.block_on(async {
                let started = std::time::Instant::now();
                for _ in 0..rounds {
                    let _ = black_box(both().await);
                }
                started.elapsed()
            })
        });
    });
    let known = caller(&meter, &runtime, &key);
    criterion.bench_function("admit, 1 thread", |bencher| {
        bencher.iter(|| black_box(at_once(meter.admit(&known, btc, 1, 1))));
    });
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = black_box(at_once(meter.admit(&known, btc, 1, 1)));
            }
        });
        criterion.bench_function("admit, 2 threads", |bencher| {
            bencher.iter(|| black_box(at_once(meter.admit(&known, btc, 1, 1))));
        });
        stop.store(true, Ordering::Relaxed);
    });
    if let Ok(server) = Postgres::start() {
        leased(criterion, &server, btc);
    }
}

/// The same where units are lent. A call that waits for more is part of it.
fn leased(criterion: &mut Criterion, server: &Postgres, btc: &'static chain::Chain) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().build().expect("a runtime");
    let password = server.password_file();
    let address = PostgresAddress::new(&server.url("postgres"), Some(&password), None);
    let address = address.expect("the server's own address");
    let (_dir, meter, key) =
        store_in(|dir| Storage::postgres(dir, address.clone()).expect("a new store"));
    let known = caller(&meter, &runtime, &key);
    criterion.bench_function("admit, 1 thread, leased", |bencher| {
        bencher.iter_custom(|rounds| {
            runtime.block_on(async {
                let started = std::time::Instant::now();
                for _ in 0..rounds {
                    let _ = black_box(meter.admit(&known, btc, 1, 1).await);
                }
                started.elapsed()
            })
        });
    });
}

criterion_group!(admit, benches);
criterion_main!(admit);
