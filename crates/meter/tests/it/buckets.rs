//! Several meters with buckets in a Redis: a rate is served to the call, however the load falls; while
//! the server is away or slow each serves its share, and nobody waits for it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use meter::{
    Admin, BucketsAddress, BucketsView, Caller, Clock, KeyOptions, Meter, PlanConfig, Plans,
    PostgresAddress, Reason, Service, Storage,
};
use testkit::{Postgres, Redis};

use crate::rig::*;

const REPLICAS: usize = 3;
const RATE: u32 = 40;

/// How long a measured run takes: 8 s, or what the environment says.
fn run_time() -> Duration {
    let secs = std::env::var("METER_RATE_SECS").ok().and_then(|secs| secs.parse().ok());
    Duration::from_secs(secs.unwrap_or(8))
}

/// Meters on one store and one Redis, with the time of the machine.
struct Fleet {
    meters: Vec<Arc<Meter>>,
    key: String,
    _dirs: Vec<tempfile::TempDir>,
    postgres: Postgres,
}

fn storage(dir: &Path, postgres: &PostgresAddress, buckets: &BucketsAddress) -> Storage {
    Storage::postgres(dir, postgres.clone()).unwrap().with_buckets(buckets.clone())
}

impl Fleet {
    fn start(buckets: &BucketsAddress) -> Fleet {
        let server = Postgres::start().unwrap();
        let postgres = database(&server, "buckets");
        let lab = PlanConfig {
            requests_per_second: RATE,
            concurrency: Some(1000),
            ..PlanConfig::default()
        };
        let (plans, clock): (Plans, Clock) = (plans(lab), Clock::system());
        let dirs: Vec<_> = (0..REPLICAS).map(|_| tempfile::tempdir().unwrap()).collect();
        let open = |dir: &tempfile::TempDir| storage(dir.path(), &postgres, buckets);
        let admin = Admin::over(open(&dirs[0]), plans.clone(), clock.clone());
        admin.add_account("acme", Some("lab"), Some("lab")).unwrap();
        let key = admin.add_key("acme", KeyOptions::default()).unwrap().key.reveal().to_owned();
        let meter = |dir| Meter::over(open(dir), &Service::ALL, plans.clone(), clock.clone());
        let meters = dirs.iter().map(|dir| meter(dir).unwrap()).collect();
        let fleet = Fleet { meters, key, _dirs: dirs, postgres: server };
        // Each knows of all.
        thread::sleep(Duration::from_millis(2500));
        fleet
    }

    fn caller(&self, place: usize, service: Service) -> Caller {
        let caller = self.meters[place].caller(Some(&self.key), service, HOME, None);
        block_on(caller).unwrap()
    }

    fn view(&self, place: usize) -> BucketsView {
        self.meters[place].buckets().unwrap()
    }

    /// Waits until all or none of them ask the server.
    fn until(&self, answer: bool) {
        let until = Instant::now() + Duration::from_secs(30);
        while (0..REPLICAS).any(|place| self.view(place).answer != answer) {
            assert!(Instant::now() < until, "waited in vain for {answer}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// As much load as gets through until told to stop: so many clients for each replica. Says how
    /// many were served.
    fn load(&self, clients: [usize; REPLICAS], stop: &AtomicBool) -> usize {
        let counter = AtomicUsize::new(0);
        let served = &counter;
        thread::scope(|scope| {
            for (place, clients) in clients.into_iter().enumerate() {
                for _ in 0..clients {
                    scope.spawn(move || {
                        let mut runtime = tokio::runtime::Builder::new_current_thread();
                        let runtime = runtime.enable_time().build().unwrap();
                        let caller = self.caller(place, GATEWAY);
                        while !stop.load(Ordering::Relaxed) {
                            let admit = self.meters[place].admit(&caller, btc(), 1, 1);
                            match runtime.block_on(admit) {
                                Ok(_) => drop(served.fetch_add(1, Ordering::Relaxed)),
                                Err(denial) => assert_eq!(denial.reason, Reason::RateLimited),
                            }
                            thread::sleep(Duration::from_millis(3));
                        }
                    });
                }
            }
        });
        counter.into_inner()
    }

    /// The same for a time; says how long that was in truth.
    fn load_for(&self, clients: [usize; REPLICAS], time: Duration) -> (usize, Duration) {
        let (stop, began) = (AtomicBool::new(false), Instant::now());
        thread::scope(|scope| {
            let load = scope.spawn(|| self.load(clients, &stop));
            thread::sleep(time);
            let took = began.elapsed();
            stop.store(true, Ordering::Relaxed);
            (load.join().unwrap(), took)
        })
    }

    fn assert_exact(&self, clients: [usize; REPLICAS]) {
        let (served, took) = self.load_for(clients, run_time());
        let due = took.as_secs_f64() * f64::from(RATE) + f64::from(RATE);
        println!("{clients:?}: served {served} of {due:.0}; {:?}", self.view(0));
        assert!((served as f64 - due).abs() <= due * 0.03, "{served} of {due}");
    }
}

fn address(redis: &Redis) -> BucketsAddress {
    BucketsAddress::new(&redis.url(), None, None).unwrap()
}

#[test]
fn a_rate_over_three_replicas_is_exact_however_the_load_falls() {
    let redis = Redis::start(&[]).unwrap();
    let fleet = Fleet::start(&address(&redis));
    fleet.until(true);
    fleet.assert_exact([2, 2, 2]);
    thread::sleep(Duration::from_millis(1100));
    fleet.assert_exact([4, 1, 0]);
    // What a client is told is true of all replicas.
    thread::sleep(Duration::from_millis(1100));
    let admit = |place: usize, tokens| {
        let caller = fleet.caller(place, GATEWAY);
        let admitted = block_on(fleet.meters[place].admit(&caller, btc(), tokens, 1));
        admitted.map(|permit| permit.remains().remaining)
    };
    assert_eq!(admit(0, 30), Ok(10));
    let (left, began) = (admit(1, 1).unwrap(), Instant::now());
    assert!((9..=11).contains(&left), "{left}");
    // A batch of more than the burst is debt for all of them, paid back before the next call.
    thread::sleep(Duration::from_millis(1100).saturating_sub(began.elapsed()));
    assert_eq!(admit(2, 80), Ok(0));
    let (reason, wait) = reason(admit(0, 1));
    assert_eq!((reason, wait), (Reason::RateLimited, Some(2)));
    // A key says whose bucket it is, and goes by itself.
    let keys = redis.command(&["KEYS", "*"]).unwrap();
    let bucket = keys.lines().find(|key| key.ends_with(":gateway:1")).unwrap();
    assert!(keys.lines().all(|key| key.starts_with("portolan:bucket:")), "{keys}");
    assert!(redis.command(&["PTTL", bucket]).unwrap().parse::<i64>().unwrap() < 4000);
    thread::sleep(Duration::from_secs(4));
    assert_eq!(redis.command(&["EXISTS", bucket]).unwrap(), "0");
}

#[test]
fn without_the_server_each_serves_its_share_until_it_is_back() {
    let mut redis = Redis::start(&[]).unwrap();
    let fleet = Fleet::start(&address(&redis));
    fleet.until(true);
    let (stop, began) = (AtomicBool::new(false), Instant::now());
    let served = thread::scope(|scope| {
        let load = scope.spawn(|| fleet.load([2, 2, 2], &stop));
        thread::sleep(Duration::from_secs(2));
        redis.stop();
        fleet.until(false);
        thread::sleep(Duration::from_secs(4));
        redis.start_again().unwrap();
        fleet.until(true);
        thread::sleep(Duration::from_secs(2));
        stop.store(true, Ordering::Relaxed);
        load.join().unwrap()
    });
    let rate = f64::from(RATE);
    let due = began.elapsed().as_secs_f64() * rate;
    println!("served {served} of {due:.0} and a burst; {:?}", fleet.view(0));
    // It has forgotten what was taken: a burst more, and one more each for the loss and the return.
    assert!(served as f64 <= due + 3.0 * rate, "{served} of {due}");
    assert!(served as f64 >= due * 0.95, "{served} of {due}");
    for place in 0..REPLICAS {
        let view = fleet.view(place);
        assert!(view.losses >= 1 && view.share_calls > 0, "{view:?}");
    }
    fleet.assert_settles();
}

impl Fleet {
    /// After a moment of rest a rate is exact again, as long as the server answers in time: on a busy
    /// machine it may not, and load may come late.
    fn assert_settles(&self) {
        let losses = || (0..REPLICAS).map(|place| self.view(place).losses).sum::<u64>();
        for _ in 0..6 {
            thread::sleep(Duration::from_millis(1200));
            let before = losses();
            let (served, took) = self.load_for([3, 0, 1], Duration::from_secs(3));
            let due = took.as_secs_f64() * f64::from(RATE) + f64::from(RATE);
            let (least, most) = (due * 0.95, due * 1.05);
            assert!(served as f64 <= most || losses() != before, "{served} of {due}");
            if (least..=most).contains(&(served as f64)) {
                return;
            }
        }
        panic!("a rate is never exact");
    }
}

#[test]
fn a_server_that_hangs_is_waited_for_once() {
    let mut redis = Redis::start(&[]).unwrap();
    let fleet = Fleet::start(&address(&redis));
    fleet.until(true);
    for _ in 0..2 {
        let caller = fleet.caller(0, EXPLORER);
        redis.freeze();
        let mut waits = Vec::new();
        for _ in 0..10 {
            let began = Instant::now();
            drop(block_on(fleet.meters[0].admit(&caller, btc(), 1, 1)).unwrap());
            waits.push(began.elapsed());
        }
        waits.sort_unstable();
        println!("{waits:?}");
        assert!(waits[9] < Duration::from_millis(500), "{waits:?}");
        assert!(waits[8] < Duration::from_millis(40), "{waits:?}");
        fleet.until(false);
        redis.thaw();
        fleet.until(true);
        let (before, caller) = (fleet.view(0), fleet.caller(0, EXPLORER));
        thread::sleep(Duration::from_secs(1));
        block_on(fleet.meters[0].admit(&caller, btc(), 1, 1)).unwrap();
        assert_eq!(fleet.view(0).shared_calls, before.shared_calls + 1);
    }
    // One that takes no writes is as good as away.
    redis.command(&["CONFIG", "SET", "maxmemory", "1"]).unwrap();
    fleet.until(false);
    let caller = fleet.caller(0, EXPLORER);
    block_on(fleet.meters[0].admit(&caller, btc(), 1, 1)).unwrap();
    redis.command(&["CONFIG", "SET", "maxmemory", "0"]).unwrap();
    // One that has forgotten the script is told it again.
    fleet.until(true);
    redis.command(&["SCRIPT", "FLUSH"]).unwrap();
    let before = fleet.view(1);
    let caller = fleet.caller(1, EXPLORER);
    block_on(fleet.meters[1].admit(&caller, btc(), 1, 1)).unwrap();
    assert_eq!(fleet.view(1).shared_calls, before.shared_calls + 1);
}

#[test]
fn a_request_that_is_given_up_while_it_waits_leaves_nothing() {
    let mut redis = Redis::start(&[]).unwrap();
    let fleet = Fleet::start(&address(&redis));
    fleet.until(true);
    let caller = fleet.caller(0, GATEWAY);
    redis.freeze();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let admit = fleet.meters[0].admit(&caller, btc(), 1, 1);
        let waited = tokio::time::timeout(Duration::from_millis(5), admit).await;
        assert!(waited.is_err(), "it does not wait");
    });
    redis.thaw();
    let permit = block_on(fleet.meters[0].admit(&caller, btc(), 1, 1)).unwrap();
    let place = fleet.meters[0].enter(&caller).unwrap();
    assert_eq!(place.in_flight(), 2);
    drop((permit, place));
    (0..REPLICAS).for_each(|place| fleet.meters[place].record().unwrap());
    let used = fleet.postgres.sql("buckets", "SELECT sum(units) FROM portolan.usage").unwrap();
    assert_eq!(used, "1");
}
