//! What a request costs, and what its headers say of the allowance.

use std::sync::Arc;
use std::time::Duration;

use listen::Counted;
use meter::{Clock, KeyOptions, PlanConfig, Plans, Scopes};
use testkit::Answer;

use crate::utxo::rig::{Plan, Rig, json, plans, reason, refused};

const BLOCK: &str = "/api/v1/btc/block/7";
/// 2026-11-28 06:00:00 UTC: 18 hours to midnight, 2 days and 18 hours to the month's end.
const MORNING: u64 = 1_795_845_600;

fn number(answer: &Answer, name: &str) -> Option<u64> {
    answer.header(name).map(|value| value.parse().unwrap())
}

/// Limit, remaining, reset, daily and monthly remaining.
fn standing(answer: &Answer) -> [Option<u64>; 5] {
    [
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
        "x-quota-daily-remaining",
        "x-quota-monthly-remaining",
    ]
    .map(|name| number(answer, name))
}

async fn rig(plans: Plans) -> Rig {
    Plan { plans, bare: vec!["eth"], ..Plan::of(&["btc"]) }.start().await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_charged_answer_tells_what_is_left() {
    let rig = rig(plans(100, Some(50), Some(500), None)).await;
    let first = rig.get(BLOCK).await;
    assert_eq!(standing(&first), [Some(100), Some(99), Some(1), Some(49), Some(499)]);
    let tag = first.header("etag").unwrap();
    let key = ("X-API-Key", rig.key.as_str());
    let charged = [
        (304, rig.get_with(BLOCK, &[key, ("If-None-Match", tag)]).await),
        (400, rig.get("/api/v1/btc/block/007").await),
        (400, rig.get("/api/v1/btc/search").await),
        (404, rig.get("/api/v1/btc/block/999999").await),
        (404, rig.get("/api/v1/btc/gas").await),
        (404, rig.get("/api/v1/sol/status").await),
        (200, rig.get("/api/v1/btc/search/nothing").await),
        (200, rig.get_with(BLOCK, &[("Authorization", &format!("bearer   {}", rig.key))]).await),
    ];
    let mut left = 49;
    for (status, answer) in &charged {
        // The search without a query is no endpoint, and free.
        if json_reason(answer).as_deref() == Some("ENDPOINT_NOT_FOUND") {
            assert_eq!(standing(answer), [None; 5]);
            continue;
        }
        left -= 1;
        assert_eq!(answer.status, *status, "{}", answer.text());
        let [limit, remaining, reset, daily, monthly] = standing(answer);
        assert_eq!((limit, daily, monthly), (Some(100), Some(left), Some(left + 450)));
        assert!(remaining.unwrap() < 100 && reset == Some(1));
        assert_eq!(answer.header("x-quota-key-daily-remaining"), None);
    }
    assert_eq!(rig.units_today(), (0, 50 - left));
}

fn json_reason(answer: &Answer) -> Option<String> {
    (answer.status >= 400).then(|| reason(answer))
}

#[tokio::test(flavor = "multi_thread")]
async fn request_ids_are_ours_and_quotas_stand_only_where_they_are() {
    let rig = rig(plans(100, None, Some(500), None)).await;
    let first = rig.get(BLOCK).await;
    assert_eq!(standing(&first), [Some(100), Some(99), Some(1), None, Some(499)]);
    let id = first.header("x-request-id").unwrap();
    assert_eq!((id.len(), id.as_bytes()[14]), (36, b'7'));
    let key = ("X-API-Key", rig.key.as_str());
    let again = rig.get_with(BLOCK, &[key, ("X-Request-Id", id)]).await;
    assert_ne!(again.header("x-request-id"), Some(id));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_charged_shows_no_allowance() {
    let rig = rig(plans(100, Some(50), Some(500), None)).await;
    let none = rig.get_with(BLOCK, &[]).await;
    refused(&none, 401, "MISSING_API_KEY");
    let empty = rig.get_with(BLOCK, &[("X-API-Key", "")]).await;
    refused(&empty, 401, "MISSING_API_KEY");
    let in_url = rig.get_with(&format!("{BLOCK}?api_key={0}&key={0}", rig.key), &[]).await;
    refused(&in_url, 401, "MISSING_API_KEY");
    let basic = rig.get_with(BLOCK, &[("Authorization", "Basic cHRsXw==")]).await;
    refused(&basic, 401, "MISSING_API_KEY");
    let wrong = rig.get_with(BLOCK, &[("X-API-Key", "nonsense")]).await;
    refused(&wrong, 401, "INVALID_API_KEY");
    // The first form wins, also where it is wrong.
    let bearer = format!("Bearer {}", rig.key);
    let both = [("X-API-Key", "nonsense"), ("Authorization", bearer.as_str())];
    refused(&rig.get_with(BLOCK, &both).await, 401, "INVALID_API_KEY");
    let nowhere = rig.get("/api/v1/btc/nothing").await;
    refused(&nowhere, 404, "ENDPOINT_NOT_FOUND");
    let unindexed = rig.get("/api/v1/eth/status").await;
    refused(&unindexed, 503, "SERVICE_UNAVAILABLE");
    for answer in [none, empty, in_url, basic, wrong, nowhere, unindexed] {
        assert_eq!(standing(&answer), [None; 5]);
    }
    assert_eq!(rig.units_today(), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_accounts_are_looked_at_before_chains() {
    let rig = rig(plans(100, Some(50), None, None)).await;
    rig.admin.suspend("tester").unwrap();
    settled(&rig, BLOCK, 403).await;
    for target in [BLOCK, "/api/v1/sol/status", "/api/v1/btc/gas", "/api/v1/btc/block/x"] {
        refused(&rig.get(target).await, 403, "ACCOUNT_SUSPENDED");
    }
    refused(&rig.get("/nothing").await, 404, "ENDPOINT_NOT_FOUND");
    rig.admin.resume("tester").unwrap();
    settled(&rig, BLOCK, 200).await;
    rig.admin.set_plans("tester", None, Some("none")).unwrap();
    settled(&rig, BLOCK, 403).await;
    refused(&rig.get(BLOCK).await, 403, "CHAIN_NOT_IN_PLAN");
    refused(&rig.get("/api/v1/btc/block/x").await, 403, "CHAIN_NOT_IN_PLAN");
    rig.admin.set_plans("tester", None, Some("wide")).unwrap();
    settled(&rig, BLOCK, 200).await;
    let before = rig.units_today();
    rig.admin.revoke(&rig.key_id).unwrap();
    settled(&rig, BLOCK, 403).await;
    refused(&rig.get(BLOCK).await, 403, "KEY_REVOKED");
    assert_eq!(rig.units_today(), before);
}

/// Waits until a change is in force, which may take a second.
async fn settled(rig: &Rig, target: &str, status: u16) {
    for _ in 0..1200 {
        if rig.get(target).await.status == status {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{target} does not become {status}");
}

/// Waits until a chain is refused in these words; a change is in force within a second.
async fn says(rig: &Rig, words: &str) {
    let mut last = None;
    for _ in 0..200 {
        let answer = rig.get(BLOCK).await;
        refused(&answer, 403, "CHAIN_NOT_IN_PLAN");
        let text = json(&answer)["error"]["message"].as_str().unwrap().to_owned();
        if text == words {
            return;
        }
        last = Some(text);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{last:?} does not become {words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn chains_outside_the_plan_or_the_key_are_refused() {
    let config = PlanConfig {
        requests_per_second: 100,
        daily: None,
        monthly: None,
        batch_size: None,
        concurrency: None,
        chains: Some(vec!["eth".to_owned()]),
        price_usd: None,
    };
    let narrow = rig(Plans::with([("wide".to_owned(), config)]).unwrap()).await;
    for target in [BLOCK, "/api/v1/btc/gas", "/api/v1/btc/block/x"] {
        refused(&narrow.get(target).await, 403, "CHAIN_NOT_IN_PLAN");
    }
    refused(&narrow.get("/api/v1/eth/status").await, 503, "SERVICE_UNAVAILABLE");
    let scopes = Scopes { chains: vec!["eth".to_owned()], ..Scopes::default() };
    let options = KeyOptions { scopes, ..KeyOptions::default() };
    let scoped = Plan { options, ..Plan::of(&["btc"]) }.start().await;
    refused(&scoped.get(BLOCK).await, 403, "CHAIN_NOT_IN_PLAN");
    // What stands in the way is named: the plan, the key, no plan, a plan that is no more.
    says(&narrow, "the plan does not include this chain").await;
    says(&scoped, "the API key is not for this chain, which the plan includes").await;
    scoped.meter.set_plans(Plans::default());
    says(&scoped, "the account's plan is not offered any more").await;
    narrow.admin.set_plans("tester", None, Some("none")).unwrap();
    says(&narrow, "the account has no plan for the explorer").await;
    assert_eq!((narrow.units_today(), scoped.units_today()), ((0, 0), (0, 0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_burst_ends_and_comes_back() {
    let (clock, hands) = Clock::test(MORNING);
    let plans = plans(4, Some(1000), None, None);
    let rig = Plan { plans, clock, ..Plan::of(&["btc"]) }.start().await;
    let targets = [BLOCK, "/api/v1/btc/block/x", "/api/v1/btc/block/999999", "/api/v1/sol/status"];
    for (n, target) in targets.iter().enumerate() {
        let answer = rig.get(target).await;
        let left = 3 - n as u64;
        assert_eq!(standing(&answer)[..3], [Some(4), Some(left), Some(1)]);
    }
    for target in targets {
        let answer = rig.get(target).await;
        refused(&answer, 429, "RATE_LIMITED");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    assert_eq!(rig.units_today(), (0, 4));
    hands.advance(Duration::from_millis(250));
    assert_eq!(rig.get(BLOCK).await.status, 200);
    refused(&rig.get(BLOCK).await, 429, "RATE_LIMITED");
    hands.advance(Duration::from_secs(5));
    assert_eq!(standing(&rig.get(BLOCK).await)[..3], [Some(4), Some(3), Some(1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn quotas_end_at_midnight_and_at_the_months_end() {
    let (clock, hands) = Clock::test(MORNING);
    let rig = Plan { plans: plans(1000, Some(3), Some(5), None), clock, ..Plan::of(&["btc"]) };
    let rig = rig.start().await;
    for left in [2, 1, 0] {
        assert_eq!(number(&rig.get(BLOCK).await, "x-quota-daily-remaining"), Some(left));
    }
    for target in [BLOCK, "/api/v1/btc/block/x", "/api/v1/sol/status"] {
        let answer = rig.get(target).await;
        refused(&answer, 429, "DAILY_QUOTA_EXCEEDED");
        assert_eq!(number(&answer, "retry-after"), Some(18 * 3600));
    }
    assert_eq!(rig.units_today(), (0, 3));
    hands.set_utc(MORNING + 18 * 3600);
    for left in [1, 0] {
        assert_eq!(number(&rig.get(BLOCK).await, "x-quota-monthly-remaining"), Some(left));
    }
    let answer = rig.get(BLOCK).await;
    refused(&answer, 429, "MONTHLY_QUOTA_EXCEEDED");
    assert_eq!(number(&answer, "retry-after"), Some(2 * 86_400));
    hands.set_utc(MORNING + 18 * 3600 + 2 * 86_400);
    assert_eq!(rig.get(BLOCK).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_allowance_is_not_the_gateways() {
    let rig = rig(plans(100, Some(3), Some(500), None)).await;
    // What the gateway of the process uses up.
    let gateway = meter::Service::Gateway;
    let client = "127.0.0.1".parse().unwrap();
    let caller = rig.meter.caller(Some(&rig.key), gateway, client, None).await.unwrap();
    let btc = chain::find("btc").unwrap();
    for _ in 0..3 {
        rig.meter.admit(&caller, btc, 1, 1).await.unwrap();
    }
    assert!(rig.meter.admit(&caller, btc, 1, 1).await.is_err());
    for left in [2, 1, 0] {
        let answer = rig.get(BLOCK).await;
        assert_eq!(number(&answer, "x-quota-daily-remaining"), Some(left), "{}", answer.text());
    }
    refused(&rig.get(BLOCK).await, 429, "DAILY_QUOTA_EXCEEDED");
    assert_eq!(rig.units_today(), (3, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keys_own_cap_is_not_ours() {
    let options = KeyOptions { daily_cap: Some(1), ..KeyOptions::default() };
    let rig = Plan { options, ..Plan::of(&["btc"]) }.start().await;
    for _ in 0..3 {
        let answer = rig.get(BLOCK).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("x-quota-key-daily-remaining"), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_of_ours_give_the_unit_back_and_keep_the_token() {
    let (clock, hands) = Clock::test(MORNING);
    let plans = plans(2, Some(1000), None, None);
    let rig = Plan { plans, clock, bare: vec!["eth"], ..Plan::of(&["btc"]) }.start().await;
    for _ in 0..2 {
        let answer = rig.get("/api/v1/eth/status").await;
        refused(&answer, 503, "SERVICE_UNAVAILABLE");
    }
    refused(&rig.get(BLOCK).await, 429, "RATE_LIMITED");
    hands.advance(Duration::from_secs(1));
    let answer = rig.get(BLOCK).await;
    assert_eq!(number(&answer, "x-quota-daily-remaining"), Some(999));
    assert_eq!(rig.units_today(), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn past_the_time_limit_stays_charged() {
    let mut plan = Plan { plans: plans(1000, Some(100), None, None), ..Plan::of(&["btc"]) };
    plan.settings.timeout = Duration::ZERO;
    let rig = plan.start().await;
    // Unspent outputs are read beside the runtime's workers, hence hardly ever there at once.
    for tries in 1..=50 {
        let answer = rig.get("/api/v1/btc/address/mgLjCZefJ6DZGQ4LX25Wz6hrpBsFHXVnWS/utxo").await;
        assert_eq!(number(&answer, "x-quota-daily-remaining"), Some(100 - tries));
        assert_eq!(rig.units_today(), (0, tries));
        if answer.status != 404 {
            refused(&answer, 504, "UPSTREAM_TIMEOUT");
            return;
        }
    }
    panic!("it is always there at once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draining_process_refuses_without_a_charge() {
    let rig = rig(plans(100, Some(50), None, None)).await;
    rig.explorer.set_refusing(true);
    let answer = rig.get(BLOCK).await;
    refused(&answer, 503, "SERVICE_UNAVAILABLE");
    refused(&rig.get("/nothing").await, 404, "ENDPOINT_NOT_FOUND");
    rig.explorer.set_refusing(false);
    assert_eq!(number(&rig.get(BLOCK).await, "x-quota-daily-remaining"), Some(49));
}

#[tokio::test(flavor = "multi_thread")]
async fn more_requests_than_the_process_takes_are_refused() {
    let mut plan = Plan { plans: plans(1000, Some(100), None, None), ..Plan::of(&["btc"]) };
    plan.settings.max_in_flight = 0;
    let rig = plan.start().await;
    let answer = rig.get(BLOCK).await;
    refused(&answer, 503, "SERVICE_UNAVAILABLE");
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert_eq!((rig.units_today(), rig.explorer.in_flight()), ((0, 0), 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn as_many_requests_as_the_plan_allows_are_in_flight() {
    let rig = rig(plans(1000, None, None, Some(1))).await;
    // One that is being answered, seen from the meter.
    let explorer = meter::Service::Explorer;
    let client = "127.0.0.1".parse().unwrap();
    let caller = rig.meter.caller(Some(&rig.key), explorer, client, None).await.unwrap();
    let permit = rig.meter.admit(&caller, chain::find("btc").unwrap(), 1, 1).await.unwrap();
    for target in [BLOCK, "/api/v1/btc/block/x", "/api/v1/sol/status"] {
        let answer = rig.get(target).await;
        refused(&answer, 429, "TOO_MANY_CONCURRENT");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    drop(permit);
    // Every kind of answer gives its place back.
    let key = ("X-API-Key", rig.key.as_str());
    for _ in 0..3 {
        for target in [BLOCK, "/api/v1/btc/block/7/txs", "/api/v1/btc/gas", "/api/v1/eth/gas"] {
            assert_ne!(settled_answer(&rig, target).await.status, 429, "{target}");
        }
        let kept = rig.get_with(BLOCK, &[key, ("If-None-Match", "*")]).await;
        assert!(matches!(kept.status, 304 | 429));
        let url = format!("{}{BLOCK}", rig.url);
        let _ = tokio::time::timeout(
            Duration::from_millis(20),
            testkit::request("GET", &url, &[key], b""),
        )
        .await;
    }
    assert_eq!(settled_answer(&rig, BLOCK).await.status, 200);
}

/// The answer once the place of the request before is free, which follows the last byte.
async fn settled_answer(rig: &Rig, target: &str) -> Answer {
    let mut answer = rig.get(target).await;
    for _ in 0..6000 {
        if answer.status != 429 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        answer = rig.get(target).await;
    }
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_tried_out_are_slowed_down() {
    let (clock, hands) = Clock::test(MORNING);
    let rig = Plan { clock, ..Plan::of(&["btc"]) }.start().await;
    let wrong = [("X-API-Key", "ptl_nonsense")];
    for _ in 0..25 {
        // A missing key does not count.
        refused(&rig.get_with(BLOCK, &[]).await, 401, "MISSING_API_KEY");
    }
    for _ in 0..20 {
        refused(&rig.get_with(BLOCK, &wrong).await, 401, "INVALID_API_KEY");
    }
    hands.advance(Duration::from_secs(20));
    let answer = rig.get_with(BLOCK, &wrong).await;
    refused(&answer, 429, "RATE_LIMITED");
    assert_eq!(answer.header("retry-after"), Some("40"));
    assert_eq!(standing(&answer), [None; 5]);
    assert_eq!(rig.get(BLOCK).await.status, 200);
    // The count is one for both services of a process.
    let client = "127.0.0.1".parse().unwrap();
    let gateway = meter::Service::Gateway;
    let denial = rig.meter.caller(Some("ptl_other"), gateway, client, None).await.unwrap_err();
    assert_eq!(denial.reason, meter::Reason::TooManyInvalidKeys);
    hands.advance(Duration::from_secs(41));
    refused(&rig.get_with(BLOCK, &wrong).await, 401, "INVALID_API_KEY");
}

#[tokio::test(flavor = "multi_thread")]
async fn proxies_that_are_trusted_name_the_client() {
    let (clock, _hands) = Clock::test(MORNING);
    let mut plan = Plan { clock, ..Plan::of(&["btc"]) };
    plan.settings.clients.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    let rig = plan.start().await;
    for n in 0..45 {
        let client = format!("6.6.6.6, 10.0.0.{}", n % 2);
        let headers = [("X-API-Key", "ptl_nonsense"), ("X-Forwarded-For", client.as_str())];
        let answer = rig.get_with(BLOCK, &headers).await;
        let expected = if n < 40 { (401, "INVALID_API_KEY") } else { (429, "RATE_LIMITED") };
        assert_eq!((answer.status, reason(&answer).as_str()), expected, "{n}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_are_counted_one_by_one() {
    let rig = Arc::new(rig(plans(100_000, Some(150), None, Some(1000))).await);
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let rig = Arc::clone(&rig);
            tokio::spawn(async move {
                let (mut client, mut answered) = (rig.client().await, 0);
                for _ in 0..25 {
                    let answer = client.get("/api/v1/btc/block/7/txs").await;
                    match answer.status {
                        200 => assert_eq!(json(&answer)["tx_count"], 1),
                        _ => refused(&answer, 429, "DAILY_QUOTA_EXCEEDED"),
                    }
                    answered += u64::from(answer.status == 200);
                }
                answered
            })
        })
        .collect();
    let mut answered = 0;
    for task in tasks {
        answered += task.await.unwrap();
    }
    assert_eq!((answered, rig.units_today()), (150, (0, 150)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plans_that_are_built_in_have_their_numbers() {
    let plans = Plans::default();
    let rows = [
        ("Free", 5, 10_000, 300_000),
        ("Starter", 15, 200_000, 5_000_000),
        ("Pro", 40, 1_000_000, 25_000_000),
    ];
    for (plan, burst, daily, monthly) in rows {
        let plan = Plan { plan, plans: plans.clone(), ..Plan::of(&["btc"]) };
        let answer = plan.start().await.get(BLOCK).await;
        let numbers = [burst, burst - 1, 1, daily - 1, monthly - 1].map(Some);
        assert_eq!(standing(&answer), numbers);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn counters_tell_nothing_of_what_was_asked() {
    let rig = rig(plans(100, None, None, None)).await;
    let (address, txid) = ("mg4oGbzC7KenuXAcHYAMmrrPRgNn58UqC8", "7".repeat(64));
    for target in [format!("address/{address}"), format!("tx/{txid}"), "search/sesame".to_owned()] {
        rig.get(&format!("/api/v1/btc/{target}?open=sesame")).await;
    }
    rig.get_with(BLOCK, &[("X-API-Key", "sesame")]).await;
    rig.get("/api/v1/sesame/status").await;
    // Not charged, so not counted as charged: its index is not there.
    refused(&rig.get("/api/v1/eth/status").await, 503, "SERVICE_UNAVAILABLE");
    refused(&rig.get("/api/v1/eth/address/x/utxo").await, 404, "NOT_ON_THIS_CHAIN");
    let families = rig.explorer.registry().gather();
    let page = prometheus::TextEncoder::new().encode_to_string(&families).unwrap();
    for secret in [address, &txid, "sesame", &rig.key, &rig.key[..12]] {
        assert!(!page.contains(secret), "{page}");
    }
    for line in [
        r#"portolan_explorer_requests_total{chain="btc",endpoint="address"} 1"#,
        r#"portolan_explorer_requests_total{chain="btc",endpoint="search"} 1"#,
        r#"portolan_explorer_requests_total{chain="eth",endpoint="status"} 0"#,
        // Charged, like any other answer that there is nothing.
        r#"portolan_explorer_requests_total{chain="-",endpoint="status"} 1"#,
        r#"portolan_explorer_requests_total{chain="eth",endpoint="address_utxo"} 1"#,
        r#"portolan_explorer_refusals_total{reason="NOT_FOUND"} 1"#,
        r#"portolan_explorer_refusals_total{reason="INVALID_API_KEY"} 1"#,
        r#"portolan_explorer_refusals_total{reason="CHAIN_NOT_FOUND"} 1"#,
        r#"portolan_explorer_answers_total{status="200"} 2"#,
    ] {
        assert!(page.contains(line), "{line}\n{page}");
    }
}
