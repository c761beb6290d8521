//! B6, B7, B13, B14: random requests, refunds, restarts and clock steps against a plain model.

use std::collections::HashMap;
use std::time::Duration;

use meter::{KeyOptions, Permit, PlanConfig, Reason};
use proptest::prelude::*;

use crate::rig::*;

const DAILY: u64 = 40;
const MONTHLY: u64 = 100;
const KEY_DAILY: u64 = 30;
const CONCURRENCY: u32 = 4;
/// Two hours before the end of a month.
const START: &str = "2026-11-30T22:00:00Z";

#[derive(Clone, Debug)]
enum Step {
    /// A request of so many units by one of two keys.
    Admit {
        capped: bool,
        units: u32,
    },
    /// A part of an open request is given back.
    Refund {
        which: usize,
        units: u32,
    },
    Close {
        which: usize,
    },
    Pass {
        secs: u64,
    },
    /// The UTC clock is set, in hours from the start of the test.
    SetClock {
        hours: i64,
    },
    Restart,
    Record,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (any::<bool>(), 0..12_u32).prop_map(|(capped, units)| Step::Admit { capped, units }),
        3 => (0..4_usize, 1..12_u32).prop_map(|(which, units)| Step::Refund { which, units }),
        4 => (0..4_usize).prop_map(|which| Step::Close { which }),
        3 => (0..5000_u64).prop_map(|secs| Step::Pass { secs }),
        2 => (-60..60_i64).prop_map(|hours| Step::SetClock { hours }),
        1 => Just(Step::Restart),
        1 => Just(Step::Record),
    ]
}

/// What a correct meter knows: units by hour and key, and the requests that are open.
#[derive(Default)]
struct Model {
    units: HashMap<(u64, bool), u64>,
    open: Vec<Open>,
}

struct Open {
    permit: Permit,
    hour: u64,
    capped: bool,
    units: u32,
    since: Duration,
}

impl Model {
    fn day(&self, now: u64, key: Option<bool>) -> u64 {
        self.sum(|secs| secs / 86_400 == now / 86_400, key)
    }

    fn month(&self, now: u64) -> u64 {
        let month = |secs| meter::Utc::from_secs(secs).month();
        self.sum(|secs| month(secs) == month(now), None)
    }

    fn sum(&self, within: impl Fn(u64) -> bool, key: Option<bool>) -> u64 {
        let of = self
            .units
            .iter()
            .filter(|((hour, of), _)| within(hour * 3600) && key.is_none_or(|key| key == *of));
        of.map(|(_, units)| units).sum()
    }

    fn expected(&self, now: u64, capped: bool, units: u64) -> Result<(), Reason> {
        let key_day = self.day(now, Some(capped)) + units;
        match () {
            () if units > 0 && self.month(now) + units > MONTHLY => Err(Reason::MonthlyQuota),
            () if units > 0 && self.day(now, None) + units > DAILY => Err(Reason::DailyQuota),
            () if units > 0 && capped && key_day > KEY_DAILY => Err(Reason::KeyDailyQuota),
            () if self.open.len() as u32 >= CONCURRENCY => Err(Reason::TooManyConcurrent),
            () => Ok(()),
        }
    }
}

fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let lab = PlanConfig {
        daily: Some(DAILY),
        monthly: Some(MONTHLY),
        concurrency: Some(CONCURRENCY),
        ..wide()
    };
    let options = KeyOptions { daily_cap: Some(KEY_DAILY), ..KeyOptions::default() };
    let mut rig = Rig::with(lab, START, options);
    let free = rig.admin.add_key("acme", KeyOptions::default()).unwrap().key;
    let capped_key = rig.key.clone();
    let mut model = Model::default();
    for step in steps {
        let now = rig.clock.utc().secs();
        match step {
            Step::Admit { capped, units } => {
                let key = if capped { capped_key.as_str() } else { free.reveal() };
                let caller = rig.caller_of(key, GATEWAY).unwrap();
                let result = at_once(rig.meter().admit(&caller, btc(), units.max(1), units));
                let expected = model.expected(now, capped, u64::from(units));
                prop_assert_eq!(result.as_ref().map(drop).map_err(|d| d.reason), expected);
                if let Ok(permit) = result {
                    *model.units.entry((now / 3600, capped)).or_default() += u64::from(units);
                    let left = DAILY.saturating_sub(model.day(now, None));
                    prop_assert_eq!(permit.remains().daily_remaining, Some(left));
                    let left = MONTHLY.saturating_sub(model.month(now));
                    prop_assert_eq!(permit.remains().monthly_remaining, Some(left));
                    let left = KEY_DAILY.saturating_sub(model.day(now, Some(capped)));
                    let left = capped.then_some(left);
                    prop_assert_eq!(permit.remains().key_daily_remaining, left);
                    let (hour, since) = (now / 3600, rig.clock.mono());
                    model.open.push(Open { permit, hour, capped, units, since });
                }
            }
            Step::Refund { which, units } => {
                if let Some(open) = model.open.get_mut(which) {
                    open.permit.refund(units);
                    let given = units.min(open.units);
                    open.units -= given;
                    let row = model.units.get_mut(&(open.hour, open.capped)).unwrap();
                    *row -= u64::from(given);
                }
            }
            Step::Close { which } => {
                if which < model.open.len() {
                    model.open.remove(which);
                }
            }
            Step::Pass { secs } => {
                rig.hands.advance(Duration::from_secs(secs));
                // No request lives longer than that; slots are kept for two hours.
                let now = rig.clock.mono();
                model.open.retain(|open| now - open.since < Duration::from_secs(3600));
            }
            Step::SetClock { hours } => {
                rig.hands.set_utc(utc(START).saturating_add_signed(hours * 3600));
                rig.hands.advance(Duration::from_secs(1));
            }
            Step::Restart => {
                model.open.clear();
                rig.restart();
            }
            Step::Record => rig.meter().record().unwrap(),
        }
        // Full buckets: this test is about quotas.
        rig.hands.advance(Duration::from_millis(1));
        let now = rig.clock.utc().secs();
        let day = model.day(now, None);
        prop_assert_eq!(rig.used(), (day, model.month(now), day));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_meter_is_as_a_plain_model(steps in proptest::collection::vec(step(), 1..80)) {
        run(steps)?;
    }
}
