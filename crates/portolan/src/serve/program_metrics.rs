//! What the metrics tell of the program itself: its version, its log, its process.
//!
//! The names of the process's own are those that every client library of Prometheus has
//! (`process_cpu_seconds_total`, …); all else begins with `portolan_`. Invariant: nothing in here
//! comes from a client, a node or a file.

use prometheus::{IntCounter, IntGaugeVec, Opts, Registry};

use crate::log;

/// A registry with the numbers of this moment.
pub(super) fn program() -> Registry {
    let registry = Registry::new();
    let info = Opts::new("portolan_build_info", "1, with the version of the program");
    let info = IntGaugeVec::new(info, &["version"]).expect("the name and the label are valid");
    info.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
    register(&registry, info);
    let lost = Opts::new("portolan_log_lines_lost_total", "Lines of the log that were not written");
    let lost_lines = IntCounter::with_opts(lost).expect("the name is valid");
    lost_lines.inc_by(log::lost_lines());
    register(&registry, lost_lines);
    #[cfg(target_os = "linux")]
    register(&registry, prometheus::process_collector::ProcessCollector::for_self());
    registry
}

fn register(registry: &Registry, collector: impl prometheus::core::Collector + 'static) {
    registry.register(Box::new(collector)).expect("each name is registered once");
}
