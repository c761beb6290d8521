//! Litecoin's extension blocks: what goes in and comes out, and the sums that are left.

use chain::Hash32;
use index::Tier;
use index::utxo::{TransactionView, View};
use serde_json::{Value, json};
use testkit::{Litecoind, Login};

use super::rig::{Follower, equals_fresh, options};
use super::truth::{agrees, caught_up, nodes, text};

/// `user:word`, as the header has it.
const AUTHORIZATION: &str = "Basic dXNlcjp3b3Jk";

/// A call to one of several wallets.
async fn wallet(node: &Litecoind, name: &str, method: &str, params: Value) -> Value {
    let url = format!("{}/wallet/{name}", node.url());
    let headers = [("Authorization", AUTHORIZATION)];
    let answer = testkit::call(&url, &headers, method, params.clone()).await;
    answer.unwrap_or_else(|error| panic!("{method} {params}: {error}"))
}

async fn address(node: &Litecoind, name: &str, kind: &str) -> String {
    let address = wallet(node, name, "getnewaddress", json!(["", kind])).await;
    address.as_str().unwrap().to_owned()
}

async fn mine(node: &Litecoind, blocks: u32) {
    let to = address(node, "test", "bech32").await;
    wallet(node, "test", "generatetoaddress", json!([blocks, to])).await;
}

/// A waiting transaction is of the node's own size, and so is the pool.
async fn waits_as_the_node_says(node: &Litecoind, view: &View, txid: &str) -> TransactionView {
    let id: Hash32 = txid.parse().unwrap();
    let waits = view.transaction(&id).unwrap().unwrap();
    let entry = wallet(node, "test", "getmempoolentry", json!([txid])).await;
    assert_eq!(entry["vsize"], waits.record.vsize, "{txid}: {entry} {waits:?}");
    let pool = wallet(node, "test", "getmempoolinfo", json!([])).await;
    assert_eq!(pool["bytes"], view.mempool().unwrap().bytes(), "{pool}");
    waits
}

/// Every fee of every block, none of them below nothing.
fn fees(view: &View) -> usize {
    let mut seen = 0;
    for height in 0..=view.height() {
        let block = view.block(height, Tier::Any).unwrap().unwrap();
        let transactions = view.block_transactions(&block, 0, u64::MAX >> 1).unwrap();
        assert_eq!(transactions.len(), block.tx_count as usize);
        for (place, listed) in transactions.iter().enumerate() {
            let one = view.transaction(&listed.record.txid).unwrap().unwrap();
            assert_eq!(one.record, listed.record);
            assert_eq!(one.record.fee.is_none(), place == 0, "{}", one.record.txid);
            assert!(one.record.fee.is_none_or(|fee| fee >= 0), "{:?}", one.record);
            seen += 1;
        }
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn extension_blocks_are_followed() {
    let login = Login::Password("user".into(), "word".into());
    let node = Litecoind::start(login, &["-txindex=0", "-keypool=20"]).await.unwrap();
    let mut config = nodes(&node).remove(0);
    config.cookie = None;
    config.user = Some("user".into());
    config.password = Some(node::Secret::new("word"));
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::open("ltc", vec![config.clone()], dir.path(), options()).await;
    wallet(&node, "test", "createwallet", json!(["inside"])).await;
    mine(&node, 431).await;
    // In: the block that activates them wants it.
    let inside = address(&node, "inside", "mweb").await;
    for amount in [10, 5] {
        let sent = wallet(&node, "test", "sendtoaddress", json!([inside, amount])).await;
        caught_up(&node, &follower).await;
        let txid = sent.as_str().unwrap();
        let waits = waits_as_the_node_says(&node, &follower.view(), txid).await;
        assert!(waits.record.fee.unwrap() >= 0, "{waits:?}");
        mine(&node, 1).await;
    }
    caught_up(&node, &follower).await;
    mine(&node, 10).await;
    // Out, to an address of each type, and from one inside to another.
    let balance = wallet(&node, "inside", "getbalance", json!([])).await;
    println!("inside: {balance}");
    let mut paid = Vec::new();
    for kind in ["legacy", "bech32", "p2sh-segwit"] {
        let outside = address(&node, "test", kind).await;
        let sent = wallet(&node, "inside", "sendtoaddress", json!([outside, 1.5])).await;
        caught_up(&node, &follower).await;
        let txid = sent.as_str().unwrap();
        let waits = waits_as_the_node_says(&node, &follower.view(), txid).await;
        assert_eq!((waits.record.fee, waits.record.value_in), (None, Some(0)), "{waits:?}");
        mine(&node, 1).await;
        paid.push(outside);
    }
    let other = address(&node, "test", "mweb").await;
    let sent = wallet(&node, "inside", "sendtoaddress", json!([other, 2])).await;
    caught_up(&node, &follower).await;
    let waits = waits_as_the_node_says(&node, &follower.view(), sent.as_str().unwrap()).await;
    assert_eq!((waits.record.fee, waits.record.vsize), (None, 0), "{waits:?}");
    mine(&node, 3).await;
    caught_up(&node, &follower).await;
    let view = follower.view();
    println!("{} transactions have a fee that makes sense", fees(&view));
    for outside in paid {
        let info = wallet(&node, "test", "getaddressinfo", json!([outside])).await;
        let script = const_hex::decode(info["scriptPubKey"].as_str().unwrap()).unwrap();
        let totals = view.address(&script, Tier::Any).unwrap().unwrap();
        assert_eq!((totals.received, totals.tx_count), (150_000_000, 1), "{outside}");
    }
    agrees(&node, &follower.index).await;
    equals_fresh("ltc", &follower.index, vec![config.clone()], true).await;
    // Back and up again.
    let leave = async |height: u32| {
        let hash = text(&node, "getblockhash", json!([height])).await;
        wallet(&node, "test", "invalidateblock", json!([hash])).await;
        caught_up(&node, &follower).await;
        agrees(&node, &follower.index).await;
        hash
    };
    let hash = leave(440).await;
    wallet(&node, "test", "reconsiderblock", json!([hash])).await;
    caught_up(&node, &follower).await;
    agrees(&node, &follower.index).await;
    // Back below the activation. This node does not come to an end where it is to go up from there.
    drop(leave(431).await);
    equals_fresh("ltc", &follower.index, vec![config], false).await;
    follower.end().await;
}
