//! The bytes of every table, held against a file.
//!
//! The rows of a small chain stand in `rows-of-format-N.txt`. Where they change, `FORMAT` has to be
//! raised, so that an index of before is refused and not misread, and the file made anew: run the
//! test with `WRITE_ROWS=1`.

use std::collections::BTreeSet;
use std::fmt::Write;

use index::utxo::Identity;
use replay::Phase;
use testkit::{Draft, Forge, Recording, key_hash_script};

use crate::utxo::rig::{Rig, chain};

/// A chain with rows of every kind: tokens, chunks, inline histories, named inputs, twins.
fn rows_of_every_kind() -> Rig {
    let mut rig = Rig::forged("bch");
    let mut forge = Forge::new(chain("bch"));
    let (a, b) = (key_hash_script(1), key_hash_script(2));
    let token = [&[0xef][..], &[7; 32], &[0x30, 5], &a].concat();
    let first = forge.mine(100, &a, &[]);
    let fan = (0..25).fold(Draft::new().spend(first.coinbase.output(0)), |fan, _| fan.pay(4, &b));
    let fan = fan.pay(0, &token).pay(0, &[0x6a, 1, 9]).pay(1, &[0xa9]).finish();
    let second = forge.mine(1, &[0x51], std::slice::from_ref(&fan));
    let all = (0..22).map(|vout| fan.output(vout)).fold(Draft::new(), Draft::spend);
    let all = all.pay(30, &a).finish();
    let third = forge.mine_with(first.coinbase.clone(), std::slice::from_ref(&all));
    let fourth = forge.mine_with(first.coinbase.clone(), &[]);
    let last = Draft::new().version(-1).lock_time(9).spend(all.output(0)).spend(fan.output(25));
    let fifth = forge.mine(7, &a, &[last.pay(9, &a).finish()]);
    for block in [&first, &second, &third, &fourth, &fifth] {
        rig.connect(&block.raw);
    }
    rig
}

/// A line for each row that is shown: table, key, value.
fn lines(rig: &Rig, mut shown: impl FnMut(&str, &[u8], &[u8]) -> bool) -> String {
    let mut lines = String::new();
    for ((table, key), value) in rig.dump() {
        if !shown(table, &key, &value) {
            continue;
        }
        let (key, value) = (const_hex::encode(key), const_hex::encode(value));
        writeln!(lines, "{table} {key} {value}").unwrap();
    }
    lines
}

/// Holds rows against a file of the present format.
fn hold(name: &str, rows: &str) {
    let btc = chain("btc");
    let format = Identity::new(btc, btc.network("regtest").unwrap()).format;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/utxo/");
    let path = format!("{folder}{name}-of-format-{format}.txt");
    if std::env::var_os("WRITE_ROWS").is_some() {
        std::fs::write(&path, rows).unwrap();
    }
    let held = std::fs::read_to_string(&path).expect("the rows of this format are in a file");
    for (ours, held) in rows.lines().zip(held.lines()) {
        assert_eq!(ours, held, "rows changed: raise FORMAT, then write the file anew");
    }
    assert_eq!(rows.lines().count(), held.lines().count(), "rows changed: raise FORMAT");
}

#[test]
fn the_bytes_of_rows_change_with_their_format_only() {
    hold("rows", &lines(&rows_of_every_kind(), |_, _, _| true));
}

/// Voided trees, the blocks around them, and of each kind of transaction the first.
#[test]
fn the_bytes_of_staked_rows_change_with_their_format_only() {
    let recording = Recording::of("dcr", Phase::A);
    let mut rig = Rig::new("dcr");
    rig.connect_all(&recording.raw[..250]);
    let mut kinds = BTreeSet::new();
    let rows = lines(&rig, |table, key, value| match table {
        "voided_by_height" | "voided_by_txid" => true,
        "header_by_height" => matches!(key, [0, 0, 0, 0 | 163 | 164]),
        "tx_by_num" => kinds.insert(value[0]),
        _ => false,
    });
    assert!(kinds.len() >= 8, "{kinds:?}");
    hold("staked-rows", &rows);
}
