//! Counters of the explorer, for Prometheus.
//!
//! Leaves how the indexes stand to the program. Invariant: every label comes from a closed set.

use chain::Chain;
use listen::{Counters, Label, Labels};
use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts, Registry};

use crate::path::Endpoint;
use crate::refusal::Reason;

/// Upper bounds of the time buckets, in seconds.
const BUCKETS_SECS: [f64; 11] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0, 10.0];

/// The chain of requests for one that is not served here, as in rows of usage.
const ELSEWHERE: &str = "-";
const STATUSES: [u16; 11] = [200, 204, 304, 400, 401, 403, 404, 429, 502, 503, 504];

/// The explorer's metrics. Counters of the hot path are looked up once, at the start.
pub struct Metrics {
    registry: Registry,
    counters: Counters,
    chains: Vec<PerChain>,
    /// Of requests for a chain that is not served here, which are charged all the same.
    elsewhere: PerChain,
    answer_bytes: IntGauge,
}

struct PerChain {
    endpoints: Vec<IntCounter>,
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics::new()
    }
}

impl Metrics {
    /// Metrics at zero, in a registry of their own.
    pub fn new() -> Metrics {
        let registry = Registry::new();
        let labels = Labels {
            service: "explorer",
            reasons: Reason::ALL.iter().map(|reason| reason.row().name).collect(),
            chains: chain::ALL.iter().map(|chain| chain.slug).collect(),
            statuses: &STATUSES,
            buckets_secs: &BUCKETS_SECS,
        };
        let counters = Counters::register(&registry, &labels);
        let requests =
            Opts::new("portolan_explorer_requests_total", "Charged requests by endpoint");
        let requests = IntCounterVec::new(requests, &["chain", "endpoint"]);
        let requests = requests.expect("the name and labels are valid");
        register(&registry, requests.clone());
        let of = |slug: &str| PerChain {
            endpoints: Endpoint::ALL
                .iter()
                .map(|endpoint| requests.with_label_values(&[slug, endpoint.name()]))
                .collect(),
        };
        let name = "portolan_explorer_answer_bytes";
        let answer_bytes = IntGauge::new(name, "Bytes of answers under way").expect("a valid name");
        register(&registry, answer_bytes.clone());
        let chains = chain::ALL.iter().map(|chain| of(chain.slug)).collect();
        Metrics { chains, elsewhere: of(ELSEWHERE), answer_bytes, counters, registry }
    }

    /// The registry, to be gathered with those of the other services.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Counts a charged request; one without a chain asked for one that is not served here.
    pub(crate) fn request(&self, chain: Option<Label>, endpoint: Label) {
        let known = chain.and_then(|chain| self.chains.get(chain.place));
        let counters = &known.unwrap_or(&self.elsewhere).endpoints;
        if let Some(counter) = counters.get(endpoint.place) {
            counter.inc();
        }
    }

    /// Counts a refusal.
    pub(crate) fn refusal(&self, reason: Reason) {
        self.counters.refusal(reason.label());
    }

    /// What every service counts.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Tells how many bytes of answers are under way.
    pub(crate) fn set_answer_bytes(&self, bytes: u64) {
        self.answer_bytes.set(bytes.try_into().unwrap_or(i64::MAX));
    }

    /// Tells how many requests are in flight.
    pub(crate) fn set_in_flight(&self, requests: usize) {
        self.counters.set_in_flight(requests);
    }
}

/// A chain in metrics and log.
pub(crate) fn label(chain: &'static Chain) -> Label {
    Label { place: chain.ordinal, name: chain.slug }
}

impl Endpoint {
    /// The endpoint in metrics and log.
    pub(crate) fn label(self) -> Label {
        Label { place: self as usize, name: self.name() }
    }
}

impl Reason {
    /// The reason in metrics and log.
    pub(crate) fn label(self) -> Label {
        Label { place: self as usize, name: self.row().name }
    }
}

fn register(registry: &Registry, collector: impl prometheus::core::Collector + 'static) {
    registry.register(Box::new(collector)).expect("each name is registered once");
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}
