//! What the metrics tell of the store, and of what several processes share: leases and buckets.
//!
//! Leaves counting to `meter`. Invariant: labels come from closed sets; no account or key is named.

use meter::{BucketsView, LendingView, Meter};
use prometheus::core::Collector;
use prometheus::{IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

/// A registry with the numbers of this moment.
pub(super) fn meter(meter: &Meter) -> Registry {
    let registry = Registry::new();
    let help = "1 while the store of accounts and keys can be read";
    gauge(&registry, "portolan_store_answers", help).set(meter.store_answers().into());
    let lending = meter.lending();
    if !lending.is_empty() {
        leases(&registry, &lending);
    }
    if let Some(view) = meter.buckets() {
        buckets(&registry, view);
    }
    registry
}

fn leases(registry: &Registry, lending: &[LendingView]) {
    let of_service = |name: &str, help: &str| gauges(registry, name, help, &["service"]);
    let live = of_service("portolan_meter_live_replicas", "Replicas that are live");
    let lends = of_service("portolan_meter_lends", "1 while units can be borrowed");
    let of_kind = ["service", "kind"];
    let open = gauges(registry, "portolan_meter_leases", "Open leases", &of_kind);
    let name = "portolan_meter_lease_units";
    let units = gauges(registry, name, "Units of leases that are not spent", &of_kind);
    let (name, help) = ("portolan_meter_lease_waits_total", "Calls that waited for a lease");
    let waits = counters(registry, name, help, &["service", "result"]);
    for view in lending {
        let service = view.service.as_str();
        live.with_label_values(&[service]).set(view.live_replicas.into());
        lends.with_label_values(&[service]).set(view.lends.into());
        for kind in &view.kinds {
            open.with_label_values(&[service, kind.name]).set(wide(kind.leases));
            units.with_label_values(&[service, kind.name]).set(wide(kind.units));
        }
        waits.with_label_values(&[service, "lent"]).inc_by(view.waits);
        waits.with_label_values(&[service, "late"]).inc_by(view.late);
    }
}

fn buckets(registry: &Registry, view: BucketsView) {
    let (name, help) = ("portolan_meter_buckets_answer", "1 while the shared buckets are asked");
    gauge(registry, name, help).set(view.answer.into());
    let (name, help) = ("portolan_meter_buckets_losses_total", "Losses of the shared buckets");
    let losses = IntCounter::new(name, help).expect("the name is valid");
    losses.inc_by(view.losses);
    register(registry, losses);
    let (name, help) = ("portolan_meter_bucket_calls_total", "Rates decided, by whom");
    let calls = counters(registry, name, help, &["by"]);
    calls.with_label_values(&["server"]).inc_by(view.shared_calls);
    calls.with_label_values(&["share"]).inc_by(view.share_calls);
}

fn gauge(registry: &Registry, name: &str, help: &str) -> IntGauge {
    let gauge = IntGauge::new(name, help).expect("the name is valid");
    register(registry, gauge.clone());
    gauge
}

fn gauges(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
    let gauges =
        IntGaugeVec::new(Opts::new(name, help), labels).expect("name and labels are valid");
    register(registry, gauges.clone());
    gauges
}

fn counters(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
    let all = IntCounterVec::new(Opts::new(name, help), labels).expect("name and labels are valid");
    register(registry, all.clone());
    all
}

fn register(registry: &Registry, collector: impl Collector + 'static) {
    registry.register(Box::new(collector)).expect("each name is registered once");
}

fn wide(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
