//! What is known of a request while it is dealt with, for its one log line.
//!
//! Neither path, query, body nor key is ever in it (decision B15).

use std::time::{Duration, Instant};

use chain::Chain;
use http::StatusCode;
use listen::RequestId;
use meter::Caller;

use crate::refusal::Reason;

/// One request.
pub(crate) struct Visit {
    pub(crate) id: RequestId,
    started: Instant,
    account: Option<u64>,
    key: Option<u64>,
    pub(crate) chain: Option<&'static Chain>,
    /// The method if it is offered, or `batch`.
    pub(crate) method: Option<&'static str>,
    pub(crate) units: u32,
    pub(crate) reason: Option<Reason>,
}

impl Visit {
    /// Starts the clock.
    pub(crate) fn begin() -> Visit {
        Visit {
            id: RequestId::new(),
            started: Instant::now(),
            account: None,
            key: None,
            chain: None,
            method: None,
            units: 0,
            reason: None,
        }
    }

    /// Notes who calls.
    pub(crate) fn called_by(&mut self, caller: &Caller) {
        self.account = Some(caller.account_id());
        self.key = Some(caller.key_id());
    }

    /// Time since the head was read.
    pub(crate) fn took(&self) -> Duration {
        self.started.elapsed()
    }

    /// Writes the log line.
    pub(crate) fn log(&self, status: StatusCode) {
        tracing::debug!(
            route = "rpc",
            status = status.as_u16(),
            reason = self.reason.map(|reason| reason.row().name),
            request_id = %self.id,
            account = self.account,
            key = self.key,
            chain = self.chain.map(|chain| chain.slug),
            method = self.method,
            units = self.units,
            duration_ms = self.took().as_secs_f64() * 1000.0,
            "request"
        );
    }
}
