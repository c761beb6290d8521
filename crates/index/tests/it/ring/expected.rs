//! What an explorer has to say of the recorded chain, worked out apart from this program.

use chain::ring::Hash;
use index::Tier;
use index::ring::{Inclusion, TransactionView, View};
use replay::{Replay, ReplayOptions};
use serde_json::Value;

use crate::ring::rig::{Follower, options};

fn expected() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../replay/recordings/xmr/expected.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn hash(value: &Value) -> Hash {
    value.as_str().unwrap().parse().unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn check_transaction(view: &View, wanted: &Value) -> TransactionView {
    let found = view.transaction(&hash(&wanted["hash"])).unwrap().unwrap();
    let transaction = found.record.decode().unwrap();
    assert_eq!(found.record.size, number(&wanted["size"]));
    assert_eq!(u64::from(transaction.version), number(&wanted["version"]));
    assert_eq!(const_hex::encode(transaction.extra), wanted["extra"].as_str().unwrap());
    assert_eq!(u64::from(transaction.rct_type().unwrap()), number(&wanted["rct_type"]));
    let fee = transaction.fee().map(|fee| fee.to_string());
    assert_eq!(fee.as_deref(), wanted["fee"].as_str());
    match found.inclusion {
        Inclusion::Block { height, time, .. } => {
            assert_eq!(u64::from(height), number(&wanted["block_height"]));
            assert_eq!(time, number(&wanted["time"]));
        }
        Inclusion::Mempool { first_seen } => {
            assert!(wanted.get("block_height").is_none());
            assert!(first_seen > 1_700_000_000);
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn every_block_transaction_and_ring_is_as_expected() {
    let node = Replay::start("xmr", ReplayOptions::default()).await.unwrap();
    let (dir, expected) = (tempfile::tempdir().unwrap(), expected());
    let follower = Follower::start(dir.path(), &[node.url()], options());
    follower.in_sync_at(hash(&expected["status"]["best_hash"])).await;
    let view = follower.view();
    assert_eq!(u64::from(view.height()), number(&expected["status"]["height"]));
    let blocks = expected["blocks"].as_array().unwrap();
    assert_eq!(blocks.len() as u64, u64::from(view.height()) + 1);
    for wanted in blocks {
        let height = number(&wanted["height"]) as u32;
        let row = view.block(height, Tier::Any).unwrap().unwrap();
        assert_eq!(view.block_height(&hash(&wanted["hash"]), Tier::Any).unwrap(), Some(height));
        assert_eq!((row.size, row.time), (number(&wanted["size"]), number(&wanted["time"])));
        assert_eq!(row.reward.to_string(), wanted["reward"].as_str().unwrap());
        assert_eq!(u64::from(row.tx_count), number(&wanted["tx_count"]));
        let listed = view.block_transactions(&row, 0, 100, Tier::Any).unwrap();
        let listed: Vec<Hash> = listed.iter().map(|one| one.record.hash).collect();
        let wanted: Vec<Hash> = wanted["txs"].as_array().unwrap().iter().map(hash).collect();
        assert_eq!(listed, wanted);
    }
    for wanted in expected["coinbases"].as_array().unwrap() {
        let found = check_transaction(&view, wanted);
        let transaction = found.record.decode().unwrap();
        assert!(transaction.is_coinbase());
        assert_eq!(transaction.visible_out().to_string(), wanted["visible_out"].as_str().unwrap());
    }
    let transactions = expected["transactions"].as_array().unwrap();
    assert_eq!(transactions.len(), 19);
    for wanted in transactions {
        let found = check_transaction(&view, wanted);
        let transaction = found.record.decode().unwrap();
        let keys: Vec<String> = transaction.outputs.iter().map(|it| it.key.to_string()).collect();
        let outputs = wanted["outputs"].as_array().unwrap();
        let wanted_keys = outputs.iter().map(|it| it["public_key"].as_str().unwrap());
        assert!(keys.iter().eq(wanted_keys));
        let rings = view.rings(&transaction.inputs, Tier::Any).unwrap();
        let inputs = wanted["inputs"].as_array().unwrap();
        assert_eq!(rings.len(), inputs.len());
        for (ring, input) in rings.iter().zip(inputs) {
            let members = input["ring"].as_array().unwrap();
            assert_eq!(ring.len(), members.len());
            for (ours, theirs) in ring.iter().zip(members) {
                assert_eq!(u64::from(ours.height), number(&theirs["height"]));
                assert_eq!(ours.tx_hash, hash(&theirs["tx_hash"]));
                let key = ours.public_key.unwrap();
                assert_eq!(key.to_string(), theirs["public_key"].as_str().unwrap());
            }
        }
    }
    follower.end().await;
}
