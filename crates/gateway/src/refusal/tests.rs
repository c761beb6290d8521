use super::*;

/// The specification's table, status by status.
const SPECIFIED: [(u16, &[&str]); 8] = [
    (400, &["INVALID_REQUEST", "BATCH_TOO_LARGE", "INVALID_PARAMS", "RANGE_TOO_LARGE"]),
    (401, &["MISSING_API_KEY", "INVALID_API_KEY"]),
    (
        403,
        &[
            "KEY_REVOKED",
            "ACCOUNT_SUSPENDED",
            "CHAIN_NOT_IN_PLAN",
            "PLAN_UNAVAILABLE",
            "METHOD_NOT_ALLOWED",
        ],
    ),
    (404, &["CHAIN_NOT_FOUND"]),
    (413, &["REQUEST_TOO_LARGE"]),
    (
        429,
        &[
            "RATE_LIMITED",
            "TOO_MANY_CONCURRENT",
            "TOO_MANY_INVALID_KEYS",
            "DAILY_QUOTA_EXCEEDED",
            "MONTHLY_QUOTA_EXCEEDED",
            "KEY_DAILY_QUOTA_EXCEEDED",
        ],
    ),
    (502, &["NODE_ERROR", "RESPONSE_TOO_LARGE"]),
    (
        503,
        &["NODE_BUSY", "NODE_SYNCING", "NODE_UNAVAILABLE", "SERVICE_UNAVAILABLE", "GATEWAY_BUSY"],
    ),
];

#[test]
fn table_holds_the_specified_reasons_and_no_other() {
    let mut ours: Vec<(u16, &str)> =
        Reason::ALL.iter().map(|reason| (reason.row().status, reason.row().name)).collect();
    ours.retain(|(_, name)| !name.is_empty());
    ours.sort_unstable();
    ours.dedup();
    let mut theirs: Vec<(u16, &str)> = SPECIFIED
        .iter()
        .flat_map(|(status, names)| names.iter().map(|name| (*status, *name)))
        .collect();
    theirs.sort_unstable();
    assert_eq!(ours, theirs);
}

#[test]
fn codes_follow_the_decision() {
    for reason in Reason::ALL {
        let Row { name, status, code, .. } = reason.row();
        let expected = match (reason, status) {
            (Reason::Unreadable, _) => -32700,
            (Reason::InvalidParams | Reason::RangeTooLarge, _) => -32602,
            (Reason::MethodNotAllowed | Reason::PathNotFound, _) => -32601,
            (Reason::NodeError, _) => -32603,
            (Reason::ResponseTooLarge, _) => -32008,
            (_, 401 | 403) => -32016,
            (_, 429) => -32005,
            (_, 503) => -32002,
            _ => -32600,
        };
        assert_eq!(code, expected, "{name}");
    }
}

#[test]
fn body_repeats_the_raw_id_and_version() {
    let refusal = Refusal::saying(Reason::MethodNotAllowed, "say \"no\"\n");
    let body = refusal.body(Echo { jsonrpc: Some(b"\"1.0\""), id: Some(b"1e30") });
    assert_eq!(
        body,
        &br#"{"jsonrpc":"1.0","error":{"code":-32601,"message":"say \"no\" ","data":{"reason":"METHOD_NOT_ALLOWED"}},"id":1e30}"#[..]
    );
    let bare = Refusal::from(Reason::PathNotFound).body(Echo::default());
    let value: serde_json::Value = serde_json::from_slice(&bare).unwrap();
    assert_eq!(value["error"]["data"], serde_json::Value::Null);
    assert_eq!(value["id"], serde_json::Value::Null);
    assert_eq!(value["jsonrpc"], "2.0");
}

#[test]
fn every_429_and_503_has_a_time_to_wait_or_gets_it_from_the_meter() {
    for reason in Reason::ALL {
        let from_meter = matches!(
            reason,
            Reason::RateLimited
                | Reason::TooManyInvalidKeys
                | Reason::DailyQuotaExceeded
                | Reason::MonthlyQuotaExceeded
                | Reason::KeyDailyQuotaExceeded
        );
        let waits = reason.wait_secs().is_some() || from_meter;
        assert_eq!(waits, matches!(reason.row().status, 429 | 503), "{reason:?}");
    }
}
