use testkit::{Draft, Forge, ForgedTransaction, key_hash_script};

use super::*;
use crate::utxo::decoded;

/// An entry that spends the first output of `parent` and pays `value`.
fn entry(parent: &ForgedTransaction, value: u64, first_seen: u64) -> (ForgedTransaction, Entry) {
    let made = Draft::new().spend(parent.output(0)).pay(value, &key_hash_script(value)).finish();
    let format = *chain::find("btc").unwrap().format().unwrap();
    let transaction = chain::utxo::Transaction::decode(&made.raw, &format).unwrap();
    let record = decoded::record(&transaction, made.txid);
    let spent = parent.output(0);
    let (txid, vout) = (Some(spent.txid), spent.vout);
    let inputs = vec![InputView { txid, vout, sequence: 0, value: None, spent: None }];
    let script = ScriptId([value as u8; 10]);
    let touches = vec![Touch { script, received: value.into(), sent: 0 }];
    (made, Entry { record, inputs, first_seen, touches, memory: 100 })
}

#[test]
fn what_comes_and_goes_leaves_nothing_behind() {
    let mut forge = Forge::new(chain::find("btc").unwrap());
    let paid = forge.mine(50, &key_hash_script(1), &[]);
    let mut pool = Mempool::new(false);
    let (parent, first) = entry(&paid.coinbase, 40, 1);
    let (_, second) = entry(&parent, 30, 2);
    let (child_id, parent_id) = (second.record.txid, first.record.txid);
    pool.insert(first);
    let seen = pool.clone();
    pool.insert(second);
    assert_eq!((pool.count(), seen.count()), (2, 1), "a clone stays what it was");
    assert_eq!(pool.newest(9), [child_id, parent_id]);
    assert_eq!(pool.spender(&paid.coinbase.output(0)), Some(parent_id));
    assert!(pool.bytes() > seen.bytes());
    // A rival of the parent takes the child along.
    let (_, rival) = entry(&paid.coinbase, 45, 3);
    let rival_id = rival.record.txid;
    pool.insert(rival);
    assert_eq!(pool.newest(9), [rival_id]);
    assert!(pool.script(ScriptId([40; 10])).is_none());
    assert_eq!(pool.script(ScriptId([45; 10])).unwrap().received, 45);
    pool.remove(&rival_id);
    assert_eq!((pool.count(), pool.bytes(), pool.memory()), (0, 0, 0));
    assert_eq!(pool.spender(&paid.coinbase.output(0)), None);
}

#[test]
fn a_block_takes_what_it_includes_and_what_it_contradicts() {
    let mut forge = Forge::new(chain::find("btc").unwrap());
    let (one, two) =
        (forge.mine(50, &key_hash_script(1), &[]), forge.mine(50, &key_hash_script(2), &[]));
    let mut pool = Mempool::new(false);
    let (mined, included) = entry(&one.coinbase, 40, 1);
    let (_, contradicted) = entry(&two.coinbase, 30, 2);
    pool.insert(included);
    pool.insert(contradicted);
    pool.leave_beyond(Hash32::ZERO);
    let rival = Draft::new().spend(two.coinbase.output(0)).pay(1, &key_hash_script(9)).finish();
    let block = forge.mine(1, &key_hash_script(3), &[mined, rival]);
    let format = *chain::find("btc").unwrap().format().unwrap();
    pool.confirm(&Block::decode(&block.raw, &format).unwrap());
    assert_eq!((pool.count(), pool.memory()), (1, 0), "what is beyond the bound waits on");
    pool.remove(&Hash32::ZERO);
    assert_eq!(pool.count(), 0);
}
