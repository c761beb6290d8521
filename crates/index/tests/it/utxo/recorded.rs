//! Chains of recorded nodes: every block, transaction and address, before and after a
//! reorganisation.

use chain::Hash32;
use index::Tier;
use index::utxo::{BlockRow, Inclusion, TransactionView, Verdict, View};
use replay::Phase;
use serde_json::Value;
use testkit::Recording;

use crate::utxo::rig::{Rig, assert_same};

/// Blocks of the first phase that the second one replaces.
const REPLACED: usize = 3;
const CHAINS: [&str; 7] = ["btc", "ltc", "doge", "bch", "xec", "zec", "dcr"];

fn grown(recording: &Recording) -> Rig {
    let mut rig = Rig::new(recording.chain.slug);
    rig.connect_all(&recording.raw);
    rig
}

fn hash(text: &Value) -> Hash32 {
    text.as_str().unwrap().parse().unwrap()
}

fn big(text: &Value) -> u128 {
    text.as_str().unwrap().parse().unwrap()
}

/// Everything that was recorded of a phase.
fn hold(rig: &Rig, recording: &Recording) {
    let view = rig.view();
    let expected = &recording.expected;
    assert_eq!(u64::from(view.height()), expected["tip"].as_u64().unwrap());
    assert_eq!(view.hash(), hash(&expected["best"]));
    for (height, json) in recording.blocks.iter().enumerate() {
        hold_block(&view, recording, height as u32, json);
    }
    assert_eq!(view.block(view.height() + 1, Tier::Any).unwrap(), None);
    for (txid, expected) in expected["txs"].as_object().unwrap() {
        hold_transaction(&view, recording, txid, expected);
    }
    for (address, expected) in expected["addresses"].as_object().unwrap() {
        hold_address(&view, recording, address, expected);
    }
    let verdict = rig.store.verify(|_| ()).unwrap();
    assert_eq!((&verdict.faults, verdict.fault_count), (&Vec::new(), 0));
    hold_sums(rig, &verdict, recording);
    for (txid, expected) in expected["voided"].as_object().into_iter().flatten() {
        hold_voided(&view, recording, txid, expected);
    }
}

/// The sums of the node, each in its own words.
fn hold_sums(rig: &Rig, verdict: &Verdict, recording: &Recording) {
    let unspent = rig.unspent();
    assert_eq!((verdict.unspent_outputs, verdict.unspent_total), unspent);
    let expected = &recording.expected;
    for pool in expected["value_pools"].as_array().into_iter().flatten() {
        let ours = match pool["id"].as_str().unwrap() {
            "transparent" => (unspent.1 + verdict.burnt) as i128,
            "lockbox" => 0,
            id => -verdict.pools.by_name().iter().find(|(name, _)| *name == id).unwrap().1,
        };
        assert_eq!(pool["chainValueZat"].as_i64().unwrap(), ours as i64, "{pool}");
    }
    if let Some(treasury) = expected["totals"]["treasury_with_immature"].as_str() {
        assert_eq!(verdict.treasury, treasury.parse::<i128>().unwrap());
        assert_eq!(unspent.1, big(&expected["totals"]["unspent"]));
        assert_eq!(verdict.burnt, big(&expected["totals"]["burnt_in_nulldata"]));
        let mature = expected["totals"]["treasury_mature"].as_str().unwrap();
        assert_eq!(verdict.treasury_mature, mature.parse::<i128>().unwrap());
    }
    hold_word(verdict, recording);
    let set = &expected["node_utxo_set"];
    if set.is_null() {
        return;
    }
    // The recorder keeps this one amount as text; chains here have 8 or 2 places.
    let total = match set["total_amount"].as_str() {
        Some(coins) => coins.replace('.', "").parse().unwrap(),
        None => u128::from(set["totalamount"].as_u64().unwrap()),
    };
    assert_eq!(unspent, (set["txouts"].as_u64().unwrap(), total), "{}", recording.chain.slug);
}

/// The node's word on its sums is what the audit makes of the rows.
fn hold_word(verdict: &Verdict, recording: &Recording) {
    let questions = Verdict::questions(recording.chain.format().unwrap());
    let said = questions.iter().map(|method| recording.sums.get(*method).map(String::as_str));
    let said: Vec<&str> = said.collect::<Option<_>>().unwrap();
    let agrees = verdict.against(&said, recording.chain.decimals);
    assert_eq!(agrees, index::utxo::Agreement::Same, "{}", recording.chain.slug);
}

/// What a vote voided is found by its id, in the list of its block, and nowhere else.
fn hold_voided(view: &View, recording: &Recording, txid: &str, expected: &Value) {
    let id = txid.parse().unwrap();
    let found = view.transaction(&id).unwrap().unwrap();
    assert_eq!(expected["size"], found.record.size);
    assert_eq!(expected["coinbase"], found.record.is_coinbase());
    let last = expected["heights"].as_array().unwrap().last().unwrap().as_u64().unwrap() as u32;
    match (expected["mined_again"].as_u64(), found.inclusion) {
        (Some(height), Inclusion::Block { height: ours, .. }) => {
            assert_eq!(height, u64::from(ours))
        }
        (None, Inclusion::Voided { height, hash, time }) => {
            let row = view.block(height, Tier::Any).unwrap().unwrap();
            assert_eq!((height, hash, time), (last, row.hash, row.time));
            hold_parts(recording, &found, &recording.transactions[txid]);
        }
        (_, other) => panic!("{txid} {other:?}"),
    }
    for height in expected["heights"].as_array().unwrap() {
        let row = view.block(height.as_u64().unwrap() as u32, Tier::Any).unwrap().unwrap();
        assert!(row.voided);
        let listed = view.block_transactions(&row, 0, u64::MAX).unwrap();
        assert!(listed.contains(&found));
    }
}

fn hold_block(view: &View, recording: &Recording, height: u32, json: &Value) {
    let row = view.block(height, Tier::Any).unwrap().unwrap();
    let BlockRow { hash: id, merkle_root, version, time, bits, nonce, tx_count, size, .. } = row;
    let voided = u64::from(if row.voided { row.tx_count - row.stake_count } else { 0 });
    assert_eq!((row.height, id), (height, hash(&json["hash"])));
    assert_eq!(merkle_root, hash(&json["merkleroot"]));
    assert_eq!(json["version"], version);
    assert_eq!(json["time"], time);
    assert_eq!(json["bits"], format!("{bits:08x}"));
    assert_eq!(json["nonce"].to_string().trim_matches('"'), nonce.to_string());
    // One node says 0 of genesis.
    assert!(json["size"] == size || json["size"] == 0);
    let listed = Recording::listed(json);
    assert_eq!(listed.len(), tx_count as usize);
    assert_eq!(view.block_height(&id, Tier::Any).unwrap(), Some(height));
    let whole = view.block_transactions(&row, 0, u64::MAX).unwrap();
    let ids: Vec<Hash32> = whole.iter().map(|one| one.record.txid).collect();
    let recorded: Vec<Hash32> = listed.iter().map(|txid| txid.parse().unwrap()).collect();
    assert_eq!(ids, recorded);
    for (place, one) in whole.iter().enumerate() {
        let alone = view.block_transactions(&row, place as u64, 1).unwrap();
        assert_eq!(alone, std::slice::from_ref(one));
        let by_id = view.transaction(&one.record.txid).unwrap();
        assert_eq!(by_id.as_ref(), Some(one));
        if place as u64 >= voided {
            assert_eq!(one.inclusion, Inclusion::Block { height, hash: id, time });
        }
    }
    assert_eq!(view.block_transactions(&row, tx_count.into(), 25).unwrap(), []);
    assert!(recording.transactions.len() > 100);
}

fn hold_transaction(view: &View, recording: &Recording, txid: &str, expected: &Value) {
    let found = view.transaction(&txid.parse().unwrap()).unwrap().unwrap();
    let record = &found.record;
    assert_eq!(record.txid.to_string(), txid);
    let Inclusion::Block { height, .. } = found.inclusion else { panic!("it is confirmed") };
    assert_eq!(expected["height"], height);
    assert_eq!(expected["coinbase"], record.is_coinbase());
    let fee = expected["fee"].as_str().map(|fee| fee.parse().unwrap());
    // A fee that is not there and one of a coinbase are both none.
    assert_eq!(record.fee, fee, "{txid}");
    if let Some(kind) = expected["type"].as_str() {
        assert_eq!(record.kind.as_str(), kind, "{txid}");
    }
    let value_in: u128 = found.inputs.iter().flat_map(|i| i.value).map(u128::from).sum();
    let value_out = record.value_out();
    // The coinbase of the first block stands there without sizes and sums.
    if expected["note"].is_null() {
        assert_eq!(value_out, big(&expected["value_out"]));
        assert_eq!(expected["size"], record.size);
        if !expected["vsize"].is_null() {
            assert_eq!(expected["vsize"], record.vsize);
        }
    }
    if !expected["value_in"].is_null() {
        assert_eq!((value_in, record.value_in), (big(&expected["value_in"]), Some(value_in)));
    } else {
        assert_eq!((value_in, record.value_in), (0, None), "{txid}");
    }
    if let Some(json) = recording.transactions.get(txid) {
        hold_parts(recording, &found, json);
    } else {
        assert_eq!(height, 0);
    }
}

fn hold_parts(recording: &Recording, found: &TransactionView, json: &Value) {
    assert_eq!(json["version"], found.record.version);
    assert_eq!(json["locktime"], found.record.lock_time);
    let outputs = Recording::canonical(&json["vout"]);
    assert_eq!(outputs.len(), found.record.outputs.len());
    for (output, json) in found.record.outputs.iter().zip(outputs) {
        hold_output(recording, output, json);
    }
    let inputs = Recording::canonical(&json["vin"]);
    assert_eq!(inputs.len(), found.inputs.len());
    for (input, json) in found.inputs.iter().zip(inputs) {
        assert_eq!(json["sequence"], input.sequence);
        if let Some(script) = json["coinbase"].as_str() {
            assert_eq!(
                found.record.coinbase_script(),
                Some(&const_hex::decode(script).unwrap()[..])
            );
            assert_eq!((input.txid, input.vout, &input.spent), (None, u32::MAX, &None));
            continue;
        }
        if json["txid"].is_null() {
            assert_eq!((input.txid, input.vout, &input.spent), (None, u32::MAX, &None));
            let counted = json["treasurybase"] != true;
            let value = counted.then(|| recording.amount(&json["amountin"]));
            assert_eq!(input.value, value);
            continue;
        }
        assert_eq!(input.txid, Some(hash(&json["txid"])));
        assert_eq!(json["vout"], input.vout);
        assert_eq!(input.value, input.spent.as_ref().map(|spent| spent.value));
        hold_output(recording, input.spent.as_ref().unwrap(), recording.spent(json));
    }
}

fn hold_output(recording: &Recording, output: &index::utxo::OutputRecord, json: &Value) {
    assert_eq!(output.value, recording.amount(&json["value"]));
    let script = json["scriptPubKey"]["hex"].as_str().unwrap();
    assert_eq!(output.script, const_hex::decode(script).unwrap());
    let token = &json["tokenData"];
    assert_eq!(output.token.is_some(), !token.is_null());
    if let Some(found) = &output.token {
        assert_eq!(token["category"], found.category.to_string());
        assert_eq!(token["amount"], found.amount.to_string());
        assert_eq!(token.get("nft").is_some(), found.nft.is_some());
        if let Some(nft) = &found.nft {
            assert_eq!(token["nft"]["capability"], nft.capability.as_str());
            assert_eq!(token["nft"]["commitment"], const_hex::encode(&nft.commitment));
        }
    }
}

fn hold_address(view: &View, recording: &Recording, address: &str, expected: &Value) {
    let format = *recording.chain.format().unwrap();
    let network = recording.on();
    let script = network.addresses.decode(address, &format).unwrap().script();
    let totals = view.address(&script, Tier::Any).unwrap().unwrap();
    assert_eq!(totals.received, big(&expected["received"]), "{address}");
    assert_eq!(totals.sent, big(&expected["sent"]));
    assert_eq!(totals.received - totals.sent, big(&expected["balance"]));
    assert_eq!(expected["tx_count"], totals.tx_count);
    let recorded: Vec<Hash32> = expected["txs"].as_array().unwrap().iter().map(hash).collect();
    for size in [1, 7, 25, 50, 1000] {
        let mut all = Vec::new();
        while all.len() < recorded.len() {
            let page = view.history(&script, all.len() as u64, size).unwrap().unwrap();
            let left = recorded.len() - all.len();
            assert_eq!(page.transactions.len(), left.min(size as usize));
            assert_eq!(expected["tx_count"], page.tx_count);
            for one in &page.transactions {
                if size > 1 {
                    continue;
                }
                assert_eq!(view.transaction(&one.record.txid).unwrap().as_ref(), Some(one));
            }
            all.extend(page.transactions.iter().map(|one| one.record.txid));
        }
        assert_eq!(all, recorded, "{address} by {size}");
        let past = view.history(&script, all.len() as u64, size).unwrap().unwrap();
        assert_eq!(past.transactions, []);
    }
    hold_unspent(view, recording, &script, expected);
}

fn hold_unspent(view: &View, recording: &Recording, script: &[u8], expected: &Value) {
    let place = |txid: &Value| {
        let row = &recording.expected["txs"][txid.as_str().unwrap()];
        (row["height"].as_u64().unwrap(), row["pos"].as_u64().unwrap())
    };
    let mut recorded: Vec<&Value> = expected["utxos"].as_array().unwrap().iter().collect();
    recorded.sort_by_key(|one| {
        let value = std::cmp::Reverse(big(&one["value"]));
        (value, place(&one["txid"]), one["vout"].as_u64().unwrap())
    });
    let list = view.unspent(script, usize::MAX).unwrap().unwrap();
    assert_eq!(list.count, recorded.len() as u64);
    assert_eq!(list.items.len(), recorded.len());
    for (item, json) in list.items.iter().zip(recorded) {
        assert_eq!(item.txid, hash(&json["txid"]));
        assert_eq!(json["vout"], item.vout);
        assert_eq!(u128::from(item.value), big(&json["value"]));
        assert_eq!(json["height"], item.height);
        let of = view.transaction(&item.txid).unwrap().unwrap().record;
        assert_eq!(item.coinbase, of.is_coinbase());
        assert_eq!(item.token, of.outputs[item.vout as usize].token.is_some());
        assert_eq!(item.unconfirmed_spend, None);
    }
    let few = view.unspent(script, 3).unwrap().unwrap();
    assert_eq!(few.count, list.count);
    assert_eq!(few.items, list.items[..list.items.len().min(3)]);
}

fn check(slug: &str) {
    let (before, after) = (Recording::of(slug, Phase::A), Recording::of(slug, Phase::B));
    let fork = before.raw.len() - REPLACED;
    assert_eq!(before.raw[..fork], after.raw[..fork]);
    let mut rig = grown(&before);
    hold(&rig, &before);
    let old = rig.view();
    rig.cut(fork as u32 - 1);
    rig.connect_all(&after.raw[fork..]);
    hold(&rig, &after);
    // A reader who holds the view from before the reorganisation goes on seeing it whole.
    assert_eq!(old.hash(), hash(&before.expected["best"]));
    for (address, expected) in before.expected["addresses"].as_object().unwrap() {
        hold_address(&old, &before, address, expected);
    }
    drop(old);
    let fresh = grown(&after);
    assert_same(&rig.dump(), &fresh.dump());
    assert_eq!(rig.store.same_rows(&fresh.store).unwrap(), None);
    reopen_and_take_all_back(rig, &after);
}

/// Down to nothing, with the rows of every height as they were on the way up.
fn reopen_and_take_all_back(rig: Rig, recording: &Recording) {
    let Rig { store, dir } = rig;
    drop(store);
    let mut rig = Rig::in_folder(recording.chain.slug, dir);
    hold(&rig, recording);
    let full = rig.dump();
    let mut up = Rig::new(recording.chain.slug);
    let mut dumps = vec![up.dump()];
    for raw in &recording.raw {
        up.connect(raw);
        dumps.push(up.dump());
    }
    assert_same(dumps.last().unwrap(), &full);
    for dump in dumps.iter().rev().skip(1) {
        rig.disconnect();
        assert_same(&rig.dump(), dump);
    }
    assert_eq!(rig.store.tip(), None);
    assert_eq!(rig.store.disconnect(), Ok(None));
    rig.connect_all(&recording.raw);
    assert_same(&rig.dump(), &full);
}

#[test]
fn of_bitcoin() {
    check("btc");
}

#[test]
fn of_litecoin() {
    check("ltc");
}

#[test]
fn of_dogecoin() {
    check("doge");
}

#[test]
fn of_bitcoin_cash() {
    check("bch");
}

#[test]
fn of_zcash() {
    check("zec");
}

#[test]
fn of_decred() {
    check("dcr");
}

#[test]
fn of_ecash() {
    check("xec");
}

#[test]
fn what_is_not_there_is_not_found() {
    for slug in CHAINS {
        let rig = grown(&Recording::of(slug, Phase::A));
        let view = rig.view();
        assert_eq!(view.block_height(&Hash32::ZERO, Tier::Any).unwrap(), None);
        assert_eq!(view.transaction(&Hash32::ZERO).unwrap(), None);
        assert_eq!(view.address(b"nobody", Tier::Any).unwrap(), None);
        assert_eq!(view.history(b"nobody", 0, 25).unwrap(), None);
        assert_eq!(view.unspent(b"nobody", 25).unwrap(), None);
        assert!(view.mempool().is_none());
    }
}
