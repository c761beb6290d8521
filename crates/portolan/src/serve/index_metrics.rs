//! What the metrics tell of the indexes: a row for each that this process keeps.
//!
//! Leaves how an index stands to `index`. Invariant: a chain without an index has no row.

use index::ChainIndex;
use prometheus::{IntCounterVec, IntGaugeVec, Opts, Registry};

/// A registry with the numbers of this moment.
pub(super) fn indexes(indexes: &[ChainIndex]) -> Registry {
    let registry = Registry::new();
    let gauge = |name: &str, help: &str| {
        let gauge = IntGaugeVec::new(Opts::new(name, help), &["chain"])
            .expect("the name and the label are valid");
        registry.register(Box::new(gauge.clone())).expect("each name is registered once");
        gauge
    };
    let height = gauge("portolan_index_height", "Height of the index's tip");
    let in_sync = gauge("portolan_index_in_sync", "1 while the index is at its node's best block");
    let mempool = gauge("portolan_index_mempool_transactions", "Transactions that wait");
    let stopped = gauge("portolan_index_stopped", "1 while something keeps blocks from the index");
    let target = gauge("portolan_index_load_target_height", "Height that a first load goes to");
    let rate = gauge("portolan_index_load_blocks_per_second", "Blocks a second of a first load");
    let name = "portolan_index_skipped_logs_total";
    let help = "Logs that claim to tell of tokens and are not of that shape";
    let skipped = IntCounterVec::new(Opts::new(name, help), &["chain"]);
    let skipped = skipped.expect("the name and the label are valid");
    registry.register(Box::new(skipped.clone())).expect("each name is registered once");
    for index in indexes {
        if let ChainIndex::Account(index) = index {
            let logs = index.skipped_logs();
            skipped.with_label_values(&[index.chain().slug]).inc_by(logs);
        }
        let (labels, standing) = ([index.chain().slug], index.standing());
        height.with_label_values(&labels).set(standing.height.into());
        in_sync.with_label_values(&labels).set(standing.in_sync.into());
        let waiting = i64::try_from(standing.mempool_count).unwrap_or(i64::MAX);
        mempool.with_label_values(&labels).set(waiting);
        stopped.with_label_values(&labels).set(standing.stopped.is_some().into());
        if let Some(load) = standing.first_load {
            target.with_label_values(&labels).set(load.target.into());
            let blocks = i64::try_from(load.blocks_per_sec).unwrap_or(i64::MAX);
            rate.with_label_values(&labels).set(blocks);
        }
    }
    registry
}
