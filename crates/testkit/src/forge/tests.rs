#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use chain::utxo::Transaction;

use super::*;

fn btc() -> &'static Chain {
    chain::find("btc").unwrap()
}

#[test]
fn blocks_are_read_back_as_they_were_meant() {
    for slug in ["btc", "ltc", "doge", "bch", "xec"] {
        let chain = chain::find(slug).unwrap();
        let format = *chain.format().unwrap();
        let mut forge = Forge::new(chain);
        let genesis = forge.tip();
        let first = forge.mine(50, &key_hash_script(1), &[]);
        let spend = Draft::new().spend(first.coinbase.output(0)).pay(0, &[0x6a]);
        let spend = spend.pay(i64::MAX as u64, &[0x51]).lock_time(7).finish();
        let second = forge.mine(0, &[], std::slice::from_ref(&spend));
        assert_eq!((first.previous, second.previous, second.height), (genesis, first.hash, 2));
        let block = Block::decode(&second.raw, &format).unwrap();
        assert!(block.is_whole());
        assert_eq!((block.header.hash, block.header.previous), (second.hash, first.hash));
        assert_eq!(block.txids, [second.coinbase.txid, spend.txid]);
        let inputs: Vec<OutPoint> =
            block.transactions[1].inputs().map(|input| input.previous).collect();
        assert_eq!(inputs, [first.coinbase.output(0)]);
        let values: Vec<u64> = block.transactions[1].outputs().map(|output| output.value).collect();
        assert_eq!(values, [0, i64::MAX as u64]);
        assert_eq!(block.transactions[1].lock_time, 7);
    }
}

#[test]
fn witness_changes_the_bytes_and_not_the_id() {
    let bare = Draft::new().spend(OutPoint::NULL).pay(1, &[]);
    let witnessed = Draft::new()
        .spend_with(OutPoint::NULL, &[], u32::MAX, &[b"signature", b""])
        .pay(1, &[])
        .finish();
    assert_eq!(witnessed.txid, bare.finish().txid);
    let read = Transaction::decode(&witnessed.raw, btc().format().unwrap()).unwrap();
    assert_eq!(read.txid(), witnessed.txid);
    assert!(read.vsize() < read.size());
}

#[test]
fn heights_are_pushed_as_miners_do() {
    let cases: [(u32, &[u8]); 7] = [
        (1, &[0x51]),
        (16, &[0x60]),
        (17, &[1, 17]),
        (127, &[1, 127]),
        (128, &[2, 128, 0]),
        (0x7fff, &[2, 0xff, 0x7f]),
        (0x8000, &[3, 0, 0x80, 0]),
    ];
    for (height, push) in cases {
        assert_eq!(height_push(height), push, "{height}");
    }
}

#[test]
fn branches_differ_and_twins_do_not() {
    let mut forge = Forge::new(btc());
    let mut other = forge.branch(1);
    assert_ne!(forge.mine(1, &[], &[]).hash, other.mine(1, &[], &[]).hash);
    let twin = Draft::new().spend_with(OutPoint::NULL, b"twin", 0, &[]).pay(5, &[0x51]).finish();
    let (a, b) = (forge.mine_with(twin.clone(), &[]), forge.mine_with(twin, &[]));
    assert_eq!(a.coinbase, b.coinbase);
    assert_ne!(a.hash, b.hash);
}

#[test]
fn counts_of_every_width_are_read_back() {
    let mut forge = Forge::new(btc());
    for outputs in [252_usize, 253, 70_000] {
        let mut draft = Draft::new().spend(OutPoint { txid: Hash32::ZERO, vout: 1 });
        for number in 0..outputs {
            draft = draft.pay(number as u64, &key_hash_script(1));
        }
        let block = forge.mine(1, &[], &[draft.finish()]);
        let read = Block::decode(&block.raw, btc().format().unwrap()).unwrap();
        assert_eq!(read.transactions[1].outputs().len(), outputs);
    }
}
