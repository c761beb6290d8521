//! Two transactions with one id (BIP 30), decision U5.

use chain::Hash32;
use testkit::{Draft, Forge, ForgedTransaction, key_hash_script};

use crate::utxo::rig::{Rig, assert_same, chain};

fn coinbase() -> Draft {
    Draft::new().spend_with(chain::utxo::OutPoint::NULL, b"twin", 0, &[])
}

fn a() -> Vec<u8> {
    key_hash_script(0xa)
}

fn b() -> Vec<u8> {
    key_hash_script(0xb)
}

fn miner() -> Vec<u8> {
    key_hash_script(0xf)
}

/// Two outputs that pay `a`, one of them nothing, one that pays `b`, one that nobody can spend.
fn twin() -> ForgedTransaction {
    coinbase().pay(5, &a()).pay(7, &b()).pay(0, &a()).pay(3, &[0x6a]).finish()
}

#[test]
fn the_later_one_replaces_what_is_unspent() {
    let (mut rig, mut forge, twin) = (Rig::forged("btc"), Forge::new(chain("btc")), twin());
    let id = twin.txid;
    for height in 1..=3 {
        rig.connect_proved(&forge.mine_with(twin.clone(), &[]).raw);
        assert_eq!(rig.totals(&a()), Some((5, 0, height.into(), 2)));
        assert_eq!(rig.totals(&b()), Some((7, 0, height.into(), 1)));
        assert_eq!(rig.list(&a()), [(id, 0, 5, height), (id, 2, 0, height)]);
        assert_eq!(rig.list(&b()), [(id, 1, 7, height)]);
        assert_eq!(rig.unspent(), (3, 12));
        let all: Vec<(Hash32, u32)> = (1..=height).rev().map(|height| (id, height)).collect();
        assert_eq!(rig.history(&a(), 1), all);
        assert_eq!(rig.history(&b(), 25), all);
        let shown = rig.transaction(&id).unwrap();
        assert_eq!(crate::utxo::rig::height(&shown), height);
        for height in 1..=height {
            let view = rig.view();
            let block = view.block(height, index::Tier::Any).unwrap().unwrap();
            assert_eq!(view.block_transactions(&block, 0, 9).unwrap()[0].record.txid, id);
        }
    }
}

#[test]
fn an_output_that_was_spent_is_made_anew() {
    let (mut rig, mut forge, twin) = (Rig::forged("btc"), Forge::new(chain("btc")), twin());
    let id = twin.txid;
    rig.connect_proved(&forge.mine_with(twin.clone(), &[]).raw);
    let first = Draft::new().spend(twin.output(0)).pay(4, &b()).finish();
    rig.connect_proved(&forge.mine(1, &miner(), std::slice::from_ref(&first)).raw);
    assert_eq!(rig.totals(&a()), Some((5, 5, 2, 1)));
    rig.connect_proved(&forge.mine_with(twin.clone(), &[]).raw);
    assert_eq!(rig.totals(&a()), Some((10, 5, 3, 2)));
    assert_eq!(rig.totals(&b()), Some((11, 0, 3, 2)));
    assert_eq!(rig.list(&a()), [(id, 0, 5, 3), (id, 2, 0, 3)]);
    assert_eq!(rig.list(&b()), [(id, 1, 7, 3), (first.txid, 0, 4, 2)]);
    assert_eq!(rig.history(&a(), 2), [(id, 3), (first.txid, 2), (id, 1)]);
    let second = Draft::new().spend(twin.output(0)).spend(twin.output(1)).spend(twin.output(2));
    let second = second.pay(12, &miner()).finish();
    rig.connect_proved(&forge.mine(1, &miner(), std::slice::from_ref(&second)).raw);
    assert_eq!(rig.totals(&a()), Some((10, 10, 4, 0)));
    assert_eq!(rig.totals(&b()), Some((11, 7, 4, 1)));
    assert_eq!(rig.transaction(&second.txid).unwrap().record.fee, Some(0));
    // All spent: the third one makes all anew.
    rig.connect_proved(&forge.mine_with(twin, &[]).raw);
    assert_eq!(rig.totals(&a()), Some((15, 10, 5, 2)));
    assert_eq!(rig.list(&b()), [(id, 1, 7, 5), (first.txid, 0, 4, 2)]);
}

#[test]
fn a_spend_in_the_twins_own_block_takes_the_new_output() {
    let (mut rig, mut forge, twin) = (Rig::forged("btc"), Forge::new(chain("btc")), twin());
    rig.connect_proved(&forge.mine_with(twin.clone(), &[]).raw);
    let spend = Draft::new().spend(twin.output(1)).spend(twin.output(0)).pay(12, &a()).finish();
    rig.connect_proved(&forge.mine_with(twin.clone(), std::slice::from_ref(&spend)).raw);
    assert_eq!(rig.totals(&a()), Some((17, 5, 3, 2)));
    assert_eq!(rig.totals(&b()), Some((7, 7, 3, 0)));
    assert_eq!(rig.list(&a()), [(spend.txid, 0, 12, 2), (twin.txid, 2, 0, 2)]);
    assert_eq!(rig.history(&b(), 3), [(spend.txid, 2), (twin.txid, 2), (twin.txid, 1)]);
}

#[test]
fn children_of_twins_are_twins_too() {
    let (mut rig, mut forge) = (Rig::forged("btc"), Forge::new(chain("btc")));
    let parent = coinbase().pay(9, &a()).finish();
    let child = Draft::new().spend(parent.output(0)).pay(4, &b()).pay(5, &b()).finish();
    rig.connect_proved(&forge.mine_with(parent.clone(), std::slice::from_ref(&child)).raw);
    let half = Draft::new().spend(child.output(1)).pay(5, &miner()).finish();
    rig.connect_proved(&forge.mine(0, &miner(), &[half]).raw);
    rig.connect_proved(&forge.mine_with(parent.clone(), std::slice::from_ref(&child)).raw);
    assert_eq!(rig.totals(&a()), Some((18, 18, 4, 0)));
    assert_eq!(rig.totals(&b()), Some((14, 5, 3, 2)));
    assert_eq!(rig.list(&b()), [(child.txid, 1, 5, 3), (child.txid, 0, 4, 3)]);
}

#[test]
fn another_branch_without_the_twin_is_as_if_it_never_was() {
    let (mut rig, mut forge, twin) = (Rig::forged("btc"), Forge::new(chain("btc")), twin());
    rig.connect(&forge.mine_with(twin.clone(), &[]).raw);
    let mut other = forge.branch(1);
    for _ in 0..3 {
        rig.connect(&forge.mine_with(twin.clone(), &[]).raw);
    }
    rig.cut(1);
    let spend = Draft::new().spend(twin.output(1)).pay(7, &a()).finish();
    let block = other.mine(2, &miner(), &[spend]);
    rig.connect(&block.raw);
    let mut fresh = Rig::forged("btc");
    fresh.connect(&Forge::new(chain("btc")).mine_with(twin, &[]).raw);
    fresh.connect(&block.raw);
    assert_same(&rig.dump(), &fresh.dump());
}
