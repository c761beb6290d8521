//! Several replicas against one lender that forgets nothing: whatever is killed, started, cut off or
//! told twice, and wherever their clocks stand, no more than the cap is spent; and once all is calm, all
//! of it can be.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proptest::prelude::*;

use super::*;
use crate::Scopes;
use crate::open_days::OpenDays;
use crate::store::lender::{Kind, LiveReplicas, fair, lent};
use crate::store::{Account, Changes, Key, Total};
use crate::table::{KeyEntry, Table};
use crate::{Plans, Utc};

const ACCOUNT: u64 = 7;
const DIGEST: [u8; 32] = [9; 32];
const REPLICAS: usize = 3;
const DAILY: u64 = 60;
const MONTHLY: u64 = 100;
/// Noon of 30 November 2026: the month is over soon.
const START: u64 = 1_796_040_000;

/// A lender in memory.
#[derive(Debug, Default)]
struct Bank(Mutex<Sheets>);

#[derive(Debug, Default)]
struct Sheets {
    /// Recorded units, by replica and day.
    usage: BTreeMap<(u64, u32), u64>,
    pots: BTreeSet<PotName>,
    leases: BTreeMap<(PotName, u64), u64>,
    is_away: bool,
    /// The next answer is lost after all was done.
    loses_answer: bool,
}

impl Sheets {
    fn used(&self, replica: u64, hours: &Range<u32>) -> u64 {
        let days = hours.start / 24..hours.end / 24;
        let of = self.usage.iter().filter(|((of, day), _)| *of == replica && days.contains(day));
        of.map(|(_, units)| units).sum()
    }

    fn lent(&self, pot: PotName) -> impl Iterator<Item = (u64, u64)> {
        let of = self.leases.iter().filter(move |((of, _), _)| *of == pot);
        of.map(|((_, replica), units)| (*replica, *units))
    }
}

fn away() -> StoreError {
    StoreError::Failed("away".to_owned())
}

impl Bank {
    fn sheets(&self) -> MutexGuard<'_, Sheets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lender for Bank {
    fn lend(
        &self,
        _: Service,
        replica: Replica,
        live: u32,
        asks: &[Ask],
    ) -> Result<Vec<Lent>, StoreError> {
        let mut sheets = self.sheets();
        if sheets.is_away {
            return Err(away());
        }
        let mut all = Vec::new();
        for ask in asks {
            if sheets.pots.insert(ask.pot) {
                let hours = ask.pot.kind.hours(ask.pot.stamp);
                for replica in 1..=REPLICAS as u64 {
                    let used = sheets.used(replica, &hours);
                    sheets.leases.insert((ask.pot, replica), used);
                }
            }
            let others = sheets
                .lent(ask.pot)
                .filter(|(of, _)| *of != replica.number())
                .map(|(_, u)| u)
                .sum();
            let mine = lent(ask, others, live);
            sheets.leases.insert((ask.pot, replica.number()), mine);
            all.push(Lent { mine, others });
        }
        match std::mem::take(&mut sheets.loses_answer) {
            true => Err(away()),
            false => Ok(all),
        }
    }

    fn settle(&self, _: Service, replica: Replica) -> Result<(), StoreError> {
        let mut sheets = self.sheets();
        let pots: Vec<PotName> = sheets.pots.iter().copied().collect();
        for pot in pots {
            let used = sheets.used(replica.number(), &pot.kind.hours(pot.stamp));
            sheets.leases.insert((pot, replica.number()), used);
        }
        Ok(())
    }

    fn tidy(&self, _: Service, _: u32) -> Result<(), StoreError> {
        Ok(())
    }

    fn beat(&self, _: Service, _: Replica, _: bool) -> Result<LiveReplicas, StoreError> {
        Ok(LiveReplicas { live: REPLICAS as u32, place: 0 })
    }

    fn own_totals(
        &self,
        _: Service,
        replica: Replica,
        hours: Range<u32>,
    ) -> Result<Vec<Total>, StoreError> {
        let units = self.sheets().used(replica.number(), &hours);
        Ok(vec![Total { account: ACCOUNT, key: 1, units }])
    }
}

/// A process with its usage file, which outlives it.
struct Process {
    replica: Replica,
    /// The usage file: units by day.
    file: BTreeMap<u32, u64>,
    /// Hours that its clock is wrong by.
    clock_off: i64,
    running: Option<Running>,
    is_lost: bool,
}

struct Running {
    key: Arc<KeyEntry>,
    holdings: Holdings,
    open_days: OpenDays,
}

fn key_entry() -> Arc<KeyEntry> {
    let table = Table::new(Plans::default());
    let (name, plan, at) = ("acme".to_owned(), "Free".to_owned(), Utc::from_secs(0));
    let account = Account {
        id: ACCOUNT,
        name,
        gateway_plan: plan.clone(),
        explorer_plan: plan,
        suspended: false,
        created_at: at,
    };
    let key = Key {
        id: 1,
        account: ACCOUNT,
        digest: DIGEST,
        prefix: String::new(),
        label: None,
        daily_cap: None,
        expires_at: None,
        revoked: false,
        scopes: Scopes::default(),
        created_at: at,
    };
    let changes = Changes { version: 1, accounts: vec![account], keys: vec![key], damaged: vec![] };
    table.apply(changes);
    table.find(&DIGEST).unwrap()
}

impl Process {
    fn new(number: u64) -> Process {
        let replica = Replica::from_number(number);
        Process { replica, file: BTreeMap::new(), clock_off: 0, running: None, is_lost: false }
    }

    fn utc(&self, now: Duration) -> Utc {
        Utc::from_secs((START + now.as_secs()).saturating_add_signed(self.clock_off * 3600))
    }

    fn moment(&self, now: Duration) -> Moment {
        let utc = self.utc(now);
        let open_days = self.running.as_ref().map(|running| &running.open_days);
        Moment {
            mono: now,
            day: utc.day(),
            secs_to_next_day: utc.secs_to_next_day(),
            tomorrow_is_new: open_days.is_some_and(|open_days| open_days.is_blank(utc.day() + 1)),
        }
    }

    fn who(&self) -> Borrower {
        Borrower { service: Service::Gateway, replica: self.replica, live: REPLICAS as u32 }
    }

    fn record(&self, bank: &Bank) {
        let mut sheets = bank.sheets();
        if !sheets.is_away && self.running.is_some() {
            let rows = self.file.iter().map(|(day, units)| ((self.replica.number(), *day), *units));
            sheets.usage.extend(rows);
        }
    }

    /// As a process starts: what the file has is recorded, and nothing is held beside it.
    fn start(&mut self, bank: &Bank, now: Duration) {
        if self.running.is_some() || self.is_lost || bank.sheets().is_away {
            return;
        }
        let last_day = bank.sheets().usage.keys().map(|(_, day)| *day).max();
        let last_day = last_day.max(self.file.keys().last().copied());
        let (key, holdings) = (key_entry(), Holdings::default());
        self.running = Some(Running { key, holdings, open_days: OpenDays::new(last_day) });
        self.record(bank);
        bank.settle(Service::Gateway, self.replica).unwrap();
        self.is_open(bank, now);
    }

    /// As the engine does when a day is not known: its rows are read.
    fn is_open(&self, bank: &Bank, now: Duration) -> bool {
        let Some(running) = &self.running else { return false };
        let (day, allowance) = (self.utc(now).day(), &running.key.account.allowances[0]);
        if running.open_days.is_open(day) {
            return true;
        }
        if bank.sheets().is_away {
            return false;
        }
        self.record(bank);
        let sum = |kind: Kind| {
            let hours = kind.hours(kind.stamp_of_day(day));
            bank.own_totals(Service::Gateway, self.replica, hours).unwrap()[0].units
        };
        allowance.day.restore(day, sum(Kind::Day));
        allowance.month.restore(Kind::Month.stamp_of_day(day), sum(Kind::Month));
        running.open_days.open(day);
        true
    }

    fn look(&mut self, bank: &Bank, now: Duration, all: bool) {
        let (who, moment) = (self.who(), self.moment(now));
        if let Some(running) = &mut self.running {
            let _ = running.holdings.look(bank, who, moment, all);
        }
    }

    /// Gives back what was spent of the leases of this process.
    fn refund(&mut self, now: Duration, units: u64) {
        let day = self.utc(now).day();
        let (Some(running), Some(used)) = (&self.running, self.file.get_mut(&day)) else { return };
        let units = units.min(*used);
        let both = [Kind::Day, Kind::Month].map(|kind| (purse(&running.key, kind), kind));
        let is_own = both.iter().all(|(purse, kind)| {
            let stamp = kind.stamp_of_day(day);
            purse.tally().used(stamp) == 0 && purse.term(stamp).left(stamp).is_some()
        });
        if is_own {
            *used -= units;
            for (purse, kind) in both {
                assert!(purse.term(kind.stamp_of_day(day)).put(kind.stamp_of_day(day), units));
            }
        }
    }

    /// A call: from what is at hand, or after asking once.
    fn spend(&mut self, bank: &Bank, now: Duration, units: u64) -> Option<u32> {
        let day = self.utc(now).day();
        if !self.is_open(bank, now) {
            return None;
        }
        for _ in 0..4 {
            let running = self.running.as_mut()?;
            let short = match take(&running.key, day, units) {
                Ok(()) => {
                    *self.file.entry(day).or_default() += units;
                    return Some(day);
                }
                Err(short) => short,
            };
            let purse = purse(&running.key, short);
            let stamp = short.stamp_of_day(day);
            let term = purse.term(stamp);
            let _waiting = term.wait(units as u32);
            let secs_to_next_day = 43_200;
            let moment = Moment { mono: now, day, secs_to_next_day, tomorrow_is_new: false };
            let wanted = Wanted { purse: purse.clone(), stamp, cap: cap(short) };
            running.holdings.want(wanted, moment);
            self.look(bank, now, false);
        }
        None
    }
}

fn cap(kind: Kind) -> u64 {
    if kind == Kind::Month { MONTHLY } else { DAILY }
}

fn purse(key: &Arc<KeyEntry>, kind: Kind) -> Purse {
    Purse { service: Service::Gateway, kind, key: Arc::clone(key) }
}

/// Month and day, or neither.
fn take(key: &Arc<KeyEntry>, day: u32, units: u64) -> Result<(), Kind> {
    let (month, stamp) = (purse(key, Kind::Month), Kind::Month.stamp_of_day(day));
    month.term(stamp).take(stamp, units, MONTHLY).ok_or(Kind::Month)?;
    if purse(key, Kind::Day).term(day).take(day, units, DAILY).is_none() {
        month.term(stamp).put(stamp, units);
        return Err(Kind::Day);
    }
    Ok(())
}

#[derive(Clone, Debug)]
enum Step {
    Spend {
        who: usize,
        units: u64,
    },
    Refund {
        who: usize,
        units: u64,
    },
    Look {
        who: usize,
    },
    Record {
        who: usize,
    },
    Kill {
        who: usize,
    },
    Lose {
        who: usize,
    },
    Start {
        who: usize,
    },
    End {
        who: usize,
    },
    Away(bool),
    LoseAnswer,
    Pass {
        secs: u64,
    },
    /// A minute before the next midnight.
    Eve,
    SetClock {
        who: usize,
        hours: i64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let who = 0..REPLICAS;
    prop_oneof![
        30 => (who.clone(), 1..6_u64).prop_map(|(who, units)| Step::Spend { who, units }),
        3 => (who.clone(), 1..6_u64).prop_map(|(who, units)| Step::Refund { who, units }),
        8 => who.clone().prop_map(|who| Step::Look { who }),
        4 => who.clone().prop_map(|who| Step::Record { who }),
        3 => who.clone().prop_map(|who| Step::Kill { who }),
        1 => who.clone().prop_map(|who| Step::Lose { who }),
        6 => who.clone().prop_map(|who| Step::Start { who }),
        1 => who.clone().prop_map(|who| Step::End { who }),
        2 => any::<bool>().prop_map(Step::Away),
        2 => Just(Step::LoseAnswer),
        6 => (0..4000_u64).prop_map(|secs| Step::Pass { secs }),
        1 => Just(Step::Eve),
        1 => (who, -30..30_i64).prop_map(|(who, hours)| Step::SetClock { who, hours }),
    ]
}

struct World {
    bank: Bank,
    processes: Vec<Process>,
    now: Duration,
}

impl World {
    fn new() -> World {
        let processes = (1..=REPLICAS as u64).map(Process::new).collect();
        World { bank: Bank::default(), processes, now: Duration::from_secs(1) }
    }

    fn go(&mut self, step: &Step) {
        let World { bank, processes, now } = self;
        match *step {
            Step::Spend { who, units } => drop(processes[who].spend(bank, *now, units)),
            Step::Refund { who, units } => processes[who].refund(*now, units),
            Step::Look { who } => processes[who].look(bank, *now, true),
            Step::Record { who } => processes[who].record(bank),
            Step::Kill { who } => processes[who].running = None,
            Step::Lose { who } => {
                processes[who].running = None;
                processes[who].is_lost = true;
            }
            Step::Start { who } => processes[who].start(bank, *now),
            Step::End { who } => {
                processes[who].record(bank);
                let (borrower, moment) = (processes[who].who(), processes[who].moment(*now));
                if let Some(mut running) = processes[who].running.take() {
                    let _ = running.holdings.return_all(bank, borrower, moment);
                }
            }
            Step::Away(is_away) => bank.sheets().is_away = is_away,
            Step::LoseAnswer => bank.sheets().loses_answer = true,
            Step::Pass { secs } => *now += Duration::from_secs(secs),
            Step::Eve => {
                let wait = Utc::from_secs(START + now.as_secs()).secs_to_next_day();
                *now += Duration::from_secs(wait.saturating_sub(60));
            }
            Step::SetClock { who, hours } => processes[who].clock_off = hours,
        }
    }

    fn served(&self, kind: Kind, stamp: u32) -> u64 {
        let days = kind.hours(stamp).start / 24..kind.hours(stamp).end / 24;
        let of = self.processes.iter().flat_map(|process| process.file.iter());
        of.filter(|(day, _)| days.contains(day)).map(|(_, units)| units).sum()
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let days: BTreeSet<u32> =
            self.processes.iter().flat_map(|process| process.file.keys().copied()).collect();
        for day in days {
            for kind in [Kind::Day, Kind::Month] {
                let stamp = kind.stamp_of_day(day);
                let served = self.served(kind, stamp);
                prop_assert!(served <= cap(kind), "{kind:?} {stamp}: {served}");
                let lent = self
                    .bank
                    .sheets()
                    .lent(PotName { kind, subject: ACCOUNT, stamp })
                    .map(|(_, units)| units)
                    .sum::<u64>();
                prop_assert!(lent <= cap(kind), "{kind:?} {stamp}: lent {lent}");
            }
        }
        Ok(())
    }

    /// All is well from now on, clocks are right, and a new day has begun: its whole cap is served,
    /// but for what machines that are lost may have spent of the month.
    fn calm_down(&mut self) -> Result<(), TestCaseError> {
        {
            let mut sheets = self.bank.sheets();
            (sheets.is_away, sheets.loses_answer) = (false, false);
        }
        for process in &mut self.processes {
            process.clock_off = 0;
        }
        let now = self.now;
        let World { bank, processes, .. } = self;
        for process in processes.iter_mut() {
            process.start(bank, now);
            process.record(bank);
        }
        let day = Utc::from_secs(START + self.now.as_secs()).day();
        let month = Kind::Month.stamp_of_day(day);
        let mut idle = 0;
        while idle < 40 {
            let World { bank, processes, now } = self;
            let spent = processes.iter_mut().filter_map(|process| process.spend(bank, *now, 1));
            idle = if spent.count() == 0 { idle + 1 } else { 0 };
            // Short of what moves the day on.
            *now += Duration::from_millis(300);
            processes.iter_mut().for_each(|process| process.look(bank, *now, true));
        }
        if Utc::from_secs(START + self.now.as_secs()).day() != day {
            return Ok(());
        }
        let stranded = |kind: Kind, stamp| {
            let hours = kind.hours(stamp);
            let lost = self.processes.iter().filter(|process| process.is_lost);
            let open = lost.map(|process| {
                let sheets = self.bank.sheets();
                let pot = PotName { kind, subject: ACCOUNT, stamp };
                let lent = sheets.leases.get(&(pot, process.replica.number())).copied();
                let days = hours.start / 24..hours.end / 24;
                let used: u64 =
                    process.file.iter().filter(|(day, _)| days.contains(day)).map(|(_, u)| u).sum();
                lent.unwrap_or(0).saturating_sub(used)
            });
            open.sum::<u64>()
        };
        if self.processes.iter().all(|process| process.is_lost) {
            return Ok(());
        }
        let free = |kind: Kind, stamp| {
            let taken = self.served(kind, stamp) + stranded(kind, stamp);
            cap(kind).saturating_sub(taken)
        };
        let left = free(Kind::Day, day).min(free(Kind::Month, month));
        prop_assert_eq!(left, 0, "served {} of {}", self.served(Kind::Day, day), DAILY);
        Ok(())
    }
}

fn run(steps: &[Step]) -> Result<(), TestCaseError> {
    let mut world = World::new();
    for step in steps {
        world.go(step);
        world.check()?;
    }
    world.calm_down()?;
    world.check()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_more_than_the_cap_is_spent_and_all_of_it_can_be(
        steps in proptest::collection::vec(step(), 1..120)
    ) {
        run(&steps)?;
    }
}

#[test]
fn a_lease_is_half_of_an_equal_share_at_most_but_what_calls_wait_for() {
    let pot = PotName { kind: Kind::Day, subject: ACCOUNT, stamp: 1 };
    let ask = Ask { pot, cap: 1000, hold: 100, left: 10, at_hand: 500, need: 0 };
    // 600 are there, 10 of them here: 610 / 6.
    assert_eq!(fair(610, 3), 101);
    assert_eq!(lent(&ask, 300, 3), 100 + 91);
    assert_eq!(lent(&Ask { need: 200, ..ask }, 300, 3), 300);
    assert_eq!(lent(&Ask { need: 900, ..ask }, 300, 3), 700);
    assert_eq!(lent(&ask, 900, 3), 100);
    assert_eq!(lent(&ask, 5000, 3), 100);
    // What it has used cannot be undone, whatever the cap.
    assert_eq!(lent(&Ask { cap: 1, ..ask }, 300, 3), 100);
}

#[test]
fn a_day_that_was_used_before_is_not_taken_for_new_on_its_eve() {
    let spend = |units| Step::Spend { who: 0, units };
    // A clock that is half a day early, set right by a restart.
    let mut steps = vec![Step::Start { who: 0 }, Step::SetClock { who: 0, hours: 13 }];
    steps.extend((0..10).map(|_| spend(5)));
    steps.extend([Step::Kill { who: 0 }, Step::SetClock { who: 0, hours: 0 }]);
    steps.extend([Step::Start { who: 0 }, Step::Eve, spend(1), Step::Look { who: 0 }]);
    steps.extend([Step::Pass { secs: 61 }, spend(1), Step::Look { who: 0 }]);
    run(&steps).unwrap();
}
