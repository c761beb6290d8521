//! Every refusal of the gateway: reason, HTTP status, numeric code and text, in one table.
//!
//! A node's own error is no refusal: it passes as it came. Only what is made here carries
//! `error.data.reason`. Sources: the specification's table of reasons; codes by decision G2.

use bytes::{Bytes, BytesMut};
use chain::Dialect;
use http::StatusCode;
use meter::{Bar, Denial};

/// Why the gateway says no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each variant is its reason; the table says the rest")]
pub enum Reason {
    /// The body is not JSON, or not UTF-8.
    Unreadable,
    InvalidRequest,
    BatchTooLarge,
    InvalidParams,
    RangeTooLarge,
    MissingApiKey,
    InvalidApiKey,
    KeyRevoked,
    AccountSuspended,
    ChainNotInPlan,
    PlanUnavailable,
    MethodNotAllowed,
    ChainNotFound,
    /// A path that the gateway does not have: the one refusal without a reason (decision G18).
    PathNotFound,
    RequestTooLarge,
    RateLimited,
    TooManyConcurrent,
    TooManyInvalidKeys,
    DailyQuotaExceeded,
    MonthlyQuotaExceeded,
    KeyDailyQuotaExceeded,
    NodeError,
    ResponseTooLarge,
    NodeBusy,
    NodeSyncing,
    NodeUnavailable,
    ServiceUnavailable,
    GatewayBusy,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// `error.data.reason`; empty where there is none.
    pub name: &'static str,
    /// HTTP status.
    pub status: u16,
    /// `error.code`.
    pub code: i32,
    /// `error.message` where nothing closer is known.
    pub text: &'static str,
}

const fn row(name: &'static str, status: u16, code: i32, text: &'static str) -> Row {
    Row { name, status, code, text }
}

impl Reason {
    /// Every reason, in the order of the table.
    pub const ALL: [Reason; 28] = {
        use Reason::{
            AccountSuspended, BatchTooLarge, ChainNotFound, ChainNotInPlan, DailyQuotaExceeded,
            GatewayBusy, InvalidApiKey, InvalidParams, InvalidRequest, KeyDailyQuotaExceeded,
            KeyRevoked, MethodNotAllowed, MissingApiKey, MonthlyQuotaExceeded, NodeBusy, NodeError,
            NodeSyncing, NodeUnavailable, PathNotFound, PlanUnavailable, RangeTooLarge,
            RateLimited, RequestTooLarge, ResponseTooLarge, ServiceUnavailable, TooManyConcurrent,
            TooManyInvalidKeys, Unreadable,
        };
        [
            Unreadable,
            InvalidRequest,
            BatchTooLarge,
            InvalidParams,
            RangeTooLarge,
            MissingApiKey,
            InvalidApiKey,
            KeyRevoked,
            AccountSuspended,
            ChainNotInPlan,
            PlanUnavailable,
            MethodNotAllowed,
            ChainNotFound,
            PathNotFound,
            RequestTooLarge,
            RateLimited,
            TooManyConcurrent,
            TooManyInvalidKeys,
            DailyQuotaExceeded,
            MonthlyQuotaExceeded,
            KeyDailyQuotaExceeded,
            NodeError,
            ResponseTooLarge,
            NodeBusy,
            NodeSyncing,
            NodeUnavailable,
            ServiceUnavailable,
            GatewayBusy,
        ]
    };

    /// The row of this reason.
    #[rustfmt::skip]
    pub const fn row(self) -> Row {
        match self {
            Reason::Unreadable => row("INVALID_REQUEST", 400, -32700, "the body is not JSON"),
            Reason::InvalidRequest => row("INVALID_REQUEST", 400, -32600, "not a JSON-RPC request"),
            Reason::BatchTooLarge => row("BATCH_TOO_LARGE", 400, -32600, "the batch has more calls than the plan allows"),
            Reason::InvalidParams => row("INVALID_PARAMS", 400, -32602, "a parameter has the wrong type"),
            Reason::RangeTooLarge => row("RANGE_TOO_LARGE", 400, -32602, "the range is too large"),
            Reason::MissingApiKey => row("MISSING_API_KEY", 401, -32016, "an API key is required: X-API-Key or Authorization: Bearer"),
            Reason::InvalidApiKey => row("INVALID_API_KEY", 401, -32016, "the API key is not valid"),
            Reason::KeyRevoked => row("KEY_REVOKED", 403, -32016, "the API key was revoked or has expired"),
            Reason::AccountSuspended => row("ACCOUNT_SUSPENDED", 403, -32016, "the account is suspended"),
            Reason::ChainNotInPlan => row("CHAIN_NOT_IN_PLAN", 403, -32016, "the plan does not include this chain"),
            Reason::PlanUnavailable => row("PLAN_UNAVAILABLE", 403, -32016, "the account has no plan for this service"),
            Reason::MethodNotAllowed => row("METHOD_NOT_ALLOWED", 403, -32601, "the method is not offered on this chain"),
            Reason::ChainNotFound => row("CHAIN_NOT_FOUND", 404, -32600, "no such chain here"),
            Reason::PathNotFound => row("", 404, -32601, "no such path: calls go to POST /v1/rpc/{chain}"),
            Reason::RequestTooLarge => row("REQUEST_TOO_LARGE", 413, -32600, "the request is too large"),
            Reason::RateLimited => row("RATE_LIMITED", 429, -32005, "too many calls a second"),
            Reason::TooManyConcurrent => row("TOO_MANY_CONCURRENT", 429, -32005, "too many requests at once"),
            Reason::TooManyInvalidKeys => row("TOO_MANY_INVALID_KEYS", 429, -32005, "too many invalid keys from this address"),
            Reason::DailyQuotaExceeded => row("DAILY_QUOTA_EXCEEDED", 429, -32005, "the account's daily quota is used up"),
            Reason::MonthlyQuotaExceeded => row("MONTHLY_QUOTA_EXCEEDED", 429, -32005, "the account's monthly quota is used up"),
            Reason::KeyDailyQuotaExceeded => row("KEY_DAILY_QUOTA_EXCEEDED", 429, -32005, "the key's daily cap is used up"),
            Reason::NodeError => row("NODE_ERROR", 502, -32603, "the node did not give a usable answer"),
            Reason::ResponseTooLarge => row("RESPONSE_TOO_LARGE", 502, -32008, "the node's answer is too large"),
            Reason::NodeBusy => row("NODE_BUSY", 503, -32002, "the node is busy"),
            Reason::NodeSyncing => row("NODE_SYNCING", 503, -32002, "the node is syncing"),
            Reason::NodeUnavailable => row("NODE_UNAVAILABLE", 503, -32002, "the node cannot be reached"),
            Reason::ServiceUnavailable => row("SERVICE_UNAVAILABLE", 503, -32002, "the service is not available"),
            Reason::GatewayBusy => row("GATEWAY_BUSY", 503, -32002, "the gateway is busy"),
        }
    }

    /// HTTP status of a whole answer with this reason.
    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.row().status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Does a refusal of a single call with this reason come with status 200, where the operator
    /// wants so (decision G20)? Those of keys, plans, quotas and of our side never do.
    pub(crate) fn is_of_call(self) -> bool {
        matches!(
            self,
            Reason::InvalidRequest
                | Reason::InvalidParams
                | Reason::RangeTooLarge
                | Reason::MethodNotAllowed
                | Reason::NodeError
                | Reason::ResponseTooLarge
        )
    }

    /// Seconds to wait where the reason alone decides it (decision B8).
    pub const fn wait_secs(self) -> Option<u64> {
        match self {
            Reason::TooManyConcurrent | Reason::NodeBusy | Reason::GatewayBusy => Some(1),
            Reason::NodeUnavailable | Reason::ServiceUnavailable => Some(5),
            Reason::NodeSyncing => Some(30),
            _ => None,
        }
    }
}

/// A refusal: its reason, and what is said beyond the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) reason: Reason,
    /// Text instead of the table's. Of the request it holds at most the name of a method that has
    /// the form of one.
    pub(crate) text: Option<String>,
    /// `Retry-After` in seconds.
    pub(crate) retry_after_secs: Option<u64>,
}

/// What a refusal repeats of the request: raw JSON texts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Echo<'a> {
    pub(crate) jsonrpc: Option<&'a [u8]>,
    pub(crate) id: Option<&'a [u8]>,
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Refusal {
        Refusal { reason, text: None, retry_after_secs: reason.wait_secs() }
    }
}

impl From<Denial> for Refusal {
    fn from(denial: Denial) -> Refusal {
        let reason = match denial.reason {
            meter::Reason::MissingApiKey => Reason::MissingApiKey,
            meter::Reason::InvalidApiKey => Reason::InvalidApiKey,
            meter::Reason::TooManyInvalidKeys => Reason::TooManyInvalidKeys,
            meter::Reason::KeyRevoked => Reason::KeyRevoked,
            meter::Reason::AccountSuspended => Reason::AccountSuspended,
            meter::Reason::PlanUnavailable => Reason::PlanUnavailable,
            meter::Reason::ChainNotInPlan => Reason::ChainNotInPlan,
            meter::Reason::MethodNotAllowed => Reason::MethodNotAllowed,
            meter::Reason::MonthlyQuota => Reason::MonthlyQuotaExceeded,
            meter::Reason::DailyQuota => Reason::DailyQuotaExceeded,
            meter::Reason::KeyDailyQuota => Reason::KeyDailyQuotaExceeded,
            meter::Reason::TooManyConcurrent => Reason::TooManyConcurrent,
            meter::Reason::RateLimited => Reason::RateLimited,
            meter::Reason::StoreUnavailable => Reason::ServiceUnavailable,
        };
        let wait = denial.retry_after_secs.or(reason.wait_secs());
        let text = denial.bar.map(|bar| text_of(reason, bar).to_owned());
        Refusal { reason, text, retry_after_secs: wait }
    }
}

/// What is said where the reason does not name what stands in the way.
fn text_of(reason: Reason, bar: Bar) -> &'static str {
    match (bar, reason) {
        (Bar::KeyScope, Reason::MethodNotAllowed) => "the API key is not for this method",
        (Bar::KeyScope, _) => "the API key is not for this chain, which the plan includes",
        (Bar::RetiredPlan, _) => "the account's plan is not offered any more",
        (Bar::NoPlan, _) => "the account has no plan for this service",
    }
}

impl Refusal {
    /// A refusal with a closer text than the table's.
    pub(crate) fn saying(reason: Reason, text: impl Into<String>) -> Refusal {
        Refusal { text: Some(text.into()), ..Refusal::from(reason) }
    }

    /// METHOD_NOT_ALLOWED for a method that is not offered. Libraries for geth's dialect fall back
    /// on its own words (decision G4); else the right spelling is named if there is one.
    pub(crate) fn no_method(dialect: Dialect, method: &str, near: Option<&str>) -> Refusal {
        let reason = Reason::MethodNotAllowed;
        if dialect == Dialect::Geth {
            return Refusal::saying(reason, in_words_of_geth(method));
        }
        match near {
            Some(near) => Refusal::saying(reason, format!("the method is written {near}")),
            None => reason.into(),
        }
    }

    /// The refusal body of decision G3.
    pub(crate) fn body(&self, echo: Echo<'_>) -> Bytes {
        let row = self.reason.row();
        let text = self.text.as_deref().unwrap_or(row.text);
        let mut body = BytesMut::with_capacity(160 + text.len());
        body.extend_from_slice(b"{\"jsonrpc\":");
        body.extend_from_slice(echo.jsonrpc.unwrap_or(b"\"2.0\""));
        body.extend_from_slice(b",\"error\":{\"code\":");
        body.extend_from_slice(itoa::Buffer::new().format(row.code).as_bytes());
        body.extend_from_slice(b",\"message\":\"");
        push_text(&mut body, text);
        body.extend_from_slice(b"\"");
        if !row.name.is_empty() {
            body.extend_from_slice(b",\"data\":{\"reason\":\"");
            body.extend_from_slice(row.name.as_bytes());
            body.extend_from_slice(b"\"}");
        }
        body.extend_from_slice(b"},\"id\":");
        body.extend_from_slice(echo.id.unwrap_or(b"null"));
        body.extend_from_slice(b"}");
        body.freeze()
    }
}

fn in_words_of_geth(method: &str) -> String {
    let has_form = (1..=64).contains(&method.len())
        && method.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match has_form {
        true => format!("the method {method} does not exist/is not available"),
        false => "the method does not exist/is not available".to_owned(),
    }
}

/// Writes `text` as the inside of a JSON string.
fn push_text(body: &mut BytesMut, text: &str) {
    for char in text.chars() {
        match char {
            '"' | '\\' => body.extend_from_slice(&[b'\\', char as u8]),
            '\0'..='\u{1f}' => body.extend_from_slice(b" "),
            _ => body.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests;
