//! B16: the built-in plans, own plans, names without case, refused numbers.

use super::*;

fn own(name: &str, config: PlanConfig) -> Result<Plans, PlanError> {
    Plans::with([(name.to_owned(), config)])
}

fn config(burst: u32) -> PlanConfig {
    PlanConfig { requests_per_second: burst, ..PlanConfig::default() }
}

#[test]
fn built_in_plans_have_the_numbers_of_the_specification() {
    let plans = Plans::default();
    let rows: Vec<_> = plans
        .iter()
        .map(|p| (p.name.as_str(), p.requests_per_second, p.daily, p.monthly, p.batch_size))
        .collect();
    assert_eq!(
        rows,
        [
            ("Free", 5, Some(10_000), Some(300_000), 5),
            ("Starter", 15, Some(200_000), Some(5_000_000), 20),
            ("Pro", 40, Some(1_000_000), Some(25_000_000), 50),
        ]
    );
    assert!(plans.iter().all(|plan| plan.concurrency == 2 * plan.requests_per_second));
}

#[test]
fn names_are_found_without_case() {
    let plans = own("Lab", config(1000)).unwrap();
    for name in ["lab", "LAB", "Lab"] {
        assert_eq!(plans.find(name).unwrap().name, "Lab");
    }
    let lab = plans.find("lab").unwrap();
    assert_eq!((lab.daily, lab.monthly, lab.concurrency, lab.batch_size), (None, None, 2000, 50));
    assert_eq!(plans.offer("lab").unwrap().chains & 0x1ff, 0x1ff);
    assert!(plans.find("none").is_none());
}

#[test]
fn an_own_plan_replaces_a_built_in_one_and_limits_chains() {
    let limited = PlanConfig { chains: Some(vec!["btc".into(), "xmr".into()]), ..config(9) };
    let plans = own("free", limited).unwrap();
    assert_eq!(plans.iter().count(), 3);
    assert_eq!(plans.find("Free").unwrap().requests_per_second, 9);
    assert_eq!(plans.offer("FREE").unwrap().chains, 1 << 0 | 1 << 8);
}

#[test]
fn absurd_numbers_and_names_are_refused() {
    let absurd = [
        config(0),
        config(MAX_REQUESTS_PER_SECOND + 1),
        PlanConfig { daily: Some(0), ..config(1) },
        PlanConfig { monthly: Some(MAX_UNITS + 1), ..config(1) },
        PlanConfig { batch_size: Some(0), ..config(1) },
        PlanConfig { concurrency: Some(0), ..config(1) },
        PlanConfig { chains: Some(vec![]), ..config(1) },
        PlanConfig { chains: Some(vec!["BTC".into()]), ..config(1) },
    ];
    for config in absurd {
        assert!(own("lab", config.clone()).is_err(), "{config:?}");
    }
    for name in ["", "none", "None", "two words", "ümlaut", &"x".repeat(33)] {
        assert_eq!(own(name, config(1)).unwrap_err(), PlanError::Name(name.to_owned()));
    }
    let twice = Plans::with([("lab".to_owned(), config(1)), ("LAB".to_owned(), config(1))]);
    assert_eq!(twice.unwrap_err(), PlanError::Twice("LAB".to_owned()));
}

#[test]
fn a_section_with_an_unknown_field_is_refused() {
    let parsed: Result<PlanConfig, _> =
        serde_json::from_str(r#"{"requests_per_second":1,"dayly":5}"#);
    assert!(parsed.unwrap_err().to_string().contains("dayly"));
}
