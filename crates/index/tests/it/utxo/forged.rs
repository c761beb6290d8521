//! Blocks that no miner would make, and boundaries of the layout.

use chain::Hash32;
use chain::utxo::OutPoint;
use index::utxo::Inclusion;
use index::{IndexError, Tier};
use testkit::{Draft, Forge, ForgedBlock, ForgedTransaction, key_hash_script};

use crate::utxo::rig::{Rig, assert_same, chain};

fn scripts() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    (key_hash_script(1), key_hash_script(2), key_hash_script(0xf))
}

/// Many outputs of one value to one script.
fn fan(count: usize, value: u64, script: &[u8], from: OutPoint) -> ForgedTransaction {
    (0..count).fold(Draft::new().spend(from), |draft, _| draft.pay(value, script)).finish()
}

fn start(slug: &str) -> (Rig, Forge, ForgedBlock) {
    let (mut rig, mut forge) = (Rig::forged(slug), Forge::new(chain(slug)));
    let first = forge.mine(1000, &key_hash_script(0xf), &[]);
    rig.connect(&first.raw);
    (rig, forge, first)
}

#[test]
fn children_stand_before_their_parents() {
    for slug in ["bch", "xec"] {
        let (mut rig, mut forge, first) = start(slug);
        let (a, b, miner) = scripts();
        let parent = fan(30, 10, &a, first.coinbase.output(0));
        let all = (0..25).map(|vout| parent.output(vout));
        let child = all.fold(Draft::new(), Draft::spend).pay(100, &b).pay(150, &a).finish();
        let grandchild = Draft::new().spend(child.output(1)).spend(parent.output(29)).pay(7, &b);
        let grandchild = grandchild.finish();
        let order = [grandchild.clone(), child.clone(), parent.clone()];
        rig.connect_proved(&forge.mine(3, &miner, &order).raw);
        assert_eq!(rig.totals(&a), Some((450, 410, 3, 4)));
        assert_eq!(rig.totals(&b), Some((107, 0, 2, 2)));
        assert_eq!(rig.history(&a, 2), [(parent.txid, 2), (child.txid, 2), (grandchild.txid, 2)]);
        let shown = rig.transaction(&grandchild.txid).unwrap();
        assert_eq!(shown.record.fee, Some(153));
        assert_eq!(shown.inputs[0].txid, Some(child.txid));
        assert_eq!(shown.inputs[0].spent.as_ref().unwrap().value, 150);
        assert_eq!(rig.transaction(&child.txid).unwrap().record.fee, Some(0));
        assert_eq!(rig.transaction(&parent.txid).unwrap().record.fee, Some(700));
        let view = rig.view();
        let block = view.block(2, Tier::Any).unwrap().unwrap();
        let listed = view.block_transactions(&block, 1, 2).unwrap();
        assert_eq!(listed[1].inputs.len(), 25);
        assert!(listed[1].inputs.iter().all(|i| i.txid == Some(parent.txid) && i.spent.is_some()));
    }
}

#[test]
fn sums_go_beyond_64_bits_and_zeros_count() {
    const MOST: u64 = i64::MAX as u64;
    let (mut rig, mut forge, _) = start("doge");
    let (a, b, miner) = scripts();
    let mut made = Vec::new();
    for _ in 0..3 {
        let block = forge.mine(MOST, &a, &[]);
        rig.connect_proved(&block.raw);
        made.push(block.coinbase);
    }
    let sum = 3 * u128::from(MOST);
    assert!(sum > u64::MAX.into());
    assert_eq!(rig.totals(&a), Some((sum, 0, 3, 3)));
    let order: Vec<u32> = rig.list(&a).iter().map(|one| one.3).collect();
    assert_eq!(order, [2, 3, 4]);
    // More goes out than comes in, which no node would let through: nothing is bent.
    let all = made.iter().map(|one| one.output(0));
    let all = all.fold(Draft::new(), Draft::spend);
    let all = all.pay(MOST, &b).pay(MOST, &b).pay(MOST, &b).pay(8, &b).pay(0, &b).pay(0, &b);
    let all = all.finish();
    rig.connect_proved(&forge.mine(0, &miner, std::slice::from_ref(&all)).raw);
    assert_eq!(rig.totals(&a), Some((sum, sum, 4, 0)));
    assert_eq!(rig.totals(&b), Some((sum + 8, 0, 1, 6)));
    assert_eq!(rig.transaction(&all.txid).unwrap().record.fee, Some(-8));
    let values: Vec<(u64, u32)> = rig.list(&b).iter().map(|one| (one.2, one.1)).collect();
    assert_eq!(values, [(MOST, 0), (MOST, 1), (MOST, 2), (8, 3), (0, 4), (0, 5)]);
    assert_eq!(rig.list(&a), []);
    let next = Draft::new().spend(all.output(4)).spend(all.output(0)).pay(0, &a).finish();
    rig.connect_proved(&forge.mine(0, &miner, std::slice::from_ref(&next)).raw);
    assert_eq!(rig.transaction(&next.txid).unwrap().record.fee, Some(MOST.into()));
    assert_eq!(rig.totals(&b), Some((sum + 8, MOST.into(), 2, 4)));
}

#[test]
fn what_nobody_can_spend_has_no_rows() {
    let (mut rig, mut forge, first) = start("btc");
    let (a, _, miner) = scripts();
    let long = |bytes: usize| vec![0x51; bytes];
    let outputs = Draft::new().spend(first.coinbase.output(0)).pay(1, &[0x6a]).pay(2, &[]);
    let outputs = outputs.pay(3, &long(10_001)).pay(4, &long(10_000)).pay(5, &a);
    let outputs = outputs.pay(0, &[0x6a, 0x6a]).finish();
    // The coinbase takes less than it could.
    rig.connect_proved(&forge.mine(0, &miner, std::slice::from_ref(&outputs)).raw);
    assert_eq!(rig.totals(&[0x6a]), None);
    assert_eq!(rig.totals(&[0x6a, 0x6a]), None);
    assert_eq!(rig.totals(&long(10_001)), None);
    assert_eq!(rig.totals(&[]), Some((2, 0, 1, 1)));
    assert_eq!(rig.totals(&long(10_000)), Some((4, 0, 1, 1)));
    assert_eq!(rig.totals(&miner), Some((1000, 1000, 3, 1)));
    assert_eq!(rig.unspent(), (4, 11));
    let shown = rig.transaction(&outputs.txid).unwrap();
    assert_eq!(shown.record.outputs.len(), 6);
    assert_eq!(shown.record.outputs[2].script, long(10_001));
    assert_eq!(shown.record.fee, Some(985));
}

#[test]
fn the_first_block_is_shown_and_counts_for_nobody() {
    let rig = Rig::forged("btc");
    let view = rig.view();
    let block = view.block(0, Tier::Any).unwrap().unwrap();
    let listed = view.block_transactions(&block, 0, 25).unwrap();
    assert_eq!(listed.len(), 1);
    let output = &listed[0].record.outputs[0];
    assert_eq!(output.value, 5_000_000_000);
    assert_eq!(rig.totals(&output.script), None);
    assert_eq!(rig.unspent(), (0, 0));
    let shown = rig.transaction(&listed[0].record.txid).unwrap();
    assert!(matches!(shown.inclusion, Inclusion::Block { height: 0, .. }));
    assert_eq!((shown.record.fee, shown.inputs[0].vout), (None, u32::MAX));
}

#[test]
fn a_script_is_listed_once_for_each_transaction() {
    let (mut rig, mut forge, first) = start("ltc");
    let (a, _, miner) = scripts();
    let fan = fan(4, 10, &a, first.coinbase.output(0));
    rig.connect_proved(&forge.mine(0, &miner, std::slice::from_ref(&fan)).raw);
    let again = Draft::new().spend(fan.output(0)).spend(fan.output(3)).pay(5, &a).pay(15, &a);
    let again = again.finish();
    rig.connect_proved(&forge.mine(0, &miner, std::slice::from_ref(&again)).raw);
    assert_eq!(rig.totals(&a), Some((60, 20, 2, 4)));
    assert_eq!(rig.history(&a, 25), [(again.txid, 3), (fan.txid, 2)]);
    assert_eq!(
        rig.list(&a),
        [(again.txid, 1, 15, 3), (fan.txid, 1, 10, 2), (fan.txid, 2, 10, 2), (again.txid, 0, 5, 3)]
    );
}

/// One transaction each, spending the outputs from `from` on.
fn singles(
    fan: &ForgedTransaction,
    from: usize,
    count: usize,
    to: &[u8],
) -> Vec<ForgedTransaction> {
    let one = |vout: usize| Draft::new().spend(fan.output(vout as u32)).pay(1, to).finish();
    (from..from + count).map(one).collect()
}

#[test]
fn a_history_grows_into_chunks_and_shrinks_back() {
    let (mut rig, mut forge, first) = start("btc");
    let (a, b, miner) = scripts();
    let fan = fan(4000, 1, &b, first.coinbase.output(0));
    rig.connect(&forge.mine(0, &miner, std::slice::from_ref(&fan)).raw);
    let mut made = Vec::new();
    let mut dumps = vec![(rig.dump(), 0)];
    for count in [3, 1, 1, 993, 1, 1, 1, 998, 1, 1, 1, 1500] {
        let block = singles(&fan, made.len(), count, &a);
        rig.connect_proved(&forge.mine(0, &miner, &block).raw);
        made.extend(block.iter().map(|one| (one.txid, forge.height())));
        hold_history(&rig, &a, &made);
        dumps.push((rig.dump(), made.len()));
    }
    for (dump, length) in dumps.iter().rev().skip(1) {
        rig.disconnect();
        assert_same(&rig.dump(), dump);
        hold_history(&rig, &a, &made[..*length]);
    }
}

#[test]
fn a_history_leaps_over_chunks_and_back() {
    let (mut rig, mut forge, first) = start("btc");
    let (a, b, miner) = scripts();
    let fan = fan(3000, 1, &b, first.coinbase.output(0));
    rig.connect(&forge.mine(0, &miner, std::slice::from_ref(&fan)).raw);
    for count in [2500, 2000, 1000, 999, 5, 4] {
        let mut forge = forge.clone();
        let mut made = Vec::new();
        for count in [count, 3000 - count] {
            let block = singles(&fan, made.len(), count, &a);
            rig.connect_proved(&forge.mine(0, &miner, &block).raw);
            made.extend(block.iter().map(|one| (one.txid, forge.height())));
        }
        hold_history(&rig, &a, &made);
        rig.cut(2);
    }
}

fn hold_history(rig: &Rig, script: &[u8], oldest_first: &[(Hash32, u32)]) {
    let newest_first: Vec<(Hash32, u32)> = oldest_first.iter().rev().copied().collect();
    assert_eq!(rig.history(script, 50), newest_first);
    if oldest_first.is_empty() {
        assert_eq!(rig.totals(script), None);
        return;
    }
    let view = rig.view();
    // Pages that begin and end around every boundary.
    for from in [0, 1, 3, 4, 5, 495, 998, 999, 1000, 1001, 1998, 1999, 2000, 2001] {
        for count in [1, 2, 25] {
            let page = view.history(script, from, count).unwrap().unwrap();
            let ids: Vec<Hash32> = page.transactions.iter().map(|one| one.record.txid).collect();
            let all = newest_first.iter().skip(from as usize).take(count as usize);
            assert_eq!(ids, all.map(|one| one.0).collect::<Vec<_>>());
        }
    }
    for from in [u64::MAX, u64::MAX - 1, newest_first.len() as u64] {
        let page = view.history(script, from, 50).unwrap().unwrap();
        assert_eq!((page.tx_count, page.transactions.len()), (newest_first.len() as u64, 0));
    }
}

#[test]
fn a_page_resolves_a_thousand_outputs_and_names_the_rest() {
    let (mut rig, mut forge, first) = start("btc");
    let (a, b, miner) = scripts();
    let fan = fan(1700, 1, &b, first.coinbase.output(0));
    rig.connect(&forge.mine(0, &miner, std::slice::from_ref(&fan)).raw);
    let mut next = 0;
    let mut spend = |count: u32| {
        let from = next;
        next += count;
        let all = (from..next).map(|vout| fan.output(vout));
        all.fold(Draft::new(), Draft::spend).pay(1, &a).finish()
    };
    // In block order: 600 fit, 399 fit, 1 fits, then 2 do not, and nothing after them does.
    let made = [spend(600), spend(399), spend(1), spend(2), spend(21), spend(20), spend(1)];
    rig.connect_proved(&forge.mine(0, &miner, &made).raw);
    let view = rig.view();
    let block = view.block(3, Tier::Any).unwrap().unwrap();
    let listed = view.block_transactions(&block, 0, 50).unwrap();
    let resolved: Vec<bool> =
        listed[1..].iter().map(|one| one.inputs.iter().all(|i| i.spent.is_some())).collect();
    assert_eq!(resolved, [true, true, true, false, false, false, false]);
    let mut vout = 0;
    for one in &listed[1..] {
        assert!(one.record.fee.is_some());
        for input in &one.inputs {
            assert_eq!((input.txid, input.vout), (Some(fan.txid), vout));
            assert_eq!(input.spent.is_some(), vout < 1000);
            vout += 1;
        }
    }
    // A history counts from its newest: 1, 20, 21, 2, 1, 399 fit, 600 do not.
    let page = view.history(&a, 0, 50).unwrap().unwrap();
    let resolved: Vec<bool> =
        page.transactions.iter().map(|one| one.inputs.iter().all(|i| i.spent.is_some())).collect();
    assert_eq!(resolved, [true, true, true, true, true, true, false]);
    assert!(page.transactions[6].inputs.iter().all(|i| i.txid == Some(fan.txid)));
    // A page of its own, and the transaction alone, show all.
    let page = view.history(&a, 6, 1).unwrap().unwrap();
    assert!(page.transactions[0].inputs.iter().all(|i| i.spent.is_some()));
}

#[test]
fn one_transaction_that_is_too_large_for_a_list_is_whole_alone() {
    let (mut rig, mut forge, first) = start("btc");
    let (a, b, miner) = scripts();
    let fan = fan(1001, 1, &b, first.coinbase.output(0));
    rig.connect(&forge.mine(0, &miner, std::slice::from_ref(&fan)).raw);
    let all = (0..1001).map(|vout| fan.output(vout)).fold(Draft::new(), Draft::spend);
    let all = all.pay(1, &a).finish();
    rig.connect_proved(&forge.mine(0, &miner, std::slice::from_ref(&all)).raw);
    let page = rig.view().history(&a, 0, 50).unwrap().unwrap();
    assert!(page.transactions[0].inputs.iter().all(|i| i.spent.is_none() && i.txid.is_some()));
    let alone = rig.transaction(&all.txid).unwrap();
    assert_eq!(alone.inputs.iter().filter(|i| i.spent.is_some()).count(), 1001);
}

#[test]
fn seventy_thousand_outputs_have_their_places() {
    let (mut rig, mut forge, first) = start("btc");
    let (a, _, miner) = scripts();
    let mut draft = Draft::new().spend(first.coinbase.output(0));
    for vout in 0..70_000u64 {
        draft = draft.pay(vout, &key_hash_script(1000 + vout % 7));
    }
    let fan = draft.finish();
    rig.connect_proved(&forge.mine(0, &miner, std::slice::from_ref(&fan)).raw);
    let of = key_hash_script(1000 + 69_999 % 7);
    assert_eq!(rig.list(&of)[0], (fan.txid, 69_999, 69_999, 2));
    assert_eq!(rig.totals(&of).map(|totals| (totals.2, totals.3)), Some((1, 10_000)));
    let some = [69_999, 65_535, 65_536, 0].map(|vout| fan.output(vout));
    let some = some.into_iter().fold(Draft::new(), Draft::spend).pay(9, &a).finish();
    rig.connect_proved(&forge.mine(0, &miner, std::slice::from_ref(&some)).raw);
    let fee = 69_999 + 65_535 + 65_536 - 9;
    assert_eq!(rig.transaction(&some.txid).unwrap().record.fee, Some(fee));
    assert_ne!(rig.list(&of)[0].1, 69_999);
}

#[test]
fn a_bad_block_changes_nothing() {
    let (mut rig, mut forge, first) = start("btc");
    let (a, b, miner) = scripts();
    let genesis = rig.view().block(0, Tier::Any).unwrap().unwrap();
    let genesis = rig.view().block_transactions(&genesis, 0, 1).unwrap()[0].record.txid;
    let good = Draft::new().spend(first.coinbase.output(0)).pay(9, &a).pay(1, &[0x6a]).finish();
    let tail = Draft::new().spend(good.output(0)).pay(9, &b).finish();
    let stray = OutPoint { txid: Hash32::sha256d(&[b"nobody"]), vout: 0 };
    let unknown = [
        stray,
        first.coinbase.output(1),
        OutPoint { txid: genesis, vout: 0 },
        good.output(1),
        good.output(2),
        OutPoint { txid: first.coinbase.txid, vout: u32::MAX },
    ];
    let before = rig.dump();
    for previous in unknown {
        let bad = Draft::new().spend(tail.output(0)).spend(previous).pay(1, &b).finish();
        let block = forge.clone().mine(0, &miner, &[good.clone(), tail.clone(), bad]);
        let OutPoint { txid, vout } = previous;
        assert_eq!(rig.try_connect(&block.raw), Err(IndexError::Unknown { height: 2, txid, vout }));
        assert_same(&rig.dump(), &before);
    }
    let twice = [good.clone(), tail.clone(), good.clone()];
    let block = forge.clone().mine(0, &miner, &twice);
    assert!(matches!(rig.try_connect(&block.raw), Err(IndexError::Block { height: 2, .. })));
    let block = Forge::new(chain("btc")).branch(9).mine(0, &miner, &[]);
    assert_eq!(rig.try_connect(&block.raw), Err(IndexError::NotNext { hash: block.hash }));
    assert_eq!(rig.try_connect(&first.raw), Err(IndexError::NotNext { hash: first.hash }));
    let first_again = testkit::genesis(chain("btc")).unwrap();
    assert!(matches!(rig.try_connect(&first_again), Err(IndexError::NotNext { .. })));
    assert_same(&rig.dump(), &before);
    assert_eq!(rig.store.tip().unwrap().height, 1);
    rig.connect_proved(&forge.mine(0, &miner, &[good, tail]).raw);
}

#[test]
fn a_block_does_not_spend_an_output_twice() {
    let (mut rig, forge, first) = start("btc");
    let (a, _, miner) = scripts();
    let one = Draft::new().spend(first.coinbase.output(0)).pay(1, &a).finish();
    let two = Draft::new().spend(first.coinbase.output(0)).pay(2, &a).finish();
    let own = Draft::new().spend(one.output(0)).pay(1, &a).finish();
    let again = Draft::new().spend(one.output(0)).pay(0, &a).finish();
    let before = rig.dump();
    for (block, of) in
        [(vec![one.clone(), two], &first.coinbase), (vec![one.clone(), own, again], &one)]
    {
        let block = forge.clone().mine(0, &miner, &block);
        let refusal = IndexError::Unknown { height: 2, txid: of.txid, vout: 0 };
        assert_eq!(rig.try_connect(&block.raw), Err(refusal));
        assert_same(&rig.dump(), &before);
    }
}
