//! What Prometheus is told: counts and times, labelled from closed sets alone (decision B15).

use chain::Chain;
use listen::{Counters, Label, Labels};
use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts, Registry};

use crate::refusal::Reason;

/// Upper bounds of the time buckets, in seconds.
const BUCKETS_SECS: [f64; 12] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 5.0, 30.0, 60.0];

/// How the answer to a call that may be remembered came (decision G19).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recalled {
    /// It was remembered.
    Hit,
    /// By the same read of somebody else.
    Joined,
    /// From a node.
    Not,
}

impl Recalled {
    const ALL: [Recalled; 3] = [Recalled::Hit, Recalled::Joined, Recalled::Not];

    /// The word of headers and labels.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Recalled::Hit => "hit",
            Recalled::Joined => "joined",
            Recalled::Not => "miss",
        }
    }
}

/// The gateway's metrics. Counters of the hot path are looked up once, at the start.
pub struct Metrics {
    registry: Registry,
    counters: Counters,
    chains: Vec<PerChain>,
    remembered_bytes: IntGauge,
    remembered_answers: IntGauge,
}

/// Counters of one chain.
pub(crate) struct PerChain {
    methods: Vec<IntCounter>,
    extra: IntCounter,
    recalled: [IntCounter; 3],
}

const STATUSES: [u16; 9] = [200, 400, 401, 403, 404, 413, 429, 502, 503];

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
            service: "gateway",
            reasons: Reason::ALL.iter().map(|reason| reason.label().name).collect(),
            chains: chain::ALL.iter().map(|chain| chain.slug).collect(),
            statuses: &STATUSES,
            buckets_secs: &BUCKETS_SECS,
        };
        let counters = Counters::register(&registry, &labels);
        let calls = Opts::new("portolan_gateway_calls_total", "Calls forwarded");
        let calls = IntCounterVec::new(calls, &["chain", "method"]);
        let calls = calls.expect("the name and labels are valid");
        registry.register(Box::new(calls.clone())).expect("each name is registered once");
        let recalled = Opts::new(
            "portolan_gateway_cache_calls_total",
            "Calls that may be remembered, by how their answers came",
        );
        let recalled = IntCounterVec::new(recalled, &["chain", "result"]);
        let recalled = recalled.expect("the name and labels are valid");
        registry.register(Box::new(recalled.clone())).expect("each name is registered once");
        let per_chain = |chain: &&'static Chain| PerChain {
            methods: chain
                .methods()
                .iter()
                .map(|m| calls.with_label_values(&[chain.slug, m.name]))
                .collect(),
            extra: calls.with_label_values(&[chain.slug, "extra"]),
            recalled: Recalled::ALL
                .map(|how| recalled.with_label_values(&[chain.slug, how.word()])),
        };
        Metrics {
            chains: chain::ALL.iter().map(per_chain).collect(),
            counters,
            remembered_bytes: gauge(
                &registry,
                "portolan_gateway_cache_bytes",
                "Bytes of answers that are remembered",
            ),
            remembered_answers: gauge(
                &registry,
                "portolan_gateway_cache_answers",
                "Answers that are remembered",
            ),
            registry,
        }
    }

    /// The registry, to be gathered with those of the other services.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Counts a forwarded call of a method, by its place in the chain's own set.
    pub(crate) fn call(&self, chain: &Chain, method: Option<usize>) {
        let Some(per_chain) = self.chains.get(chain.ordinal) else { return };
        method.and_then(|index| per_chain.methods.get(index)).unwrap_or(&per_chain.extra).inc();
    }

    /// Counts how the answer to a call that may be remembered came.
    pub(crate) fn recalled(&self, chain: &chain::Chain, how: Recalled) {
        if let Some(per_chain) = self.chains.get(chain.ordinal) {
            per_chain.recalled[how as usize].inc();
        }
    }

    /// Tells how much is remembered.
    pub(crate) fn set_remembered(&self, bytes: u64, answers: usize) {
        self.remembered_bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
        self.remembered_answers.set(i64::try_from(answers).unwrap_or(i64::MAX));
    }

    /// Counts a refusal of a whole request or of an element.
    pub(crate) fn refusal(&self, reason: Reason) {
        self.counters.refusal(reason.label());
    }

    /// What every service counts.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Tells how many requests are in flight.
    pub(crate) fn set_in_flight(&self, requests: usize) {
        self.counters.set_in_flight(requests);
    }
}

fn gauge(registry: &Registry, name: &str, help: &str) -> IntGauge {
    let gauge = IntGauge::new(name, help).expect("the name is valid");
    registry.register(Box::new(gauge.clone())).expect("each name is registered once");
    gauge
}

/// The one path of the gateway, in the log.
pub(crate) const RPC: Label = Label { place: 0, name: "rpc" };

/// A chain in metrics and log.
pub(crate) fn label(chain: &'static Chain) -> Label {
    Label { place: chain.ordinal, name: chain.slug }
}

impl Reason {
    /// The reason in metrics and log.
    pub(crate) fn label(self) -> Label {
        let name = match self.row().name {
            "" => "PATH_NOT_FOUND",
            name => name,
        };
        Label { place: self as usize, name }
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::StatusCode;

    use super::*;

    #[test]
    fn reasons_stand_at_their_own_places() {
        for (place, reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, place, "{reason:?}");
        }
    }

    #[test]
    fn labels_come_from_closed_sets() {
        let metrics = Metrics::new();
        let btc = chain::find("btc").unwrap();
        metrics.call(btc, Some(0));
        metrics.call(btc, Some(9999));
        metrics.refusal(Reason::NodeBusy);
        let took = Duration::from_millis(1);
        metrics.counters().answer(Some(label(btc)), StatusCode::OK, took);
        let text =
            prometheus::TextEncoder::new().encode_to_string(&metrics.registry().gather()).unwrap();
        assert!(
            text.contains("portolan_gateway_calls_total{chain=\"btc\",method=\"analyzepsbt\"} 1"),
            "{text}"
        );
        assert!(text.contains("portolan_gateway_calls_total{chain=\"btc\",method=\"extra\"} 1"));
        assert!(text.contains("portolan_gateway_refusals_total{reason=\"NODE_BUSY\"} 1"));
        assert!(text.contains("portolan_gateway_answers_total{status=\"200\"} 1"));
    }
}
