//! The explorer's word held against a live node's own: balances, a fresh index, an audit.

use std::time::Duration;

use chain::account::U256;
use index::Tier;
use index::account::SyncOptions;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::account::balances::Book;
use crate::account::rig::{Rig, follow, options};

async fn ask(node: &str, method: &str, params: Value) -> Value {
    testkit::call(node, &[], method, params).await.unwrap()
}

/// The hash of a node's best block.
pub async fn tip(node: &str) -> String {
    let block = ask(node, "eth_getBlockByNumber", json!(["latest", false])).await;
    block["hash"].as_str().unwrap().to_owned()
}

/// Waits until the explorer is at the node's tip, whole and traced, and stays there: a node may mine
/// once more when all seems done, as one that took blocks back does.
async fn settled(rig: &Rig, node: &str, what: &str) {
    let (mut calm, mut told) = (0, String::new());
    for _ in 0..6000 {
        let hash = tip(node).await;
        let view = rig.index.view();
        let whole = view.as_ref().is_some_and(|view| {
            let coverage = view.coverage(Tier::Any).unwrap();
            view.tip().hash.to_string() == hash && coverage.complete && coverage.traces
        });
        let whole = whole && rig.index.standing().in_sync;
        calm = if whole && told == hash { calm + 1 } else { 0 };
        told = hash;
        if calm == 20 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let coverage = rig.index.view().map(|view| view.coverage(Tier::Any).unwrap());
    panic!("{what}: the node is at {told}, {:?}, {coverage:?}", rig.index.standing());
}

/// Checks at a settled tip, and once more where the node has mined meanwhile: what was found then is
/// of two tips.
async fn settled_and(
    rig: &Rig,
    node: &str,
    what: &str,
    mut check: impl AsyncFnMut() -> Result<(), String>,
) {
    for _ in 0..20 {
        settled(rig, node, what).await;
        let before = tip(node).await;
        match check().await {
            Ok(()) => return,
            Err(problem) if tip(node).await == before => panic!("{what}: {problem}"),
            Err(_) => {}
        }
    }
    panic!("{what}: the node never stays at a tip");
}

/// The explorer is at the node's tip, whole and traced, and has every balance that the node has.
pub async fn hold(rig: &Rig, node: &str, what: &str) {
    settled_and(rig, node, what, async || balances(rig, node).await).await;
}

async fn balances(rig: &Rig, node: &str) -> Result<(), String> {
    let book = Book::of(rig).await;
    let mut checked = 0;
    for address in book.addresses() {
        let had = |block: &'static str| ask(node, "eth_getBalance", json!([address, block]));
        let read = |value: Value| {
            let digits = value.as_str().unwrap().trim_start_matches("0x").to_owned();
            U256::from_str_radix(&digits, 16).unwrap()
        };
        let (began, has) = (read(had("0x0").await), read(had("latest").await));
        let told = rig.ok(&format!("address/{address}")).await;
        if told["balance"] != has.to_string() {
            return Err(format!("{address} has {has}, {told}"));
        }
        // What a transaction gave a contract that it created is not told with the transaction.
        if rig.get(&format!("contract/{address}")).await.status == 404 {
            let moved = book.balance(address, began);
            if moved != has {
                return Err(format!("{address} has {has}, and by its transactions {moved}"));
            }
            checked += 1;
        }
    }
    if checked > 0 { Ok(()) } else { Err("there was nothing to check".to_owned()) }
}

/// A fresh index of the same node, filled from its tip down, has the same rows.
pub async fn same_as_fresh(rig: &Rig, node: &str, what: &str) {
    settled_and(rig, node, what, async || differs_from_fresh(rig, node).await).await;
}

async fn differs_from_fresh(rig: &Rig, node: &str) -> Result<(), String> {
    let dir = TempDir::new().unwrap();
    let backwards = SyncOptions { first_blocks: 1, ..options() };
    let (fresh, pool) = follow(dir.path(), &[node.to_owned()], backwards);
    for _ in 0..6000 {
        let whole = fresh.view().is_some_and(|view| {
            let coverage = view.coverage(Tier::Any).unwrap();
            coverage.complete && coverage.traces && fresh.standing().in_sync
        });
        if whole {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let dump = |index: &index::account::Index| {
        let rows = index.store().lock().unwrap().dump().unwrap();
        // What the index began at is its own.
        rows.into_iter().filter(|row| !row.contains("626567756e5f6174")).collect::<Vec<_>>()
    };
    let (ours, theirs) = (dump(&rig.index), dump(&fresh));
    fresh.stop().await;
    pool.stop();
    match ours == theirs {
        true => Ok(()),
        false => Err(format!("{} and {} rows", ours.len(), theirs.len())),
    }
}

/// The audit finds nothing, alone and with the node; there were balances to compare.
pub async fn audited(rig: &Rig, node: &str, what: &str) {
    settled_and(rig, node, what, async || audit(rig, node).await).await;
}

async fn audit(rig: &Rig, node: &str) -> Result<(), String> {
    let verdict = rig.index.store().lock().unwrap().verify(|_| ()).unwrap();
    if !verdict.faults.is_empty() {
        return Err(format!("{:?}", verdict.faults));
    }
    let compared = rig.compare(node, true).await.map_err(|error| error.to_string())?;
    let whole = (compared.blocks, compared.not_compared) == (verdict.blocks, 0);
    match whole && compared.faults.is_empty() && compared.traces > 0 && compared.balances > 0 {
        true => Ok(()),
        false => Err(format!("{compared:?} of {verdict:?}")),
    }
}
