//! A live node with live wallets: what they find and what they say of a transaction's key is what a
//! check of outputs finds, while transactions wait, in blocks, and after blocks were popped.

use std::collections::BTreeMap;

use serde_json::json;
use testkit::{MoneroWallet, Monerod, SentMonero};

use crate::ring::rig::{Rig, body, items, text};

/// A thousandth of a coin, in the smallest unit.
pub const MILLI: u64 = 1_000_000_000;

/// An address of the receiver, with its account and its place there.
pub type Named = (String, (u32, u32));

/// What the explorer says: amounts by public key; none where it does not know the transaction.
async fn said(
    rig: &Rig,
    hash: &str,
    to: &str,
    kind: &str,
    key: &str,
) -> Option<BTreeMap<String, u64>> {
    let answer = rig.check(hash, to, kind, key).await;
    if answer.status == 404 {
        return None;
    }
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = body(&answer);
    let found: BTreeMap<String, u64> = items(&answer["matches"])
        .iter()
        .map(|one| (text(&one["public_key"]).to_owned(), text(&one["amount"]).parse().unwrap()))
        .collect();
    assert_eq!(answer["total"], found.values().sum::<u64>().to_string());
    Some(found)
}

/// A wallet with three addresses: its first, one beside it, and that of another account.
pub async fn receiver(node: &Monerod) -> (MoneroWallet, Vec<Named>) {
    let wallet = MoneroWallet::start(node).await.unwrap();
    wallet.call("create_account", json!({})).await.unwrap();
    let mut addresses = vec![(wallet.address(0).await.unwrap(), (0, 0))];
    addresses.push((wallet.new_subaddress(0).await.unwrap(), (0, 1)));
    addresses.push((wallet.address(1).await.unwrap(), (1, 0)));
    (wallet, addresses)
}

/// Waits until the explorer is where the node is, and has so many transactions that wait, if that is
/// known.
pub async fn in_sync(rig: &Rig, node: &Monerod, waiting: Option<u64>) {
    let count = node.call("get_block_count", json!({})).await.unwrap()["count"].as_u64().unwrap();
    let tip = node.call("on_get_block_hash", json!([count - 1])).await.unwrap();
    rig.until("at the node's tip", |view| {
        let pool = view.mempool().map(|pool| pool.count());
        view.hash().to_string() == text(&tip)
            && pool.is_some()
            && (waiting.is_none() || pool == waiting)
    })
    .await;
}

/// Holds the claims of a sender against what its wallet says.
pub async fn compare_claims(rig: &Rig, wallet: &MoneroWallet, to: &[Named], sent: &[SentMonero]) {
    for one in sent {
        for (address, _) in to {
            let mut claimed = Some(BTreeMap::new());
            for key in one.keys() {
                let more = said(rig, &one.hash, address, "txkey", key).await;
                claimed =
                    claimed.zip(more).map(|(all, more)| all.into_iter().chain(more).collect());
            }
            // Of a transaction that the chain has lost both know nothing.
            let received = wallet.check_tx_key(&one.hash, &one.key, address).await.ok();
            let claimed = claimed.map(|claimed| claimed.values().sum::<u64>());
            assert_eq!(claimed, received, "{address}");
        }
    }
}

/// Holds what a view key opens against what the wallet found. Gives how many outputs that are.
pub async fn compare_found(
    rig: &Rig,
    wallet: &MoneroWallet,
    to: &[Named],
    sent: &[SentMonero],
) -> usize {
    wallet.refresh().await.unwrap();
    let mut incoming = wallet.incoming(0).await.unwrap();
    incoming.extend(wallet.incoming(1).await.unwrap());
    let view_key = wallet.view_key().await.unwrap();
    let mut found = 0;
    for one in sent {
        for (address, place) in to {
            let theirs: BTreeMap<String, u64> = incoming
                .iter()
                .filter(|output| output.hash == one.hash && output.subaddress == *place)
                .map(|output| (output.public_key.clone(), output.amount))
                .collect();
            let ours = said(rig, &one.hash, address, "viewkey", &view_key).await;
            let ours = ours.unwrap_or_default();
            assert_eq!(ours, theirs, "{address}");
            found += ours.len();
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn live_wallets_and_checks_say_the_same() {
    let node = Monerod::start(None).await.unwrap();
    let sender = MoneroWallet::start(&node).await.unwrap();
    node.mine_to(&sender.address(0).await.unwrap(), 132).await.unwrap();
    sender.refresh().await.unwrap();
    let rig = Rig::start(node.url()).await;
    let (receiver, addresses) = receiver(&node).await;
    let [first, beside, other] = [0, 1, 2].map(|place| addresses[place].0.as_str());
    let integrated = receiver.integrated("00112233aabbccdd").await.unwrap();
    let mut sent = Vec::new();
    for to in [
        &[(first, 5 * MILLI)][..],
        &[(beside, 7 * MILLI)],
        &[(&integrated, 11 * MILLI)],
        &[(first, MILLI), (beside, 2 * MILLI), (other, 3 * MILLI), (beside, 4 * MILLI)],
    ] {
        sent.push(sender.pay(to).await.unwrap());
    }
    // A transaction whose outputs have keys of their own has them behind its key.
    assert!(sent[3].keys().len() > 4 && sent[0].keys().len() == 1);
    assert_eq!(sender.tx_key(&sent[3].hash).await.unwrap(), sent[3].key);
    in_sync(&rig, &node, Some(4)).await;
    compare_claims(&rig, &sender, &addresses, &sent).await;
    node.mine(11).await.unwrap();
    in_sync(&rig, &node, Some(0)).await;
    compare_claims(&rig, &sender, &addresses, &sent).await;
    assert_eq!(compare_found(&rig, &receiver, &addresses, &sent).await, 7);

    // All of the receiver's first account goes to an address of its second one.
    let swept = receiver.sweep(0, other).await.unwrap();
    node.mine(1).await.unwrap();
    in_sync(&rig, &node, Some(0)).await;
    compare_claims(&rig, &receiver, &addresses, &swept).await;
    assert_eq!(compare_found(&rig, &receiver, &addresses, &swept).await, swept.len());

    // After the last blocks were popped a new wallet of the same words sees what was mined since. The
    // sweep waits: the outputs in its rings may have got other numbers.
    let words = receiver.words().await.unwrap();
    drop(receiver);
    node.pop_blocks(12).await.unwrap();
    node.mine(13).await.unwrap();
    in_sync(&rig, &node, None).await;
    let receiver = MoneroWallet::start(&node).await.unwrap();
    receiver.restore("again", &words).await.unwrap();
    assert_eq!(compare_found(&rig, &receiver, &addresses, &sent).await, 7);
    compare_claims(&rig, &receiver, &addresses, &sent).await;
}
