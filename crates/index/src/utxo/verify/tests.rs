#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::ControlFlow;

use chain::utxo::Block;
use tempfile::TempDir;
use testkit::{Draft, Forge, key_hash_script};

use super::*;
use crate::Memory;
use crate::db::{Batch, Table};
use crate::row::{put_varint, u40};
use crate::utxo::schema::{
    HEADER_BY_HEIGHT, HEIGHT_BY_HASH, HISTORY_BY_SCRIPT, META, TABLES, TOTALS_BY_SCRIPT, TX_BY_NUM,
    TXNUM_BY_TXID, UNSPENT_BY_SCRIPT, VOIDED_BY_HEIGHT, VOIDED_BY_TXID,
};

/// A short chain with rows of every kind: chunks, inline histories, named inputs, twins.
fn sound() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let chain = chain::find("btc").unwrap();
    let network = chain.network("regtest").unwrap();
    let memory = Memory::new(8 << 20, 8 << 20);
    let mut store = Store::open(dir.path(), chain, network, &memory).unwrap();
    let (a, b) = (key_hash_script(1), key_hash_script(2));
    let mut forge = Forge::new(chain);
    let first = forge.mine(100, &a, &[]);
    let fan = (0..25).fold(Draft::new().spend(first.coinbase.output(0)), |fan, _| fan.pay(4, &b));
    let fan = fan.pay(0, &[0x6a, 1]).finish();
    let second = forge.mine(1, &[0x51], std::slice::from_ref(&fan));
    let all = (0..22).map(|vout| fan.output(vout)).fold(Draft::new(), Draft::spend);
    let all = all.pay(30, &a).finish();
    let third = forge.mine_with(first.coinbase.clone(), std::slice::from_ref(&all));
    let fourth = forge.mine_with(first.coinbase.clone(), &[]);
    let last = Draft::new().spend(all.output(0)).spend(fan.output(24)).pay(9, &a).finish();
    let fifth = forge.mine(7, &a, &[last]);
    let genesis = testkit::genesis(chain).unwrap();
    let made = [&first, &second, &third, &fourth, &fifth].map(|block| block.raw.clone());
    let format = *store.format();
    for raw in std::iter::once(genesis).chain(made) {
        store.connect(&Block::decode(&raw, &format).unwrap()).unwrap();
    }
    (dir, store)
}

fn put(store: &Store, table: Table, key: &[u8], value: Option<&[u8]>) {
    let mut batch = Batch::new(store.db());
    match value {
        Some(value) => batch.put(table, key, value),
        None => batch.delete(table, key),
    }
    store.db().commit(batch).unwrap();
}

fn rows(store: &Store) -> Vec<(Table, Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    for (table, _) in store.db().tables() {
        let visit = |key: &[u8], value: &[u8]| {
            all.push((table, key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        };
        store.db().latest().scan_all(table, visit).unwrap();
    }
    all
}

fn audit(store: &Store) -> Verdict {
    store.verify(|_| ()).unwrap()
}

/// The audit tells a fault of that table.
fn assert_told(store: &Store, table: Table, what: &str) {
    let verdict = audit(store);
    let name = TABLES[table.0].name;
    let told = verdict.faults.iter().any(|fault| fault.starts_with(name));
    assert!(told && verdict.fault_count > 0, "{what} {name}: {:?}", verdict.faults);
}

#[test]
fn a_sound_index_has_no_faults() {
    let (_dir, store) = sound();
    let mut steps = Vec::new();
    let verdict = store.verify(|progress| steps.push(progress.step)).unwrap();
    assert_eq!((&verdict.faults, verdict.fault_count), (&Vec::new(), 0));
    assert_eq!((verdict.tip, verdict.blocks, verdict.transactions), (store.tip(), 6, 9));
    assert_eq!((verdict.scripts, verdict.unspent_outputs), (3, 6));
    assert_eq!(verdict.unspent_total, 100 + 4 + 4 + 1 + 9 + 7);
    steps.dedup();
    assert_eq!(steps, ["blocks", "ids", "scripts"]);
}

#[test]
fn every_row_that_is_gone_is_told() {
    let (_dir, store) = sound();
    for (table, key, value) in rows(&store) {
        put(&store, table, &key, None);
        assert_told(&store, table, "without a row of");
        put(&store, table, &key, Some(&value));
    }
    assert_eq!(audit(&store).fault_count, 0);
}

#[test]
fn every_row_that_is_changed_is_told() {
    let (_dir, store) = sound();
    for (table, key, value) in rows(&store) {
        for place in 0..value.len() {
            // Of a header the size alone follows from nothing else in the index; of a record
            // neither version, lock time and sizes, nor scripts of inputs and sequence numbers.
            let free = table == HEADER_BY_HEIGHT && place + 2 >= value.len();
            if free || (table == TX_BY_NUM && place != 1 && place != value.len() / 2) {
                continue;
            }
            let mut changed = value.clone();
            changed[place] ^= 0x11;
            put(&store, table, &key, Some(&changed));
            let verdict = audit(&store);
            let record = table == TX_BY_NUM && place != 1;
            assert!(verdict.fault_count > 0 || record, "{} {key:x?} {place}", TABLES[table.0].name);
        }
        put(&store, table, &key, Some(&value));
    }
    assert_eq!(audit(&store).fault_count, 0);
}

#[test]
fn every_row_too_many_is_told() {
    let (_dir, store) = sound();
    let next = store.tip().unwrap().next_txnum;
    let all = rows(&store);
    let like = |table: Table| all.iter().rfind(|row| row.0 == table).unwrap();
    let unspent = {
        // Another output of the same transaction, of a number that none of them has.
        let mut key = like(UNSPENT_BY_SCRIPT).1.clone();
        key[23] ^= 1;
        key
    };
    let chunk = [&like(HISTORY_BY_SCRIPT).1[..10], &1u32.to_be_bytes()].concat();
    let mut txnums = Vec::new();
    put_varint(&mut txnums, 3);
    let id = [&like(TXNUM_BY_TXID).1[..6], &u40(2)].concat();
    let added: [(Table, Vec<u8>, Vec<u8>); 8] = [
        (META, b"stray".to_vec(), b"x".to_vec()),
        (HEADER_BY_HEIGHT, 6u32.to_be_bytes().to_vec(), like(HEADER_BY_HEIGHT).2.clone()),
        (HEIGHT_BY_HASH, vec![1; 8], 3u32.to_be_bytes().to_vec()),
        (TXNUM_BY_TXID, id, Vec::new()),
        (TX_BY_NUM, u40(next).to_vec(), like(TX_BY_NUM).2.clone()),
        (TOTALS_BY_SCRIPT, vec![3; 10], like(TOTALS_BY_SCRIPT).2.clone()),
        (HISTORY_BY_SCRIPT, chunk, txnums),
        (UNSPENT_BY_SCRIPT, unspent, like(UNSPENT_BY_SCRIPT).2.clone()),
    ];
    for (table, key, value) in added {
        assert!(!all.iter().any(|row| row.0 == table && row.1 == key), "there is such a row");
        put(&store, table, &key, Some(&value));
        assert_told(&store, table, "with a row too many of");
        put(&store, table, &key, None);
        let short = [7, 7, 7];
        put(&store, table, &short, Some(&value));
        assert_told(&store, table, "with a short key in");
        put(&store, table, &short, None);
    }
    assert_eq!(audit(&store).fault_count, 0);
}

/// The first blocks of a recorded chain that votes; two of its regular trees are voided.
fn voted() -> (TempDir, Store) {
    let recording = testkit::Recording::of("dcr", replay::Phase::A);
    let dir = tempfile::tempdir().unwrap();
    let memory = Memory::new(8 << 20, 8 << 20);
    let chain = recording.chain;
    let mut store = Store::open(dir.path(), chain, recording.on(), &memory).unwrap();
    let format = *store.format();
    for raw in &recording.raw[..175] {
        store.connect(&Block::decode(raw, &format).unwrap()).unwrap();
    }
    (dir, store)
}

#[test]
fn voided_trees_are_held_against_votes_and_ids() {
    let (_dir, store) = voted();
    let verdict = audit(&store);
    assert_eq!((&verdict.faults, verdict.fault_count), (&Vec::new(), 0));
    assert!(verdict.treasury > 0);
    let all = rows(&store);
    let of = |table: Table| all.iter().filter(move |row| row.0 == table);
    assert_eq!((of(VOIDED_BY_HEIGHT).count(), of(VOIDED_BY_TXID).count()), (7, 7));
    for table in [VOIDED_BY_HEIGHT, VOIDED_BY_TXID] {
        for (_, key, value) in of(table) {
            put(&store, table, key, None);
            assert!(audit(&store).fault_count > 0, "without {key:x?}");
            let longer = [&value[..], &[0]].concat();
            put(&store, table, key, Some(&longer));
            assert!(audit(&store).fault_count > 0, "with a longer {key:x?}");
            put(&store, table, key, Some(value));
        }
        let mut stray = of(table).next().unwrap().1.clone();
        *stray.last_mut().unwrap() = 99;
        for key in [&stray[..], &[1, 2, 3]] {
            put(&store, table, key, Some(&of(table).next().unwrap().2));
            assert!(audit(&store).fault_count > 0, "with {key:x?}");
            put(&store, table, key, None);
        }
    }
    // A voided block that is not marked so, and one that is marked and was approved.
    for height in [163u32, 165, 174] {
        let key = height.to_be_bytes();
        let (_, _, value) = of(HEADER_BY_HEIGHT).find(|row| row.1 == key).unwrap();
        let mut changed = value.clone();
        changed[0] ^= 1;
        put(&store, HEADER_BY_HEIGHT, &key, Some(&changed));
        assert!(audit(&store).fault_count > 0, "{height}");
        put(&store, HEADER_BY_HEIGHT, &key, Some(value));
    }
    assert_eq!(audit(&store).fault_count, 0);
}
