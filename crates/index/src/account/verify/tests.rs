#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use chain::account::{Address, Hash, U256};
use tempfile::TempDir;

use super::*;
use crate::Memory;
use crate::account::facts::{
    Block, BlockFacts, Log, Operation, OperationKind, Status, Traced, Transaction,
};
use crate::account::schema::TABLES;
use crate::db::{Batch, Table};

fn hash(n: u8) -> Hash {
    Hash([n; 32])
}

pub(in crate::account) fn block_facts(height: u32, tx_count: u32) -> BlockFacts {
    BlockFacts {
        height,
        hash: hash(height as u8 + 100),
        parent: hash(height as u8 + 99),
        state_root: hash(7),
        miner: Address([9; 20]),
        time: 1000 + u64::from(height),
        tx_count,
        gas_used: 10,
        gas_limit: 100,
        base_fee: Some(U256::from(7)),
        difficulty: U256::ZERO,
        total_fees: U256::ZERO,
        total_value: U256::ZERO,
        issuance: U256::ZERO,
        size: 500,
        withdrawals: Some(0),
        excess_blob_gas: None,
        extra_data: b"extra".to_vec(),
    }
}

pub(in crate::account) fn transaction(n: u8, from: Address, to: Option<Address>) -> Transaction {
    Transaction {
        hash: hash(n),
        from,
        to,
        kind: 2,
        nonce: 1,
        value: U256::from(3),
        gas_limit: 30,
        gas_price: U256::from(8),
        max_fee: Some(U256::from(9)),
        input: vec![1, 2, 3, 4],
        status: Status::Success,
        gas_used: 20,
        effective_gas_price: U256::from(8),
        blob: None,
        created: None,
        first_log: 0,
        log_count: 0,
    }
}

pub(in crate::account) fn transfer(token: u8, from: u8, to: u8) -> Log {
    let word = |n: u8| {
        let mut word = [0; 32];
        word[12..].fill(n);
        word
    };
    let topic = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
    let topic = const_hex::decode_to_array(topic).unwrap();
    let topics = vec![topic, word(from), word(to)];
    Log { address: Address([token; 20]), topics, data: word(1).to_vec() }
}

pub(in crate::account) fn finish(
    mut facts: BlockFacts,
    mut txs: Vec<(Transaction, Vec<Log>)>,
) -> Block {
    let mut first_log = 0;
    for (tx, logs) in &mut txs {
        (tx.first_log, tx.log_count) = (first_log, logs.len() as u32);
        first_log += tx.log_count;
        facts.total_fees += tx.fee();
        facts.total_value += tx.value;
    }
    Block { facts, transactions: txs }
}

/// A short chain with rows of every kind, the last block of which is not traced.
fn sound() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let chain = chain::find("eth").unwrap();
    let network = chain.network("dev").unwrap();
    let mut store =
        Store::open(dir.path(), chain, network, &Memory::new(8 << 20, 8 << 20)).unwrap();
    let address = |n| Address([n; 20]);
    let mut creating = transaction(1, address(1), None);
    creating.created = Some(address(2));
    let tokens = vec![transfer(2, 1, 3), transfer(2, 3, 4)];
    let calling = transaction(2, address(1), Some(address(2)));
    let mut failing = transaction(3, address(3), Some(address(2)));
    failing.status = Status::Failed;
    let last = transaction(4, address(4), Some(address(1)));
    let made = [
        finish(block_facts(3, 0), vec![]),
        finish(block_facts(4, 2), vec![(creating, vec![]), (calling, tokens)]),
        finish(block_facts(5, 1), vec![(failing, vec![])]),
        finish(block_facts(6, 1), vec![(last, vec![transfer(5, 4, 1)])]),
    ];
    store.begin_at(6);
    made.iter().for_each(|block| store.extend(block).unwrap());
    let operation = |kind, from, to| Operation {
        kind,
        from: address(from),
        to: address(to),
        value: U256::from(1),
    };
    let operations = vec![
        operation(OperationKind::Call, 2, 6),
        operation(OperationKind::Create2, 2, 7),
        operation(OperationKind::SelfDestruct, 7, 1),
    ];
    let traced = vec![Traced::default(), Traced { failed: false, operations }];
    let failed = vec![Traced { failed: true, operations: vec![] }];
    let traced = [(4, hash(104), traced), (5, hash(105), failed)];
    assert_eq!(store.trace(&traced).unwrap(), 2);
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

#[test]
fn a_sound_index_has_no_faults() {
    let (_dir, store) = sound();
    let mut steps = Vec::new();
    let verdict = store.verify(|progress| steps.push(progress.step)).unwrap();
    assert_eq!((&verdict.faults, verdict.fault_count), (&Vec::new(), 0));
    assert_eq!((verdict.tip, verdict.from_height), (store.tip(), Some(3)));
    assert_eq!((verdict.blocks, verdict.transactions, verdict.logs), (4, 4, 3));
    assert_eq!((verdict.operations, verdict.untraced), (3, 1));
    steps.dedup();
    assert_eq!(steps, ["blocks", "rows"]);
}

#[test]
fn every_row_that_is_gone_is_told() {
    let (_dir, store) = sound();
    for (table, key, value) in rows(&store) {
        // That a block was not traced follows from nothing else, unless its calls are known.
        if table.0 == UNTRACED.0 {
            continue;
        }
        put(&store, table, &key, None);
        let verdict = audit(&store);
        let name = TABLES[table.0].name;
        // Logs that are gone are told of their transaction, by the table that lacks them.
        let told = verdict.faults.iter().any(|fault| fault.starts_with(name));
        let implied = table.0 == crate::account::schema::OPERATIONS_BY_PLACE.0;
        assert!(told || (implied && verdict.fault_count > 0), "{name}: {:?}", verdict.faults);
        put(&store, table, &key, Some(&value));
    }
    assert_eq!(audit(&store).fault_count, 0);
}

#[test]
fn every_row_too_many_is_told() {
    let (_dir, store) = sound();
    for (table, key, value) in rows(&store) {
        for place in 0..key.len() {
            let mut other = key.clone();
            other[place] ^= 0x40;
            put(&store, table, &other, Some(&value));
            let verdict = audit(&store);
            let name = TABLES[table.0].name;
            let told = verdict.faults.iter().any(|fault| fault.starts_with(name));
            assert!(told, "{name} {}: {:?}", const_hex::encode(&other), verdict.faults);
            put(&store, table, &other, None);
        }
    }
    assert_eq!(audit(&store).fault_count, 0);
}

#[test]
fn a_row_that_is_changed_is_told() {
    let (_dir, store) = sound();
    let derived = ["height_by_hash", "place_by_tx", "history_by_address", "creation_by_address"];
    for (table, key, value) in rows(&store) {
        let name = TABLES[table.0].name;
        let mut longer = value.clone();
        longer.push(1);
        let mut changes = vec![longer];
        // Of a block or a transaction not every byte follows from another row: the node is asked.
        if derived.contains(&name) || name == "meta" {
            for place in 0..value.len() {
                let mut other = value.clone();
                other[place] ^= 1;
                changes.push(other);
            }
        }
        for changed in changes {
            // What its maker wrote, and a call's data, have any length.
            if name == "block_by_height" || name == "tx_by_place" {
                continue;
            }
            put(&store, table, &key, Some(&changed));
            let verdict = audit(&store);
            let told = verdict.faults.iter().any(|fault| fault.starts_with(name));
            assert!(told, "{name} {}: {:?}", const_hex::encode(&key), verdict.faults);
        }
        put(&store, table, &key, Some(&value));
    }
    assert_eq!(audit(&store).fault_count, 0);
}
