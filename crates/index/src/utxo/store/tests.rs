#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use bytes::Bytes;
use testkit::{Draft, Forge, key_hash_script};

use super::*;
use crate::Tier;
use crate::db::Table;
use crate::identity::META_IDENTITY;
use crate::utxo::View;
use crate::utxo::schema::{
    HEADER_BY_HEIGHT, HISTORY_BY_SCRIPT, META_HASH_KEY, TOTALS_BY_SCRIPT, TX_BY_NUM, TXNUM_BY_TXID,
    UNSPENT_BY_SCRIPT,
};

fn bch() -> (&'static Chain, &'static Network) {
    let chain = chain::find("bch").unwrap();
    (chain, chain.network("regtest").unwrap())
}

fn open(dir: &Path) -> Result<Store, IndexError> {
    let (chain, network) = bch();
    Store::open(dir, chain, network, &Memory::new(8 << 20, 8 << 20))
}

/// An output script behind a prefix that gives it 5 tokens and an empty one of a kind.
fn with_token(script: &[u8]) -> Vec<u8> {
    [&[0xef][..], &[7; 32], &[0x30, 5], script].concat()
}

/// A short chain that has rows of every kind, and the block that would follow.
fn rows_of_every_kind(dir: &Path) -> (Store, Bytes) {
    let mut store = open(dir).unwrap();
    let (chain, _) = bch();
    let format = *store.format();
    let mut forge = Forge::new(chain);
    let mut blocks = vec![testkit::genesis(chain).unwrap()];
    let (a, b) = (key_hash_script(1), key_hash_script(2));
    let first = forge.mine(100, &a, &[]);
    let fan = (0..25).fold(Draft::new().spend(first.coinbase.output(0)), |fan, _| fan.pay(4, &b));
    let fan = fan.pay(0, &with_token(&a)).pay(0, &[0x6a, 1, 9]).finish();
    let second = forge.mine(1, &[0x51], std::slice::from_ref(&fan));
    let all = (0..22).map(|vout| fan.output(vout)).fold(Draft::new(), Draft::spend);
    let all = all.pay(30, &a).finish();
    let third = forge.mine_with(first.coinbase.clone(), std::slice::from_ref(&all));
    let fourth = forge.mine_with(first.coinbase.clone(), &[]);
    let chained = Draft::new().spend(all.output(0)).spend(fan.output(25)).pay(9, &a).finish();
    let fifth = forge.mine(1, &a, &[chained]);
    blocks.extend([&first, &second, &third, &fourth, &fifth].map(|block| block.raw.clone()));
    for raw in blocks {
        store.connect(&Block::decode(&raw, &format).unwrap()).unwrap();
    }
    let last = Draft::new().spend(fan.output(22)).spend(first.coinbase.output(0)).pay(1, &a);
    (store, forge.mine(1, &b, &[last.finish()]).raw)
}

/// Reads all that there is, prepares to take the tip back and to connect the next block. Gives how
/// many of these went wrong.
fn use_all(store: &Store, next: &[u8]) -> usize {
    let view = View::of(store).unwrap();
    let mut wrong = 0;
    let mut count = |sound: bool| wrong += usize::from(!sound);
    let (mut txids, mut scripts) = (BTreeSet::new(), BTreeSet::new());
    for height in 0..=view.height() {
        let block = view.block(height, Tier::Any);
        count(matches!(block, Ok(Some(_))));
        let Ok(Some(block)) = block else { continue };
        count(view.block_height(&block.hash, Tier::Any) == Ok(Some(height)));
        let listed = view.block_transactions(&block, 0, 50);
        count(listed.is_ok());
        for one in listed.unwrap_or_default() {
            txids.insert(one.record.txid);
            scripts.extend(one.record.outputs.into_iter().map(|output| output.script));
        }
    }
    txids.iter().for_each(|txid| count(matches!(view.transaction(txid), Ok(Some(_)))));
    for script in scripts {
        count(view.address(&script, Tier::Any).is_ok());
        count(view.history(&script, 0, 50).is_ok());
        count(view.unspent(&script, 1000).is_ok());
    }
    count(prepare(store, next).is_ok());
    wrong
}

fn prepare(store: &Store, next: &[u8]) -> Result<(), IndexError> {
    let tip = store.tip().unwrap();
    let row = store.block(tip.height)?.ok_or_else(|| IndexError::damaged("gone"))?;
    let connect = |height, first_txnum| Connect {
        reader: store.db.latest(),
        rules: store.rules(),
        height,
        first_txnum,
        voids: None,
    };
    let block = Block::decode(next, store.format()).unwrap();
    let forward = connect(tip.height + 1, tip.next_txnum);
    let forward = forward.block(&block, &mut Batch::new(&store.db));
    let back = connect(tip.height, row.first_txnum);
    let back = back.take_back(&row, None, &mut Batch::new(&store.db));
    forward.map(drop).and(back.map(drop))
}

fn put(store: &Store, table: Table, key: &[u8], value: Option<&[u8]>) {
    let mut batch = Batch::new(&store.db);
    match value {
        Some(value) => batch.put(table, key, value),
        None => batch.delete(table, key),
    }
    store.db.commit(batch).unwrap();
}

fn rows(store: &Store) -> Vec<(Table, Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    for (table, _) in store.db.tables() {
        let visit = |key: &[u8], value: &[u8]| {
            all.push((table, key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        };
        store.db.latest().scan_all(table, visit).unwrap();
    }
    all
}

#[test]
fn damaged_rows_are_errors_and_never_panics() {
    let dir = tempfile::tempdir().unwrap();
    let (store, next) = rows_of_every_kind(dir.path());
    assert_eq!(use_all(&store, &next), 0);
    for (table, key, value) in rows(&store).into_iter().filter(|row| row.0 != META) {
        let damage = |value: Option<&[u8]>| {
            put(&store, table, &key, value);
            use_all(&store, &next)
        };
        for place in 0..value.len() {
            let mut flipped = value.clone();
            flipped[place] ^= [0x01, 0xff, 0x80, 0x7f][place % 4];
            damage(Some(&flipped));
        }
        let longer = [&value[..], &[1]].concat();
        let shorter = value.split_last().map(|(_, shorter)| shorter);
        let seen = [Some(&longer[..]), shorter].map(|value| value.is_none() || damage(value) > 0);
        // A row of one coinbase output that has no address is never listed; values of these keys
        // are not looked at.
        let told = table == TXNUM_BY_TXID || seen == [true, true];
        assert!(told, "{} {key:x?} {seen:?}", TABLES[table.0].name);
        let gone = damage(None);
        // Without a row of its totals a script is as if nobody had used it, and one unspent
        // output less is found by the audit only.
        let silent = [TOTALS_BY_SCRIPT, UNSPENT_BY_SCRIPT, TXNUM_BY_TXID].contains(&table);
        assert!(gone > 0 || silent, "{} {key:x?}", TABLES[table.0].name);
        put(&store, table, &key, Some(&value));
        assert_eq!(use_all(&store, &next), 0);
    }
    let kinds: BTreeSet<Table> = rows(&store).into_iter().map(|row| row.0).collect();
    assert!(kinds.contains(&HISTORY_BY_SCRIPT) && kinds.contains(&TX_BY_NUM));
}

#[test]
fn a_damaged_store_is_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = rows_of_every_kind(dir.path());
    let (all, tip) = (rows(&store), store.tip());
    drop(store);
    let (chain, network) = bch();
    // A store that is opened by its tables alone can be damaged between two openings.
    let raw = || Arc::new(Db::open(dir.path(), &TABLES, &Memory::new(8 << 20, 8 << 20)).unwrap());
    let change = |table: Table, key: &[u8], value: Option<&[u8]>| {
        let db = raw();
        let mut batch = Batch::new(&db);
        match value {
            Some(value) => batch.put(table, key, value),
            None => batch.delete(table, key),
        }
        db.commit(batch).unwrap();
    };
    for (table, key, value) in all {
        if table != META && table != HEADER_BY_HEIGHT {
            continue;
        }
        let mut damaged = vec![Some([&value[..], &[1]].concat())];
        damaged.push(value.split_last().map(|(_, shorter)| shorter.to_vec()));
        // Without tip or identity the store is one that has just begun.
        damaged.extend((table == HEADER_BY_HEIGHT || key == META_HASH_KEY).then_some(None));
        for value in &damaged {
            change(table, &key, value.as_deref());
            let refusal = open(dir.path()).err();
            let told = refusal.as_ref().map(ToString::to_string).unwrap_or_default();
            assert!(told.contains("damaged"), "{key:x?} {value:x?}: {refusal:?}");
        }
        change(table, &key, Some(&value));
    }
    let mut identity = Identity::new(chain, network);
    identity.format += 1;
    change(META, META_IDENTITY, Some(&serde_json::to_vec(&identity).unwrap()));
    let refusal = open(dir.path()).err().unwrap();
    assert!(matches!(refusal, IndexError::OtherFormat { found: 3, wanted: 2, .. }));
    assert!(refusal.to_string().contains("`portolan index rebuild`"), "{refusal}");
    identity.format -= 1;
    identity.genesis = None;
    change(META, META_IDENTITY, Some(&serde_json::to_vec(&identity).unwrap()));
    assert!(matches!(open(dir.path()).err(), Some(IndexError::Stranger { .. })));
    change(META, META_IDENTITY, Some(b"{}"));
    assert!(open(dir.path()).err().unwrap().to_string().contains("damaged"));
    change(META, META_IDENTITY, Some(&serde_json::to_vec(&Identity::new(chain, network)).unwrap()));
    assert_eq!(open(dir.path()).unwrap().tip(), tip);
}

#[test]
fn an_index_of_the_first_format_is_refused_and_stays_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let (chain, network) = bch();
    // The first format had the first eight tables.
    let tables = || Db::open(dir.path(), &TABLES[..8], &Memory::new(8 << 20, 8 << 20)).unwrap();
    let mut identity = Identity::new(chain, network);
    identity.format = 1;
    let db = tables();
    let mut batch = Batch::new(&db);
    batch.put(META, META_IDENTITY, &serde_json::to_vec(&identity).unwrap());
    db.commit(batch).unwrap();
    drop(db);
    let memory = Memory::new(8 << 20, 8 << 20);
    for refusal in [
        open(dir.path()).err().unwrap(),
        Store::open_read_only(dir.path(), chain, network, &memory).err().unwrap(),
    ] {
        assert!(matches!(refusal, IndexError::OtherFormat { found: 1, wanted: 2, .. }));
        assert!(refusal.to_string().contains("`portolan index rebuild`"), "{refusal}");
    }
    assert_eq!(Store::identity(dir.path()).unwrap(), Some(identity));
    drop(tables());
}

#[test]
fn ids_that_begin_alike_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let (store, next) = rows_of_every_kind(dir.path());
    let all = rows(&store);
    let ids = all.iter().filter(|row| row.0 == TXNUM_BY_TXID).map(|row| row.1.clone());
    let ids: Vec<Vec<u8>> = ids.collect();
    let before = View::of(&store).unwrap();
    // Every id's list also names every transaction, as if all ids began alike, and one that is
    // not there.
    let next_txnum = store.tip().unwrap().next_txnum;
    for key in &ids {
        for txnum in 0..=next_txnum {
            put(&store, TXNUM_BY_TXID, &[&key[..6], &crate::row::u40(txnum)].concat(), Some(&[]));
        }
    }
    assert_eq!(use_all(&store, &next), 0);
    let after = View::of(&store).unwrap();
    for height in 0..=after.height() {
        let block = after.block(height, Tier::Any).unwrap().unwrap();
        for one in after.block_transactions(&block, 0, 50).unwrap() {
            let txid = one.record.txid;
            assert_eq!(after.transaction(&txid), before.transaction(&txid));
        }
    }
}
