//! A store in a temporary folder with its meter, its administration and a clock with hands.
#![allow(dead_code, reason = "each binary uses its own part")]

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use meter::{
    Admin, Caller, Clock, Denial, Hands, KeyOptions, Meter, Permit, PlanConfig, Plans,
    PostgresAddress, Reason, Service, Storage, Utc,
};
use tempfile::TempDir;

pub const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub const GATEWAY: Service = Service::Gateway;
pub const EXPLORER: Service = Service::Explorer;

pub fn btc() -> &'static chain::Chain {
    chain::find("btc").unwrap()
}

pub fn utc(text: &str) -> u64 {
    text.parse::<Utc>().unwrap().secs()
}

/// A plan of 100,000 calls a second, and what a test changes of it.
pub fn wide() -> PlanConfig {
    PlanConfig {
        requests_per_second: 100_000,
        concurrency: Some(100_000),
        batch_size: Some(1000),
        ..PlanConfig::default()
    }
}

pub fn plans(lab: PlanConfig) -> Plans {
    Plans::with([("lab".to_owned(), lab)]).unwrap()
}

pub struct Rig {
    pub meter: Option<Arc<Meter>>,
    pub admin: Admin,
    pub key: String,
    pub hands: Hands,
    pub clock: Clock,
    pub plans: Plans,
    pub dir: TempDir,
    /// Where accounts, keys and usage are, if not in the folder.
    pub postgres: Option<PostgresAddress>,
}

impl Rig {
    /// One account on the plan `lab` for both services, with one key, at a time.
    pub fn new(lab: PlanConfig, at: &str) -> Rig {
        Rig::with(lab, at, KeyOptions::default())
    }

    pub fn with(lab: PlanConfig, at: &str, options: KeyOptions) -> Rig {
        Rig::on(None, lab, at, options)
    }

    pub fn on(
        postgres: Option<PostgresAddress>,
        lab: PlanConfig,
        at: &str,
        options: KeyOptions,
    ) -> Rig {
        let dir = tempfile::tempdir().unwrap();
        let (clock, hands) = Clock::test(utc(at));
        let plans = plans(lab);
        let admin = Admin::over(storage(dir.path(), &postgres), plans.clone(), clock.clone());
        admin.add_account("acme", Some("lab"), Some("lab")).unwrap();
        let key = admin.add_key("acme", options).unwrap().key.reveal().to_owned();
        let mut rig = Rig { meter: None, admin, key, hands, clock, plans, dir, postgres };
        rig.restart();
        rig
    }

    pub fn meter(&self) -> &Arc<Meter> {
        self.meter.as_ref().unwrap()
    }

    /// Ends the meter and opens it again, as a restarted process does.
    pub fn restart(&mut self) {
        self.meter = None;
        let storage = storage(self.dir.path(), &self.postgres);
        let (plans, clock) = (self.plans.clone(), self.clock.clone());
        self.meter = Some(Meter::over(storage, &Service::ALL, plans, clock).unwrap());
    }

    pub fn caller_of(&self, key: &str, service: Service) -> Result<Caller, Denial> {
        block_on(self.meter().caller(Some(key), service, HOME, None))
    }

    pub fn caller(&self) -> Caller {
        self.caller_of(&self.key, GATEWAY).unwrap()
    }

    pub fn admit(&self, tokens: u32, units: u32) -> Result<Permit, Denial> {
        let caller = self.caller_of(&self.key, GATEWAY)?;
        let admitted = self.meter().admit(&caller, btc(), tokens, units);
        match self.postgres {
            Some(_) => block_on(admitted),
            None => at_once(admitted),
        }
    }

    /// Units of today and this month on the gateway, and the sum of today's rows.
    pub fn used(&self) -> (u64, u64, u64) {
        let today = Utc::from_secs(self.clock.utc().day() as u64 * 86_400);
        let usage = self.admin.usage("acme", Some(today)).unwrap();
        let tomorrow = Utc::from_secs(today.secs() + 86_400);
        let rows = usage.hours.iter().filter(|row| row.service == "gateway" && row.hour < tomorrow);
        (usage.gateway.today, usage.gateway.month, rows.map(|row| row.units).sum())
    }
}

pub fn storage(dir: &Path, postgres: &Option<PostgresAddress>) -> Storage {
    match postgres {
        Some(address) => Storage::postgres(dir, address.clone()).unwrap(),
        None => Storage::embedded(dir).unwrap(),
    }
}

/// A new database on a server.
pub fn database(server: &testkit::Postgres, name: &str) -> PostgresAddress {
    server.make_database(name).unwrap();
    PostgresAddress::new(&server.url(name), Some(&server.password_file()), None).unwrap()
}

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(future)
}

/// What a future that waits for nothing gives when it is first asked.
pub fn at_once<T>(future: impl Future<Output = T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(done) => done,
        Poll::Pending => panic!("it waits"),
    }
}

pub fn reason<T: std::fmt::Debug>(result: Result<T, Denial>) -> (Reason, Option<u64>) {
    let denial = result.unwrap_err();
    (denial.reason, denial.retry_after_secs)
}
