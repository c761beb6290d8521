//! Adds what calls inside of transactions did, block by block, newest first.
//!
//! Leaves reading traces to `trace`. Invariants: a block counts as traced only once every one of
//! its transactions was; what fails is tried again, later each time; a node that cannot trace, or
//! has not the state of old blocks any more, is not asked in vain over and over.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use chain::account::Hash;
use futures_util::future::join_all;
use node::{Node, Tried};

use super::changes::{read_block, read_tx, scan_untraced};
use super::facts::{Status, Traced};
use super::index::{Index, asked};
use super::rows::Retry;
use super::schema::TxPlace;
use crate::ReadError;
use crate::db::Db;
use crate::sync::UpstreamError;

/// Blocks that are traced at once.
const AT_ONCE: usize = 4;
/// Rows that are looked at for something to do.
const LOOKED_AT: usize = 10_000;
/// Between two looks while there is nothing to do.
const IDLE: Duration = Duration::from_millis(500);
/// The longest time before a trace that failed is asked for again.
const LONGEST_SECS: u64 = 3600;

/// A block to be traced.
struct Job {
    height: u32,
    hash: Hash,
    /// What its transactions are called, and whether they did what they should.
    transactions: Vec<(Hash, Status)>,
    retry: Retry,
}

/// What came of it.
enum Outcome {
    Traced(Vec<Traced>),
    Failed,
    Pruned,
    /// No node can trace, or be asked.
    Unable,
}

/// Up to where and since when there is no state.
type Gone = Option<(u32, Instant)>;

/// Traces until it is ended.
pub(super) async fn run(index: Arc<Index>) {
    let mut end = index.end_asked();
    let mut gone: Gone = None;
    loop {
        let more = index.more.notified();
        let did = tokio::select! {
            did = step(&index, &mut gone) => did,
            () = asked(&mut end) => return,
        };
        if did {
            continue;
        }
        tokio::select! {
            () = more => {}
            () = tokio::time::sleep(IDLE) => {}
            () = asked(&mut end) => return,
        }
    }
}

/// Traces a few blocks; whether there may be more to do at once.
async fn step(index: &Arc<Index>, gone: &mut Gone) -> bool {
    if gone.is_some_and(|(_, since)| since.elapsed() > index.options.retry_after) {
        *gone = None;
    }
    let lowest = gone.map_or(0, |(height, _)| height.saturating_add(1));
    let db = Arc::clone(index.locked().db());
    let jobs = tokio::task::spawn_blocking(move || jobs(&db, lowest)).await;
    let jobs = match jobs {
        Ok(Ok(jobs)) => jobs,
        Ok(Err(error)) => {
            tracing::warn!(chain = index.chain().slug, %error, "what to trace cannot be read");
            return false;
        }
        Err(_) => return false,
    };
    let outcomes = join_all(jobs.iter().map(|job| trace(index, job))).await;
    let mut traced = Vec::new();
    let mut postponed = Vec::new();
    for (job, outcome) in jobs.into_iter().zip(outcomes) {
        match outcome {
            Outcome::Traced(traces) => traced.push((job.height, job.hash, traces)),
            Outcome::Failed => postponed.push((job.height, later(job.retry))),
            Outcome::Pruned => {
                let up_to = gone.map_or(job.height, |(up_to, _)| up_to.max(job.height));
                *gone = Some((up_to, Instant::now()));
            }
            Outcome::Unable => {}
        }
    }
    let did = !traced.is_empty();
    if !did && postponed.is_empty() {
        return false;
    }
    let changed = index.change(move |store| {
        store.trace(&traced)?;
        postponed.into_iter().try_for_each(|(height, retry)| store.postpone(height, retry))
    });
    if let Err(error) = changed.await {
        tracing::warn!(chain = index.chain().slug, %error, "traces cannot be stored");
        return false;
    }
    did
}

/// The newest blocks above `lowest` whose time has come. Holds up nobody who writes: a block that
/// is taken back meanwhile is told by its hash when its traces come.
fn jobs(db: &Db, lowest: u32) -> Result<Vec<Job>, ReadError> {
    let (reader, now) = (db.latest(), now_secs());
    let (mut due, mut seen) = (Vec::new(), 0);
    scan_untraced(reader, u32::MAX, |height, retry| {
        seen += 1;
        if retry.next_secs <= now && height >= lowest {
            due.push((height, retry));
        }
        match due.len() == AT_ONCE || seen == LOOKED_AT || height <= lowest {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    let mut jobs = Vec::with_capacity(due.len());
    for (height, retry) in due {
        let Some(block) = read_block(reader, height)? else { continue };
        let places = (0..block.tx_count).map(|index| TxPlace { height, index });
        let named = |place| Ok(read_tx(reader, place)?.map(|tx| (tx.hash, tx.status)));
        let transactions: Vec<Option<_>> = places.map(named).collect::<Result<_, ReadError>>()?;
        let transactions = transactions.into_iter().flatten().collect();
        jobs.push(Job { height, hash: block.hash, transactions, retry });
    }
    Ok(jobs)
}

async fn trace(index: &Index, job: &Job) -> Outcome {
    let mut tried = Tried::new();
    let (mut failed, mut pruned) = (false, false);
    while let Ok(node) = index.nodes.pick(&tried) {
        match ask(index, &node, job).await {
            Ok(Some(traces)) => return Outcome::Traced(traces),
            Ok(None) => failed = true,
            Err(UpstreamError::Call(node::CallError::Rpc { .. }) | UpstreamError::Shape { .. }) => {
                failed = true;
            }
            Err(UpstreamError::Pruned) => pruned = true,
            // Another one may be well.
            Err(_) => {}
        }
        tried.add(&node);
    }
    match (failed, pruned) {
        (true, _) => Outcome::Failed,
        (false, true) => Outcome::Pruned,
        (false, false) => Outcome::Unable,
    }
}

/// The traces of all its transactions, or none.
async fn ask(
    index: &Index,
    node: &Arc<Node>,
    job: &Job,
) -> Result<Option<Vec<Traced>>, UpstreamError> {
    let hashes: Vec<Hash> = job.transactions.iter().map(|(hash, _)| *hash).collect();
    let traces = index.nodes.upstream.traces(node, job.height, job.hash, &hashes).await?;
    let traces: Option<Vec<Traced>> = traces.into_iter().collect();
    let since = index.nodes.upstream.forks().byzantium;
    let tells = u64::from(job.height) >= since;
    let fits = |traces: &Vec<Traced>| {
        let mut pairs = job.transactions.iter().zip(traces);
        pairs.all(|((_, status), traced)| fits(*status, traced, tells))
    };
    Ok(traces.filter(fits))
}

/// Whether a trace and a receipt tell the same of a transaction; `tells` says whether the receipt
/// itself does, as it does since Byzantium.
fn fits(status: Status, traced: &Traced, tells: bool) -> bool {
    match status {
        Status::Failed => traced.operations.is_empty(),
        Status::Success => !(tells && traced.failed),
        Status::Unknown => true,
    }
}

fn later(retry: Retry) -> Retry {
    let wait = (1u64 << retry.tries.min(12)).min(LONGEST_SECS);
    Retry { tries: retry.tries.saturating_add(1), next_secs: now_secs() + wait }
}

fn now_secs() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
