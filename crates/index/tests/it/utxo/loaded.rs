//! The first load gives the rows that block by block gives.

use bytes::Bytes;
use index::IndexError;
use index::utxo::{LoadOptions, Loader, Store};
use replay::Phase;
use testkit::{Draft, Forge, Recording, key_hash_script};

use crate::utxo::rig::{Rig, assert_same, chain};

/// A table that holds nearly nothing, segments and runs of a few blocks.
fn tight(coins: usize) -> LoadOptions {
    LoadOptions { table_bytes: coins * 64, segment_bytes: 20_000, run_bytes: 2000, threads: 2 }
}

fn pushed(rig: &Rig, options: &LoadOptions, raw: &[Vec<u8>], batch: usize) -> Loader {
    let mut loader = Loader::open(&rig.store, options.clone()).unwrap();
    let from = loader.next_height() as usize;
    for blocks in raw[from..].chunks(batch) {
        loader.push(blocks.iter().cloned().map(Bytes::from).collect()).unwrap();
    }
    loader
}

/// Loads the blocks in each of several ways and holds the rows against those of one by one.
fn assert_loaded(slug: &str, raw: &[Vec<u8>]) {
    let mut one_by_one = Rig::new(slug);
    one_by_one.connect_all(raw);
    let rows = one_by_one.dump();
    for (options, batch) in [
        (LoadOptions::default(), 1000),
        (LoadOptions { table_bytes: 64 << 20, ..LoadOptions::default() }, 50),
        (tight(1), 7),
        (tight(40), 1),
        (LoadOptions { segment_bytes: 1, ..tight(10) }, 16),
    ] {
        let mut rig = Rig::new(slug);
        let tip = pushed(&rig, &options, raw, batch).finish(&mut rig.store).unwrap();
        assert_eq!(Some(tip), one_by_one.store.tip());
        assert_same(&rig.dump(), &rows);
        assert!(!Loader::was_begun(&rig.store));
        // What was loaded is taken back and connected like anything else.
        for _ in 0..5 {
            rig.disconnect();
        }
        rig.connect_all(&raw[raw.len() - 5..]);
        assert_same(&rig.dump(), &rows);
    }
}

#[test]
fn every_recording() {
    for slug in ["btc", "ltc", "doge", "bch", "xec", "zec", "dcr"] {
        assert_loaded(slug, &Recording::of(slug, Phase::B).raw);
    }
}

/// Any chain: `LOAD_CHAIN` names a file of the blocks after genesis as in `benches/load.rs`.
#[test]
fn a_file_of_blocks() {
    let Some(path) = std::env::var_os("LOAD_CHAIN") else { return };
    let file = std::fs::read(path).unwrap();
    let mut rest = &file[..];
    let mut raw = vec![testkit::genesis(chain("btc")).unwrap().to_vec()];
    while let Some((length, after)) = rest.split_first_chunk() {
        let (block, after) = after.split_at(u32::from_le_bytes(*length) as usize);
        raw.push(block.to_vec());
        rest = after;
    }
    assert_loaded("btc", &raw);
}

/// Twins, children before their parents, many inputs, a whale.
fn forged() -> Vec<Vec<u8>> {
    let mut forge = Forge::new(chain("btc"));
    let twin = || {
        let coinbase = Draft::new().spend_with(chain::utxo::OutPoint::NULL, b"twin", 0, &[]);
        coinbase.pay(5, &key_hash_script(1)).pay(7, &key_hash_script(2)).finish()
    };
    let mut raw = vec![testkit::genesis(chain("btc")).unwrap().to_vec()];
    let mut mine = |block: testkit::ForgedBlock| raw.push(block.raw.to_vec());
    mine(forge.mine_with(twin(), &[]));
    mine(forge.mine_with(twin(), &[]));
    let spend = Draft::new().spend(twin().output(0)).pay(5, &key_hash_script(3)).finish();
    mine(forge.mine(9, &key_hash_script(4), &[spend]));
    mine(forge.mine_with(twin(), &[]));
    // Twins whose children are twins too, before their parents, with much between them.
    let parent = Draft::new().spend_with(chain::utxo::OutPoint::NULL, b"two", 0, &[]);
    let parent = parent.pay(9, &key_hash_script(5)).pay(6, &key_hash_script(6)).finish();
    let child = Draft::new().spend(parent.output(0)).pay(4, &key_hash_script(6));
    let child = child.pay(5, &key_hash_script(5)).finish();
    let grandchild = Draft::new().spend(child.output(0)).spend(parent.output(1));
    let grandchild = grandchild.pay(9, &key_hash_script(5)).pay(1, &key_hash_script(8)).finish();
    let mut coins = Vec::new();
    for height in 0..60u64 {
        if height % 11 == 5 {
            let family = [grandchild.clone(), child.clone()];
            mine(forge.mine_with(parent.clone(), &family));
        }
        if height == 24 {
            let spend = Draft::new().spend(grandchild.output(1)).spend(child.output(1));
            mine(forge.mine(2, &key_hash_script(7), &[spend.pay(6, &key_hash_script(8)).finish()]));
        }
        if height == 30 {
            mine(forge.mine_with(twin(), &[]));
        }
        let paid = forge.mine(1000, &key_hash_script(9), &[]);
        let mut fan = Draft::new().spend(paid.coinbase.output(0));
        for place in 0..40 {
            fan = fan.pay(20 + place, &key_hash_script(if place % 3 == 0 { 9 } else { height }));
        }
        let fan = fan.pay(0, &[0x6a, 1, 2]).finish();
        mine(paid);
        let parent = Draft::new().spend(fan.output(0)).pay(10, &key_hash_script(9)).finish();
        let child = Draft::new().spend(parent.output(0)).pay(9, &key_hash_script(height)).finish();
        coins.extend((1..40).map(|vout| fan.output(vout)));
        let mut sweep = Draft::new();
        for coin in coins.drain(..coins.len().min(25)) {
            sweep = sweep.spend(coin);
        }
        let sweep = sweep.pay(100, &key_hash_script(9)).finish();
        mine(forge.mine(3, &key_hash_script(7), &[child, parent, sweep, fan]));
    }
    raw
}

#[test]
fn a_forged_chain() {
    assert_loaded("btc", &forged());
}

#[test]
fn a_load_that_was_cut_off_goes_on() {
    let raw = forged();
    let mut one_by_one = Rig::new("btc");
    one_by_one.connect_all(&raw);
    let options = tight(30);
    let mut rig = Rig::new("btc");
    let mut from = 0;
    for cut in [10, 30, 31, 70, raw.len()] {
        let loader = pushed(&rig, &options, &raw[..cut], 3);
        assert!(loader.next_height() >= from, "a kill costs at most one segment");
        from = loader.next_height().saturating_sub(10);
        drop(loader);
        assert!(Loader::was_begun(&rig.store) || cut == 10);
        // What a kill leaves half written is cleared away.
        let folder = rig.dir.path().with_extension("load");
        if folder.exists() {
            std::fs::write(folder.join("events-99.run"), b"half").unwrap();
        }
    }
    let loader = pushed(&rig, &options, &raw, 3);
    loader.finish(&mut rig.store).unwrap();
    assert_same(&rig.dump(), &one_by_one.dump());
}

#[test]
fn a_load_that_is_cut_off_where_votes_decide_goes_on() {
    let raw = Recording::of("dcr", Phase::A).raw;
    let mut one_by_one = Rig::new("dcr");
    one_by_one.connect_all(&raw);
    let options = LoadOptions { segment_bytes: 1, ..tight(10) };
    let mut rig = Rig::new("dcr");
    for cut in [163, 164, 165, 166, 173, 174, 175, 184, 185, 186, 262] {
        let mut loader = pushed(&rig, &options, &raw[..cut], 1);
        loader.join_pushed().unwrap();
        loader.checkpoint().unwrap();
        assert_eq!(loader.next_height() as usize, cut);
    }
    pushed(&rig, &options, &raw, 1).finish(&mut rig.store).unwrap();
    assert_same(&rig.dump(), &one_by_one.dump());
}

#[test]
fn a_load_begins_again_where_other_votes_follow_than_before() {
    let (a, b) = (Recording::of("dcr", Phase::A).raw, Recording::of("dcr", Phase::B).raw);
    let mut one_by_one = Rig::new("dcr");
    one_by_one.connect_all(&b);
    let options = LoadOptions { segment_bytes: 1, ..LoadOptions::default() };
    let mut rig = Rig::new("dcr");
    // Block 259 stands by the votes of one block 260, and is voided by those of the other.
    pushed(&rig, &options, &a[..261], 1).checkpoint().unwrap();
    let mut loader = Loader::open(&rig.store, options.clone()).unwrap();
    assert_eq!(loader.next_height(), 260);
    loader.push(vec![Bytes::from(b[260].clone())]).unwrap();
    let refused = loader.join_pushed();
    assert!(
        refused.as_ref().is_err_and(|it| it.to_string().contains("begins again")),
        "{refused:?}"
    );
    assert!(!loader.is_sound());
    drop(loader);
    let loader = pushed(&rig, &options, &b, 20);
    loader.finish(&mut rig.store).unwrap();
    assert_same(&rig.dump(), &one_by_one.dump());
}

#[test]
fn a_block_that_spends_what_is_not_there_changes_nothing_and_the_load_goes_on() {
    let raw = forged();
    let rig = Rig::new("btc");
    let mut loader = pushed(&rig, &LoadOptions::default(), &raw[..20], 20);
    let mut forge = Forge::new(chain("btc"));
    let nothing = chain::utxo::OutPoint { txid: chain::Hash32::ZERO, vout: 0 };
    let theft = Draft::new().spend(nothing).pay(1, &key_hash_script(1)).finish();
    let stolen = forge.mine(1, &key_hash_script(1), &[theft]).raw.to_vec();
    let previous = chain::utxo::Block::decode(&raw[19], rig.store.format()).unwrap().header.hash;
    let stolen = [&stolen[..4], previous.wire(), &stolen[36..]].concat();
    loader.push(vec![Bytes::from(stolen)]).unwrap();
    assert_eq!(loader.next_height(), 21);
    for checkpoint in [false, true] {
        let bad = match checkpoint {
            false => loader.push(vec![Bytes::from(raw[21].clone())]),
            true => loader.checkpoint(),
        };
        match checkpoint {
            false => assert!(matches!(bad, Err(IndexError::Block { height: 20, .. })), "{bad:?}"),
            true => bad.unwrap(),
        }
        assert!(loader.is_sound());
        assert_eq!(loader.next_height(), 20);
    }
    drop(loader);
    // It was the point from which a load goes on that was cut off.
    let mut loader = Loader::open(&rig.store, LoadOptions::default()).unwrap();
    assert_eq!(loader.next_height(), 20);
    loader.push(raw[20..].iter().cloned().map(Bytes::from).collect()).unwrap();
    let mut one_by_one = Rig::new("btc");
    one_by_one.connect_all(&raw);
    let mut rig = rig;
    loader.finish(&mut rig.store).unwrap();
    assert_same(&rig.dump(), &one_by_one.dump());
}

#[test]
fn a_load_without_room_writes_nothing_more_and_goes_on_once_there_is_some() {
    let raw = forged();
    let mut one_by_one = Rig::new("btc");
    one_by_one.connect_all(&raw);
    for options in [tight(30), LoadOptions::default()] {
        let mut rig = Rig::new("btc");
        let mut loader = pushed(&rig, &options, &raw[..40], 3);
        for blocks in raw[40..].chunks(7) {
            let blocks: Vec<Bytes> = blocks.iter().cloned().map(Bytes::from).collect();
            let height = loader.next_height();
            loader.keep_free(u64::MAX);
            for _ in 0..3 {
                let full = loader.push(blocks.clone());
                assert!(matches!(full, Err(IndexError::NoRoom { .. })), "{full:?}");
                assert!(loader.is_sound());
                assert_eq!(loader.next_height(), height);
            }
            // What it knows can be kept all the same: that is what the room is for.
            if height.is_multiple_of(3) {
                loader.checkpoint().unwrap();
                assert!(Loader::was_begun(&rig.store));
            }
            loader.keep_free(1);
            loader.push(blocks).unwrap();
        }
        loader.keep_free(u64::MAX);
        loader.checkpoint().unwrap();
        let full = loader.finish(&mut rig.store);
        assert!(matches!(full, Err(IndexError::NoRoom { .. })), "{full:?}");
        let loader = Loader::open(&rig.store, options).unwrap();
        assert_eq!(loader.next_height() as usize, raw.len());
        loader.finish(&mut rig.store).unwrap();
        assert_same(&rig.dump(), &one_by_one.dump());
    }
}

#[test]
fn bad_blocks_are_told_and_nothing_is_lost() {
    let raw = forged();
    let rig = Rig::new("btc");
    let mut loader = pushed(&rig, &LoadOptions::default(), &raw[..20], 20);
    let not_next = loader.push(vec![Bytes::from(raw[30].clone())]);
    assert!(matches!(not_next, Err(IndexError::NotNext { .. })));
    let bad = loader.push(vec![Bytes::from(raw[20][..90].to_vec())]);
    assert!(matches!(bad, Err(IndexError::Block { height: 20, .. })), "{bad:?}");
    let mut other = raw[20].clone();
    let last = other.len() - 1;
    other[last] ^= 1;
    assert!(matches!(
        loader.push(vec![Bytes::from(other)]),
        Err(IndexError::Block { height: 20, .. })
    ));
    loader.push(vec![Bytes::from(raw[20].clone())]).unwrap();
    assert_eq!(loader.next_height(), 21);
    let mut store: Store = rig.store;
    assert_eq!(loader.finish(&mut store).unwrap().height, 20);
}
