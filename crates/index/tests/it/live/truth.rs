//! What a live node says, and an index held against it.

use std::collections::HashSet;
use std::time::Duration;

use chain::Hash32;
use index::Tier;
use index::utxo::{Agreement, Index, View};
use node::NodeConfig;
use serde_json::{Value, json};
use testkit::{Litecoind, Login};

use super::rig::{Follower, equals_fresh, pool_ids};

/// Less than what `Follower::until` waits, so that more can be said.
const PATIENCE: Duration = Duration::from_secs(40);

pub async fn litecoind() -> Litecoind {
    Litecoind::start(Login::Cookie, &["-txindex=0", "-keypool=20"]).await.unwrap()
}

pub fn nodes(node: &Litecoind) -> Vec<NodeConfig> {
    vec![NodeConfig { cookie: Some(node.cookie()), ..NodeConfig::new(node.url()) }]
}

pub async fn call(node: &Litecoind, method: &str, params: Value) -> Value {
    let answer = node.call(method, params.clone()).await;
    answer.unwrap_or_else(|error| panic!("{method} {params}: {error}"))
}

pub async fn text(node: &Litecoind, method: &str, params: Value) -> String {
    call(node, method, params).await.as_str().unwrap().to_owned()
}

pub async fn height(node: &Litecoind) -> u32 {
    call(node, "getblockcount", json!([])).await.as_u64().unwrap() as u32
}

async fn tip(node: &Litecoind) -> Hash32 {
    text(node, "getbestblockhash", json!([])).await.parse().unwrap()
}

async fn waiting(node: &Litecoind) -> HashSet<Hash32> {
    let ids = call(node, "getrawmempool", json!([])).await;
    ids.as_array().unwrap().iter().map(|id| id.as_str().unwrap().parse().unwrap()).collect()
}

/// Waits until tip and mempool are the node's.
pub async fn caught_up(node: &Litecoind, follower: &Follower) {
    let (tip, waiting) = (tip(node).await, waiting(node).await);
    let mut ours = None;
    let same = |index: &Index| {
        let standing = index.standing();
        ours = index.view().map(|view| (view.hash(), pool_ids(&view)));
        standing.in_sync && ours == Some((tip, waiting.clone()))
    };
    let done = tokio::time::timeout(PATIENCE, follower.until("the node's", same)).await;
    assert!(
        done.is_ok(),
        "{ours:?} is not {tip} with {waiting:?}: {:?}",
        follower.index.standing()
    );
    assert_eq!(follower.index.standing().mempool_count, waiting.len() as u64);
}

/// Holds everything against the node and against a fresh index.
pub async fn holds(node: &Litecoind, follower: &Follower, addresses: &[String], bulk: bool) {
    caught_up(node, follower).await;
    agrees(node, &follower.index).await;
    equals_fresh("ltc", &follower.index, nodes(node), bulk).await;
    let view = follower.view();
    for address in addresses {
        balance(node, &view, address).await;
    }
}

/// Number and sum of the unspent outputs, and every row against every other.
pub async fn agrees(node: &Litecoind, index: &Index) {
    let verdict = index.store().lock().unwrap().verify(|_| ()).unwrap();
    assert_eq!(verdict.faults, Vec::<String>::new());
    let said = call(node, "gettxoutsetinfo", json!([])).await.to_string();
    assert_eq!(verdict.against(&[&said], 8), Agreement::Same, "{said} against {verdict:?}");
}

/// The balance of an address, and its unspent outputs.
async fn balance(node: &Litecoind, view: &View, address: &str) {
    let scanned = call(node, "scantxoutset", json!(["start", [format!("addr({address})")]])).await;
    let info = call(node, "getaddressinfo", json!([address])).await;
    let script = const_hex::decode(info["scriptPubKey"].as_str().unwrap()).unwrap();
    let units = |coins: &Value| (coins.as_f64().unwrap() * 1e8).round() as u128;
    let theirs = scanned["unspents"].as_array().unwrap();
    let ours = view.address(&script, Tier::Any).unwrap();
    let Some(totals) = ours else {
        assert!(theirs.is_empty(), "{address}");
        return;
    };
    assert_eq!(totals.received - totals.sent, units(&scanned["total_amount"]), "{address}");
    assert_eq!(totals.unspent_count, theirs.len() as u64, "{address}");
    let list = view.unspent(&script, usize::MAX).unwrap().unwrap();
    let sum: u128 = list.items.iter().map(|item| u128::from(item.value)).sum();
    assert_eq!(sum, units(&scanned["total_amount"]), "{address}");
    let mut theirs: Vec<(String, u64, u64)> = theirs
        .iter()
        .map(|coin| {
            let txid = coin["txid"].as_str().unwrap().to_owned();
            (txid, coin["vout"].as_u64().unwrap(), coin["height"].as_u64().unwrap())
        })
        .collect();
    let place = |item: &index::utxo::UnspentOutput| {
        (item.txid.to_string(), u64::from(item.vout), u64::from(item.height))
    };
    let mut ours: Vec<(String, u64, u64)> = list.items.iter().map(place).collect();
    theirs.sort();
    ours.sort();
    assert_eq!(ours, theirs, "{address}");
    // The history has what the totals count, and nothing twice.
    let history = view.history(&script, 0, u64::MAX >> 1).unwrap().unwrap();
    let ids: HashSet<Hash32> = history.transactions.iter().map(|t| t.record.txid).collect();
    assert_eq!(ids.len() as u64, history.tx_count, "{address}");
}
