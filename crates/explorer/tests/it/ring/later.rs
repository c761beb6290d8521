//! Transactions of a later version of the protocol than is known.

use chain::ring::LAST_VERSION;
use curve25519_dalek::Scalar;
use serde_json::json;

use crate::ring::forged::{Wallet, coinbase, found, image, in_sync, open, public, spending, text};
use crate::ring::rig::items;
use crate::ring::stub::StubRing;

/// What is known of a transaction of a later version is shown, and nothing is guessed.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_later_version_brought_is_shown_as_far_as_it_is_known() {
    let node = StubRing::start().await;
    let keys: Vec<[u8; 32]> = (0..4_u64).map(|it| public(&Scalar::from(50 + it))).collect();
    node.mine(&coinbase(2, 1, &[(5, keys[0])], &[]), &[]);
    // The second of its outputs is of a kind that nobody knows.
    let mut odd = spending(2, 1, &[(0, vec![0])], &[(0, keys[1]), (0, keys[2])]);
    let at = odd.windows(32).position(|part| part == keys[2]).unwrap();
    odd[at - 1] = 0x17;
    // Nothing of it but its version.
    let unknown = [&[3][..], &[9; 60]].concat();
    let places = [vec![1], vec![2, 3], vec![4, 5, 6]];
    let reward = coinbase(2, 2, &[(7, keys[3])], &[]);
    let made = node.mine_as(LAST_VERSION + 1, &reward, &[odd.clone(), unknown.clone()], &places);
    let known = open(4, &[(0, vec![1, 1, 1, 1])], &[(0, keys[3])]);
    let waiting = [node.wait(&known), node.wait(&[&[4][..], &[1; 50]].concat())];
    let rig = in_sync(&node).await;
    let shown = rig.ok(&format!("tx/{}", made[1])).await;
    let expected = json!({
        "block_height": 2, "confirmations": 1, "hash": made[1], "size": odd.len(),
        "time": 1_700_000_002, "version": 2, "input_count": 1, "output_count": 2,
        "inputs": [{"key_image": text(&image(1, 0)), "ring": []}],
        "outputs": [{"public_key": text(&keys[1])}],
    });
    assert_eq!(shown, expected);
    let shown = rig.ok(&format!("tx/{}", made[2])).await;
    let expected = json!({
        "block_height": 2, "confirmations": 1, "hash": made[2], "size": unknown.len(),
        "time": 1_700_000_002, "version": 3, "output_count": 3, "inputs": [], "outputs": [],
    });
    assert_eq!(shown, expected);
    let list = rig.ok("block/2/txs").await;
    assert_eq!(items(&list["txs"]).len(), 3);
    assert_eq!((&list["txs"][1]["hash"], list["txs"][1].get("extra")), (&json!(made[1]), None));
    assert_eq!(rig.ok("block/2").await["reward"], "7");
    assert_eq!(rig.ok(&format!("search/{}", made[2])).await["kind"], "tx");
    // Members of a ring whose keys are not known are there all the same.
    let shown = rig.ok(&format!("tx/{}", waiting[0])).await;
    let expected = json!([
        {"height": 2, "public_key": text(&keys[3]), "tx_hash": made[0]},
        {"height": 2, "public_key": text(&keys[1]), "tx_hash": made[1]},
        {"height": 2, "tx_hash": made[1]},
        {"height": 2, "tx_hash": made[2]},
    ]);
    assert_eq!(shown["inputs"][0]["ring"], expected);
    let shown = rig.ok(&format!("tx/{}", waiting[1])).await;
    assert_eq!((&shown["version"], shown.get("output_count")), (&json!(4), None));
    // A check finds nothing in what cannot be read.
    let wallet = Wallet::new(1);
    for hash in [&made[1], &made[2], &waiting[1]] {
        for (kind, key) in [("viewkey", wallet.view_key()), ("txkey", text(&[1; 32]))] {
            let key = if kind == "txkey" { format!("{}0", &key[..63]) } else { key };
            assert_eq!(found(&rig, hash, &wallet.address(), kind, &key).await.0, Vec::<u64>::new());
        }
    }
}
