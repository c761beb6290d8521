#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use chain::{Chain, Network};
use tempfile::TempDir;
use testkit::{Draft, Forge, key_hash_script};

use super::*;
use crate::Memory;

fn bch() -> (&'static Chain, &'static Network) {
    let chain = chain::find("bch").unwrap();
    (chain, chain.network("regtest").unwrap())
}

fn open(dir: &Path) -> Result<Store, IndexError> {
    let (chain, network) = bch();
    let key = HashKey::new(*b"sixteen bytes ok");
    Store::open_with_key(dir, chain, network, &Memory::new(8 << 20, 8 << 20), key)
}

fn blocks() -> Vec<Bytes> {
    let (chain, _) = bch();
    let mut forge = Forge::new(chain);
    let mut blocks = vec![testkit::genesis(chain).unwrap()];
    let mut coins = Vec::new();
    for height in 0..40 {
        let spent: Vec<_> = coins.drain(..coins.len() / 2).collect();
        let sweep = spent.into_iter().fold(Draft::new(), Draft::spend);
        let sweep = sweep.pay(5, &key_hash_script(height)).pay(6, &key_hash_script(1)).finish();
        let more: &[_] = if height > 2 { &[sweep] } else { &[] };
        let block = forge.mine(50, &key_hash_script(height % 5), more);
        coins.push(block.coinbase.output(0));
        coins.extend(more.iter().flat_map(|sweep| [sweep.output(0), sweep.output(1)]));
        blocks.push(block.raw);
    }
    blocks
}

fn options() -> LoadOptions {
    LoadOptions { table_bytes: 700, segment_bytes: 2000, run_bytes: 1000, threads: 2 }
}

/// A load that has everything in its folder.
fn loaded(store: &Store) -> Loader {
    let mut loader = Loader::open(store, options()).unwrap();
    for blocks in blocks()[loader.next_height() as usize..].chunks(4) {
        loader.push(blocks.to_vec()).unwrap();
    }
    loader.join_rest().unwrap();
    loader.close_segment().unwrap();
    loader
}

fn merged(store: &Store) -> Loader {
    let mut loader = loaded(store);
    let (height, hash, next_txnum) = (40, loader.last.unwrap(), loader.next_txnum);
    loader.merge(Tip { height, hash, next_txnum }).unwrap();
    loader
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

fn finish(dir: &Path) -> Result<Store, IndexError> {
    let mut store = open(dir)?;
    Loader::open(&store, options())?.finish(&mut store)?;
    Ok(store)
}

fn assert_right(store: &Store) {
    let dir = tempfile::tempdir().unwrap();
    let mut one_by_one = open(dir.path()).unwrap();
    let format = *one_by_one.format();
    for raw in blocks() {
        one_by_one.connect(&chain::utxo::Block::decode(&raw, &format).unwrap()).unwrap();
    }
    assert_eq!(store.same_rows(&one_by_one).unwrap(), None);
    assert!(!folder(&store.dir()).exists());
}

/// Folders of the index and of what a test keeps aside.
fn folders() -> (TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (index, kept) = (dir.path().join("index"), dir.path().join("kept"));
    (dir, index, kept)
}

#[test]
fn a_kill_before_or_after_the_merge_costs_the_merge_at_most() {
    let (_dir, index, _) = folders();
    for _ in 0..2 {
        let store = open(&index).unwrap();
        drop(loaded(&store));
    }
    assert!(Loader::was_begun(&open(&index).unwrap()));
    drop(merged(&open(&index).unwrap()));
    let store = open(&index).unwrap();
    assert!(Loader::open(&store, options()).unwrap().is_complete());
    drop(store);
    assert_right(&finish(&index).unwrap());
}

#[test]
fn a_kill_while_the_store_takes_the_files_is_made_good() {
    for (taken, back) in [(1, false), (1, true), (3, false), (3, true), (7, false), (7, true)] {
        let (_dir, index, kept) = folders();
        let store = open(&index).unwrap();
        let loader = merged(&store);
        copy(&loader.dir, &kept);
        for (table, files) in loader.manifest.finished(&loader.dir).into_iter().take(taken) {
            store.db().ingest(table, files).unwrap();
        }
        drop((loader, store));
        if back {
            // The kill came before the files that were taken left the folder.
            copy(&kept, &folder(&index));
        }
        assert_right(&finish(&index).unwrap());
    }
}

#[test]
fn what_is_left_beside_a_tip_is_cleared_and_rows_without_a_load_are_refused() {
    let (_dir, index, kept) = folders();
    let store = open(&index).unwrap();
    let loader = merged(&store);
    copy(&loader.dir, &kept);
    for (table, files) in loader.manifest.finished(&loader.dir) {
        store.db().ingest(table, files).unwrap();
    }
    drop(loader);
    std::fs::remove_dir_all(folder(&index)).unwrap();
    assert!(matches!(Loader::open(&store, options()), Err(IndexError::Read(_))));
    drop(store);
    copy(&kept, &folder(&index));
    drop(finish(&index).unwrap());
    copy(&kept, &folder(&index));
    let store = open(&index).unwrap();
    assert!(matches!(Loader::open(&store, options()), Err(IndexError::Read(_))));
    drop(store);
    assert_right(&open(&index).unwrap());
}

#[test]
fn damaged_files_are_errors() {
    let (_dir, index, kept) = folders();
    let store = open(&index).unwrap();
    let dir = loaded(&store).dir.clone();
    copy(&dir, &kept);
    drop(store);
    let mut seen = 0;
    for entry in std::fs::read_dir(&kept).unwrap() {
        let name = entry.unwrap().file_name();
        let whole = std::fs::read(kept.join(&name)).unwrap();
        if whole.is_empty() || !name.to_string_lossy().ends_with(".run") {
            continue;
        }
        let mut changed = whole.clone();
        changed[whole.len() / 2] ^= 0x10;
        for damaged in [&whole[..whole.len() - 1], &whole[..0], &changed] {
            copy(&kept, &dir);
            std::fs::write(dir.join(&name), damaged).unwrap();
            assert!(finish(&index).is_err(), "{name:?}");
            seen += 1;
        }
    }
    assert!(seen > 30);
    copy(&kept, &dir);
    assert_right(&finish(&index).unwrap());
}
