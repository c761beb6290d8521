//! What every service counts of its answers, for Prometheus.
//!
//! Leaves to a service what else it counts. Invariant: every label comes from a closed set that is
//! given at the start (decision B15), and is looked up then, once.

use std::time::Duration;

use http::StatusCode;
use prometheus::core::Collector;
use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
};

/// The closed sets of a service.
#[derive(Debug)]
pub struct Labels {
    /// What the names of its metrics have after `portolan_`.
    pub service: &'static str,
    /// Its reasons to refuse, by their places.
    pub reasons: Vec<&'static str>,
    /// Its chains, by their places.
    pub chains: Vec<&'static str>,
    /// The HTTP statuses that it gives.
    pub statuses: &'static [u16],
    /// Upper bounds of the time buckets, in seconds.
    pub buckets_secs: &'static [f64],
}

/// One value of a closed set: its place in it, and its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// Its place in the list of [`Labels`].
    pub place: usize,
    /// Its name, as metrics and log have it.
    pub name: &'static str,
}

/// `portolan_X_refusals_total`, `…_answers_total`, `…_request_seconds` and `…_requests_in_flight`
/// of a service X.
#[derive(Debug)]
pub struct Counters {
    refusals: Vec<IntCounter>,
    answers: Vec<(u16, IntCounter)>,
    seconds: Vec<Histogram>,
    in_flight: IntGauge,
}

impl Counters {
    /// Counters at zero.
    ///
    /// # Panics
    /// If the registry has those of this service already.
    pub fn register(registry: &Registry, labels: &Labels) -> Counters {
        let name = |what: &str| format!("portolan_{}_{what}", labels.service);
        let counters = |what: &str, help: &str, label: &str| {
            let counters = IntCounterVec::new(Opts::new(name(what), help), &[label]);
            register(registry, counters.expect("the name and the label are valid"))
        };
        let refusals = counters("refusals_total", "Refusals made here", "reason");
        let answers = counters("answers_total", "Answers by HTTP status", "status");
        let help = "Seconds from a request's head to its answer's";
        let seconds = HistogramOpts::new(name("request_seconds"), help);
        let seconds = HistogramVec::new(seconds.buckets(labels.buckets_secs.to_vec()), &["chain"]);
        let seconds = register(registry, seconds.expect("the name and the label are valid"));
        let in_flight = IntGauge::new(name("requests_in_flight"), "Requests in flight");
        let in_flight = register(registry, in_flight.expect("the name is valid"));
        let answer = |status: &u16| (*status, answers.with_label_values(&[&status.to_string()]));
        Counters {
            refusals: labels.reasons.iter().map(|it| refusals.with_label_values(&[*it])).collect(),
            answers: labels.statuses.iter().map(answer).collect(),
            seconds: labels.chains.iter().map(|it| seconds.with_label_values(&[*it])).collect(),
            in_flight,
        }
    }

    /// Counts a refusal.
    pub fn refusal(&self, reason: Label) {
        if let Some(counter) = self.refusals.get(reason.place) {
            counter.inc();
        }
    }

    /// Counts an answer, and its time where its chain is known.
    pub fn answer(&self, chain: Option<Label>, status: StatusCode, took: Duration) {
        if let Some((_, counter)) = self.answers.iter().find(|(known, _)| *known == status.as_u16())
        {
            counter.inc();
        }
        if let Some(seconds) = chain.and_then(|chain| self.seconds.get(chain.place)) {
            seconds.observe(took.as_secs_f64());
        }
    }

    /// Tells how many requests are in flight.
    pub fn set_in_flight(&self, requests: usize) {
        self.in_flight.set(i64::try_from(requests).unwrap_or(i64::MAX));
    }
}

fn register<C: Collector + Clone + 'static>(registry: &Registry, collector: C) -> C {
    registry.register(Box::new(collector.clone())).expect("each name is registered once");
    collector
}
