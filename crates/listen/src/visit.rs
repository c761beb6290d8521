//! What is known of a request while it is dealt with, for its one log line and the counters.
//!
//! Leaves to a service what it finds out. Invariant: neither path, query, body nor key is ever in
//! it (decision B15).

use std::time::{Duration, Instant};

use http::StatusCode;

use crate::counters::{Counters, Label};
use crate::request_id::RequestId;

/// One request.
#[derive(Debug)]
pub struct Visit {
    /// Its id.
    pub id: RequestId,
    service: &'static str,
    started: Instant,
    caller: Option<(u64, u64)>,
    /// What was asked for, by the service's own name of it.
    pub route: Option<Label>,
    /// The chain, once it is known.
    pub chain: Option<Label>,
    /// The method of a call if it is offered, or `batch`.
    pub method: Option<&'static str>,
    /// Units that are charged.
    pub units: u32,
    /// Why it was refused.
    pub reason: Option<Label>,
}

impl Visit {
    /// Starts the clock of a request to that service.
    pub fn begin(service: &'static str) -> Visit {
        Visit {
            id: RequestId::new(),
            service,
            started: Instant::now(),
            caller: None,
            route: None,
            chain: None,
            method: None,
            units: 0,
            reason: None,
        }
    }

    /// Notes who calls, by the numbers of account and key.
    pub fn called_by(&mut self, account: u64, key: u64) {
        self.caller = Some((account, key));
    }

    /// Time since the head was read.
    pub fn took(&self) -> Duration {
        self.started.elapsed()
    }

    /// Counts its answer and writes its line of the log, for which `level = "info,request=debug"`
    /// asks alone.
    pub fn end(&self, counters: &Counters, status: StatusCode) {
        let took = self.took();
        counters.answer(self.chain, status, took);
        tracing::debug!(
            target: "request",
            service = self.service,
            route = self.route.map(|route| route.name),
            status = status.as_u16(),
            reason = self.reason.map(|reason| reason.name),
            request_id = %self.id,
            account = self.caller.map(|(account, _)| account),
            key = self.caller.map(|(_, key)| key),
            chain = self.chain.map(|chain| chain.name),
            method = self.method,
            units = self.units,
            duration_ms = took.as_secs_f64() * 1000.0,
            "request"
        );
    }
}
