//! Which outputs belong to an address, by `chain` and by live wallets, of the same transactions.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use chain::ring::check::{KeyKind, SecretKey, check};
use chain::ring::{Address, Transaction};
use chain::{AddressParams, MoneroAddresses};
use serde_json::{Value, json};
use testkit::{MoneroWallet, Monerod, SentMonero};

/// A thousandth of a coin, in the smallest unit.
const MILLI: u64 = 1_000_000_000;

/// An address of the receiver, with its account and its place there.
type Named = (String, (u32, u32));

fn network() -> &'static MoneroAddresses {
    let networks = chain::find("xmr").unwrap().networks;
    let regtest = networks.iter().find(|network| network.name == "regtest").unwrap();
    match &regtest.addresses {
        AddressParams::Monero(addresses) => addresses,
        _ => panic!("xmr has addresses of its own"),
    }
}

/// The whole transaction, as the node has it.
async fn raw(node: &Monerod, hash: &str) -> Vec<u8> {
    let body = json!({"txs_hashes": [hash]}).to_string();
    let answer = node.post("/get_transactions", body.as_bytes()).await.unwrap();
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    const_hex::decode(answer["txs"][0]["as_hex"].as_str().unwrap()).unwrap()
}

/// What `chain` says: amounts by public key.
fn ours(raw: &[u8], address: &str, kind: KeyKind, key: &str) -> BTreeMap<String, u64> {
    let transaction = Transaction::decode(raw).unwrap();
    let address = Address::parse(address, network()).unwrap();
    let key = SecretKey::parse(key).ok().unwrap();
    let found = check(&transaction, &address, kind, &key).matches.into_iter();
    found.map(|one| (one.public_key.to_string(), one.amount.unwrap())).collect()
}

/// A wallet with three addresses: its first, one beside it, and that of another account.
async fn receiver(node: &Monerod) -> (MoneroWallet, Vec<Named>) {
    let wallet = MoneroWallet::start(node).await.unwrap();
    wallet.call("create_account", json!({})).await.unwrap();
    let mut addresses = vec![(wallet.address(0).await.unwrap(), (0, 0))];
    addresses.push((wallet.new_subaddress(0).await.unwrap(), (0, 1)));
    addresses.push((wallet.address(1).await.unwrap(), (1, 0)));
    (wallet, addresses)
}

/// Holds both verdicts on each transaction against those of the wallets. Gives how many outputs the
/// receiver found.
async fn compare(
    node: &Monerod,
    (sender, receiver): (&MoneroWallet, &MoneroWallet),
    addresses: &[Named],
    sent: &[SentMonero],
) -> usize {
    receiver.refresh().await.unwrap();
    let mut incoming = receiver.incoming(0).await.unwrap();
    incoming.extend(receiver.incoming(1).await.unwrap());
    let view_key = receiver.view_key().await.unwrap();
    let mut found = 0;
    for one in sent {
        let raw = raw(node, &one.hash).await;
        assert_eq!(Transaction::decode(&raw).unwrap().hash().unwrap().to_string(), one.hash);
        for (address, place) in addresses {
            let theirs: BTreeMap<String, u64> = incoming
                .iter()
                .filter(|output| output.hash == one.hash && output.subaddress == *place)
                .map(|output| (output.public_key.clone(), output.amount))
                .collect();
            assert_eq!(ours(&raw, address, KeyKind::View, &view_key), theirs, "{address}");
            found += theirs.len();
            let keys = one.keys();
            let claims = keys.iter().map(|key| ours(&raw, address, KeyKind::Transaction, key));
            let claimed: BTreeMap<String, u64> = claims.flatten().collect();
            let received = sender.check_tx_key(&one.hash, &one.key, address).await.unwrap();
            assert_eq!(claimed.values().sum::<u64>(), received, "{address}");
        }
    }
    found
}

/// Payments of each kind, a sweep, and the same after blocks were popped and mined again.
#[tokio::test(flavor = "multi_thread")]
async fn wallets_and_chain_say_the_same() {
    let node = Monerod::start(None).await.unwrap();
    let sender = MoneroWallet::start(&node).await.unwrap();
    node.mine_to(&sender.address(0).await.unwrap(), 132).await.unwrap();
    sender.refresh().await.unwrap();
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
    assert!(sent[3].keys().len() > 4 && sent[0].keys().len() == 1);
    assert_eq!(sender.tx_key(&sent[3].hash).await.unwrap(), sent[3].key);
    node.mine(11).await.unwrap();
    assert_eq!(compare(&node, (&sender, &receiver), &addresses, &sent).await, 7);

    // All of the receiver's first account goes to an address of its second one.
    let swept = receiver.sweep(0, other).await.unwrap();
    node.mine(1).await.unwrap();
    assert_eq!(compare(&node, (&receiver, &receiver), &addresses, &swept).await, 1);

    // After the last blocks were popped a new wallet of the same words sees what was mined since. The
    // sweep waits: the outputs in its rings may have got other numbers.
    let words = receiver.words().await.unwrap();
    drop(receiver);
    let tip = node.pop_blocks(12).await.unwrap();
    node.mine(13).await.unwrap();
    let count = node.call("get_block_count", json!({})).await.unwrap()["count"].as_u64();
    assert_eq!(count, Some(tip + 1 + 13));
    let receiver = MoneroWallet::start(&node).await.unwrap();
    receiver.restore("again", &words).await.unwrap();
    assert_eq!(compare(&node, (&receiver, &receiver), &addresses, &sent).await, 7);
}
