#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use bytes::Bytes;
use tempfile::TempDir;

use super::*;
use crate::Memory;
use crate::db::Batch;
use crate::identity::META;
use crate::ring::RawBlock;
use crate::ring::schema::{
    BLOCK_BY_HEIGHT, HEIGHT_BY_HASH, OUTPUT_BY_AMOUNT, OUTPUT_BY_INDEX, OUTPUTS_OF_AMOUNT,
    TX_BY_NUM, TXNUM_BY_HASH, TXNUM_BY_IMAGE,
};

/// A recorded node, and what talks to it.
async fn node() -> (replay::Replay, Arc<::node::Pool>, Arc<::node::Node>) {
    let replay = replay::Replay::start("xmr", replay::ReplayOptions::default()).await.unwrap();
    let chain = chain::find("xmr").unwrap();
    let network = chain.network("regtest").unwrap();
    let nodes = vec![::node::NodeConfig::new(replay.url())];
    let config = ::node::PoolConfig { nodes, ..::node::PoolConfig::default() };
    let pool = ::node::Pool::new(chain, network, config).unwrap();
    pool.start();
    pool.probed().await;
    let node = pool.pick(&::node::Tried::new()).unwrap();
    (replay, pool, node)
}

/// The first blocks that a recorded node has, with some that spend.
async fn sound(node: &Arc<::node::Node>) -> (TempDir, Store) {
    let (chain, network) = (node.chain(), node.network());
    let genesis: chain::ring::Hash = network.genesis.unwrap().parse().unwrap();
    let span = node.raw_span(&genesis.0, 0).await.unwrap().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let memory = Memory::new(8 << 20, 8 << 20);
    let mut store = Store::open(dir.path(), chain, network, &memory).unwrap();
    for block in span.blocks.into_iter().take(140) {
        let (block, transactions): (Bytes, Vec<Bytes>) = (block.block, block.transactions);
        store.connect(&RawBlock { block, transactions, ..RawBlock::default() }).unwrap();
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

/// The last row of a table.
fn last(store: &Store, table: Table) -> (Vec<u8>, Vec<u8>) {
    let mut rows = store.db().latest().rows(table);
    let mut last = None;
    while let Some((key, value)) = rows.here().unwrap() {
        last = Some((key.to_vec(), value.to_vec()));
        rows.step();
    }
    last.unwrap()
}

fn faults(store: &Store) -> Vec<String> {
    store.verify(|_| {}).unwrap().faults
}

#[tokio::test(flavor = "multi_thread")]
async fn each_row_that_is_spoilt_gone_or_too_much_is_named() {
    let (_replay, pool, node) = node().await;
    let (_dir, store) = sound(&node).await;
    pool.stop();
    assert_eq!(faults(&store), Vec::<String>::new());
    let tables = [
        BLOCK_BY_HEIGHT,
        HEIGHT_BY_HASH,
        TXNUM_BY_HASH,
        TX_BY_NUM,
        OUTPUT_BY_INDEX,
        OUTPUT_BY_AMOUNT,
        OUTPUTS_OF_AMOUNT,
        TXNUM_BY_IMAGE,
    ];
    for table in tables {
        let (key, value) = last(&store, table);
        let name = name_of(table);
        put(&store, table, &key, None);
        assert!(faults(&store).iter().any(|fault| fault.starts_with(name)), "{name} gone");
        if !value.is_empty() {
            // The hash of a transaction, a key, a place: each by one bit.
            for place in [0, value.len() - 1] {
                let mut spoilt = value.clone();
                spoilt[place] ^= 1;
                put(&store, table, &key, Some(&spoilt));
                assert_ne!(faults(&store), Vec::<String>::new(), "{name} at {place}");
            }
        }
        put(&store, table, &key, Some(&value));
        let mut more = key.clone();
        more[0] ^= 0x40;
        put(&store, table, &more, Some(&value));
        assert_ne!(faults(&store), Vec::<String>::new(), "{name} too much");
        put(&store, table, &more, None);
        assert_eq!(faults(&store), Vec::<String>::new(), "{name}");
    }
    put(&store, META, b"what", Some(b"ever"));
    assert_eq!(faults(&store).len(), 1);
}

/// The body of a transaction without its proofs has no hash: only the node can tell.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_spoilt_is_found_by_reading_its_block_again() {
    let (_replay, pool, node) = node().await;
    let (_dir, store) = sound(&node).await;
    let (key, value) = last(&store, TX_BY_NUM);
    let mut spoilt = value.clone();
    // A byte of what the hash of its block does not cover.
    *spoilt.last_mut().unwrap() ^= 1;
    put(&store, TX_BY_NUM, &key, Some(&spoilt));
    let again = store.read_again(&node, |_| {}).await.unwrap();
    assert_eq!((again.fault_count, again.blocks), (1, 140), "{:?}", again.faults);
    assert!(
        again.faults[0].contains("the record of") && again.faults[0].starts_with("block 139: ")
    );
    put(&store, TX_BY_NUM, &key, Some(&value));
    let again = store.read_again(&node, |_| {}).await.unwrap();
    assert_eq!((again.faults, again.not_compared), (Vec::<String>::new(), 0));
    pool.stop();
}
