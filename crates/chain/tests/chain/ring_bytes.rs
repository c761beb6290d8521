//! Whatever bytes come in the place of blocks, transactions, `extra` and addresses of rings: an
//! answer, never a panic.

use chain::ring::check::{KeyKind, SecretKey, check};
use chain::ring::{Address, Block, Extra, Hash, Transaction};
use proptest::prelude::*;

use crate::ring::{network, public, whole_transactions};

fn touch(raw: &[u8]) {
    if let Ok(block) = Block::decode(raw) {
        let (_, _, _) = (block.hash(), block.height(), block.raw());
        walk(&block.coinbase);
    }
    for read in [Transaction::decode, Transaction::decode_pruned] {
        if let Ok(transaction) = read(raw) {
            walk(&transaction);
            assert!(transaction.raw() == raw && transaction.pruned().len() <= raw.len());
        }
    }
    if let Ok(transaction) = Transaction::decode_later(raw) {
        walk(&transaction);
        assert!(transaction.raw() == raw && transaction.pruned().len() <= raw.len());
    }
    Extra::parse(raw).payment_id();
}

fn walk(transaction: &Transaction<'_>) {
    let (_, _, _) = (transaction.fee(), transaction.hash(), transaction.hash_with(&Hash::ZERO));
    let (_, _) = (transaction.visible_out(), transaction.ring_size());
    assert!(transaction.weight().is_none_or(|weight| weight >= transaction.size() as u64));
    transaction.parse_extra();
    let (address, key) = asked();
    for kind in [KeyKind::View, KeyKind::Transaction] {
        let found = check(transaction, &address, kind, &key);
        assert!(found.matches.iter().all(|one| one.index < transaction.outputs.len()));
    }
}

/// The key pair of the public transaction with hidden amounts of the first kind.
fn asked() -> (Address, SecretKey) {
    thread_local!(static VECTOR: (String, String) = {
        let vector = &public()["outputs_check"][0];
        let [address, key] = [&vector["address"], &vector["view_key"]];
        (address.as_str().unwrap().to_owned(), key.as_str().unwrap().to_owned())
    });
    VECTOR.with(|(address, key)| {
        let address = Address::parse(address, network()).unwrap();
        (address, SecretKey::parse(key).ok().unwrap())
    })
}

/// Public transactions of the main network, of every version and type that there are.
fn real() -> Vec<Vec<u8>> {
    let public = public();
    let main = public["mainnet_transactions"].as_array().unwrap().iter();
    let main = main.map(|one| const_hex::decode(one["hex"].as_str().unwrap()).unwrap());
    main.chain(whole_transactions().into_values().filter(|raw| raw.len() < 3000).take(4)).collect()
}

#[test]
fn every_cut_of_a_real_transaction_is_refused() {
    for raw in real() {
        assert!(Transaction::decode(&raw).is_ok());
        for end in 0..raw.len() {
            touch(&raw[..end]);
            assert!(Transaction::decode(&raw[..end]).is_err());
        }
        assert!(Transaction::decode(&[&raw[..], &[0]].concat()).is_err());
    }
}

/// One whose outputs are those of [`asked`].
fn paid() -> Vec<u8> {
    const_hex::decode(public()["outputs_check"][0]["pruned_hex"].as_str().unwrap()).unwrap()
}

proptest! {
    #[test]
    fn ring_bytes(raw in proptest::collection::vec(any::<u8>(), 0..400)) {
        touch(&raw);
    }

    #[test]
    fn changed_transactions(
        which: proptest::sample::Index, at: proptest::sample::Index, to: u8,
        // A length or a count is more than one byte.
        more in proptest::collection::vec(any::<u8>(), 0..10),
    ) {
        thread_local!(static REAL: Vec<Vec<u8>> = real());
        let mut raw = REAL.with(|real| real[which.index(real.len())].clone());
        let at = at.index(raw.len());
        raw[at] = to;
        touch(&raw);
        raw.splice(at..at, more);
        touch(&raw);
    }

    #[test]
    fn changed_payments(at: proptest::sample::Index, to: u8) {
        thread_local!(static PAID: Vec<u8> = paid());
        let mut raw = PAID.with(Vec::clone);
        let at = at.index(raw.len());
        raw[at] = to;
        touch(&raw);
    }

    #[test]
    fn text_is_an_address_of_rings_or_it_is_not(text in "\\PC{0,110}", base58 in "[1-9A-HJ-NP-Za-km-z]{90,110}") {
        let _ = Address::parse(&text, network());
        let _ = Address::parse(&base58, network());
    }
}
