//! Blocks of a later version of the protocol than is known here: what is not known of them is kept
//! and counted, and whatever cannot be counted stops the index.

use bytes::Bytes;
use chain::ring::{Key, LAST_VERSION, RingCt};
use index::ring::{RawBlock, Store, View};
use index::{IndexError, Tier};

use crate::ring::forge::{Draft, Forge, hash_of, key, varint};
use crate::ring::rig::{
    Follower, assert_same, connected, in_bulk, network, node, open, options, rows,
};
use crate::ring::stub::Stub;

/// A transaction that spends, with two known outputs and one of a kind that nobody knows.
fn unknown_output(images: u64) -> Bytes {
    let mut raw = Draft::hidden(&[&[0, 1]], images, 3).bytes().to_vec();
    let last = key(images ^ 3 << 40).0;
    let at = raw.windows(32).position(|part| part == last).unwrap();
    raw[at - 1] = 0x17;
    raw.into()
}

/// A transaction with an input that nobody knows.
fn unknown_input(images: u64) -> Bytes {
    let mut raw = Draft::hidden(&[&[0, 1]], images, 2).bytes().to_vec();
    raw[3] = 0x21;
    raw.into()
}

/// A transaction of a version that nobody knows.
fn unknown_version(mark: u8) -> Bytes {
    [&[9][..], &[mark; 70]].concat().into()
}

/// A coinbase whose one output is of a kind that nobody knows.
fn unknown_reward(height: u64) -> Bytes {
    let mut raw = vec![2];
    varint(&mut raw, height + 60);
    raw.extend_from_slice(&[1, 0xff]);
    varint(&mut raw, height);
    raw.extend_from_slice(&[1, 77, 0x17]);
    raw.extend_from_slice(&[height as u8; 60]);
    raw.into()
}

/// Four hidden outputs in known blocks, and nine in blocks of a later version; then known ones again.
fn chain() -> Forge {
    let mut forge = Forge::new();
    for _ in 0..4 {
        forge.mine(&[]);
    }
    let known = Draft::hidden(&[&[0, 2]], 1000, 2).bytes();
    let places = [vec![4], vec![5, 6, 7], vec![8, 9], vec![10], vec![11, 12]];
    let transactions = [unknown_output(2000), unknown_input(3000), unknown_version(5), known];
    forge.mine_later(unknown_reward(5), &transactions, &places);
    forge.mine_later(unknown_reward(6), &[], &[vec![13]]);
    // Nothing of these is unknown but, in the second, a type of ring signatures.
    forge.version = LAST_VERSION + 1;
    forge.mine(&[Draft::hidden(&[&[4, 5, 7, 13]], 4000, 2)]);
    forge
}

#[test]
fn what_is_not_known_is_kept_and_counted() {
    let (dir, forge) = (tempfile::tempdir().unwrap(), chain());
    let store = connected(dir.path(), &forge.blocks);
    let view = View::of(&store).unwrap();
    let block = view.block(5, Tier::Any).unwrap().unwrap();
    assert_eq!((block.hash, block.size, block.reward), (forge.hashes[5], 9005, 35));
    assert_eq!((block.tx_count, block.output_count), (5, 9));
    assert_eq!((block.version, block.time), (LAST_VERSION + 1, 1_700_000_005));
    let told = forge.blocks[5].told.as_ref().unwrap();
    for (hash, bytes) in told.hashes.iter().zip(&forge.blocks[5].transactions) {
        let found = view.transaction(hash).unwrap().unwrap();
        assert_eq!(found.record.size, bytes.len() as u64);
        let transaction = found.record.decode().unwrap();
        assert_eq!(hash_of(bytes), *hash);
        match transaction.ring_ct {
            RingCt::Unread => assert_eq!(transaction.raw(), bytes),
            _ => assert_eq!(transaction.rct_type(), Some(6)),
        }
    }
    let output = view.transaction(&told.hashes[0]).unwrap().unwrap().record;
    assert_eq!(output.output_count().unwrap(), Some(3));
    assert_eq!(output.decode().unwrap().outputs.len(), 2);
    let version = view.transaction(&told.hashes[2]).unwrap().unwrap().record;
    assert_eq!((version.output_count().unwrap(), version.decode().unwrap().version), (Some(1), 9));
    let coinbase = view.transaction(&told.coinbase.0).unwrap().unwrap().record;
    assert!(coinbase.decode().unwrap().is_coinbase());
    // A ring among them: of a coinbase no key is known, of the transaction's outputs that of the first.
    let asked = Draft::hidden(&[&[4, 5, 7, 11, 13, 14]], 1, 1).bytes();
    let asked = chain::ring::Transaction::decode(&asked).unwrap();
    let ring = view.rings(&asked.inputs, Tier::Any).unwrap().remove(0);
    let members: Vec<(u32, Option<Key>)> =
        ring.iter().map(|it| (it.height, it.public_key)).collect();
    assert_eq!(members[..3], [(5, None), (5, Some(key(2000 ^ 1 << 40))), (5, None)]);
    assert_eq!((members[3].0, members[4], members[5].0), (5, (6, None), 7));
    // The audit finds nothing wrong, and says what it could not prove.
    let verdict = store.verify(|_| {}).unwrap();
    assert_eq!((verdict.faults, verdict.unproved), (Vec::<String>::new(), 2));
    assert_eq!((verdict.hidden_outputs, verdict.transactions), (17, 13));
}

#[test]
fn what_is_not_known_is_taken_back_too() {
    let (dir, forge) = (tempfile::tempdir().unwrap(), chain());
    let mut store = open(dir.path());
    let mut before = Vec::new();
    for block in &forge.blocks {
        before.push(rows(&store));
        store.connect(block).unwrap();
    }
    while let Some(expected) = before.pop() {
        store.disconnect().unwrap();
        assert!(rows(&store) == expected, "height {}", before.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_to_an_index_goes_on_through_them() {
    let forge = chain();
    let fresh = tempfile::tempdir().unwrap();
    let store = connected(fresh.path(), &forge.blocks);
    for (span, options) in
        [(Some(1000), in_bulk()), (Some(3), in_bulk()), (None, in_bulk()), (Some(1000), options())]
    {
        let stub = Stub::start(forge.clone(), span).await.unwrap();
        let dir = tempfile::tempdir().unwrap();
        let follower = Follower::start(dir.path(), &[stub.url()], options);
        follower.in_sync_at(forge.tip()).await;
        follower.assert_rows(&store);
        let (pool, node) = node(&stub.url()).await;
        let again = store.read_again(&node, |_| ()).await.unwrap();
        assert_eq!((again.faults, again.blocks), (Vec::<String>::new(), 8));
        // They are left like any other.
        let mut other = forge.branch(4, 9);
        other.mine(&[Draft::hidden(&[&[0, 2]], 1000, 2)]);
        other.mine(&[]);
        other.mine(&[]);
        other.mine(&[]);
        stub.show(other.clone());
        follower.in_sync_at(other.tip()).await;
        let dir = tempfile::tempdir().unwrap();
        assert_same(&follower.index.store().lock().unwrap(), &connected(dir.path(), &other.blocks));
        pool.stop();
        follower.end().await;
    }
}

fn problem(store: &mut Store, raw: &RawBlock) -> String {
    let before = rows(store);
    let error = store.connect(raw).unwrap_err();
    assert!(rows(store) == before, "{error}");
    let IndexError::Block { problem, .. } = error else { panic!("{error}") };
    problem
}

/// Whatever cannot be counted, or is of a version that is known, is no block.
#[test]
fn what_cannot_be_counted_stops_the_index() {
    let (dir, forge) = (tempfile::tempdir().unwrap(), chain());
    let mut store = connected(dir.path(), &forge.blocks[..5]);
    let good = &forge.blocks[5];
    let has = |problem: String, words: &str| assert!(problem.contains(words), "{problem}");
    let changed = |change: &dyn Fn(&mut RawBlock)| {
        let mut block = good.clone();
        change(&mut block);
        block
    };
    // The node counts from another place, or has other outputs than that.
    let shifted = changed(&|block| block.output_indices.as_mut().unwrap()[3] += 1);
    has(problem(&mut store, &shifted), "other places");
    let more = changed(&|block| block.told.as_mut().unwrap().outputs.as_mut().unwrap()[1] = 4);
    has(problem(&mut store, &more), "other places");
    let silent = changed(&|block| {
        block.output_indices = None;
        block.told.as_mut().unwrap().outputs = None;
    });
    has(problem(&mut store, &silent), "does not say which places");
    has(problem(&mut store, &changed(&|block| block.told = None)), "");
    has(problem(&mut store, &changed(&|block| block.weight = None)), "weight is not known");
    // What is known has its hash, in a later version too.
    let swapped = changed(&|block| {
        block.transactions[3] = Draft::hidden(&[&[0, 3]], 1000, 2).bytes();
    });
    has(problem(&mut store, &swapped), "has another hash");
    let other = changed(&|block| block.told.as_mut().unwrap().coinbase.1 = unknown_reward(6));
    has(problem(&mut store, &other), "another height");
    // In a version that is known there is no such thing: the bytes are spoilt.
    for bytes in [unknown_output(1), unknown_input(1), unknown_version(1)] {
        let mut known = forge.branch(4, 1);
        known.version = LAST_VERSION;
        known.mine_as(2, &[7], std::slice::from_ref(&bytes));
        let block = RawBlock { weight: Some(1), ..known.blocks.pop().unwrap() };
        has(problem(&mut store, &block), "cannot be read");
    }
    let mut known = forge.branch(4, 1);
    known.version = LAST_VERSION;
    known.mine(&[Draft { rct_type: 7, ..Draft::hidden(&[&[0]], 5, 2) }]);
    let block = RawBlock { weight: Some(1), ..known.blocks.pop().unwrap() };
    has(problem(&mut store, &block), "of a type that its version does not have");
    store.connect(good).unwrap();
    assert_eq!(network().name, "regtest");
}
