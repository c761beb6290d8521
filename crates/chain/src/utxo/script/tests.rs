use super::*;
use crate::find;

fn class(slug: &str, script: &[u8]) -> &'static str {
    ScriptClass::of(script, &find(slug).unwrap().format().unwrap().scripts).as_str()
}

fn push(data: &[u8]) -> Vec<u8> {
    [&[u8::try_from(data.len()).unwrap()], data].concat()
}

/// A push by an opcode that is longer than needed.
fn long_push(data: &[u8]) -> Vec<u8> {
    [&[0x4c, u8::try_from(data.len()).unwrap()], data].concat()
}

fn key(first: u8, length: usize) -> Vec<u8> {
    [&[first], &vec![9; length - 1][..]].concat()
}

const ALL: [&str; 5] = ["btc", "ltc", "doge", "bch", "xec"];

#[test]
fn hashes() {
    let pubkey_hash = [&[0x76, 0xa9, 20], &[1; 20][..], &[0x88, 0xac]].concat();
    let script_hash = [&[0xa9, 20], &[1; 20][..], &[0x87]].concat();
    let long = [&[0xaa, 32], &[1; 32][..], &[0x87]].concat();
    for slug in ALL {
        assert_eq!(class(slug, &pubkey_hash), "pubkeyhash");
        assert_eq!(class(slug, &script_hash), "scripthash");
        let expected = if slug == "bch" { "scripthash" } else { "nonstandard" };
        assert_eq!(class(slug, &long), expected, "{slug}");
    }
}

#[test]
fn witness_programs() {
    let program = |version: u8, length: usize| [&[version], &push(&vec![3; length])[..]].concat();
    let names = |script: &[u8]| ALL.map(|slug| class(slug, script));
    let none = "nonstandard";
    let v0 = "witness_v0_keyhash";
    assert_eq!(names(&program(0, 20)), [v0, v0, v0, none, none]);
    let v0 = "witness_v0_scripthash";
    assert_eq!(names(&program(0, 32)), [v0, v0, v0, none, none]);
    assert_eq!(names(&program(0, 21)), [none; 5]);
    let v1 = "witness_v1_taproot";
    assert_eq!(names(&program(0x51, 32)), [v1, v1, none, none, none]);
    let unknown = "witness_unknown";
    assert_eq!(names(&program(0x51, 31)), [unknown, unknown, none, none, none]);
    assert_eq!(names(&program(0x60, 40)), [unknown, unknown, none, none, none]);
    assert_eq!(names(&program(0x60, 41)), [none; 5]);
    let pegin = "witness_mweb_pegin";
    assert_eq!(names(&program(0x59, 32)), [unknown, pegin, none, none, none]);
    let hogaddr = "witness_mweb_hogaddr";
    assert_eq!(names(&program(0x58, 32)), [unknown, hogaddr, none, none, none]);
    assert_eq!(names(&program(0x58, 31)), [unknown, unknown, none, none, none]);
    assert_eq!(names(&[0x51, 2, 0x4e, 0x73]), ["anchor", unknown, none, none, none]);
}

#[test]
fn data() {
    for slug in ALL {
        for good in [&[0x6a][..], &[0x6a, 0x51, 0x50, 0x4f], &[0x6a, 1, 2], &[0x6a, 0x4c, 1, 2]] {
            assert_eq!(class(slug, good), "nulldata", "{good:x?}");
        }
        for bad in [&[0x6a, 2, 2][..], &[0x6a, 0x4c], &[0x6a, 0x4d, 0], &[0x6a, 0x61]] {
            assert_eq!(class(slug, bad), "nonstandard", "{bad:x?}");
        }
    }
}

#[test]
fn bare_keys() {
    for slug in ALL {
        for key in [key(2, 33), key(3, 33), key(4, 65), key(6, 65), key(7, 65)] {
            assert_eq!(class(slug, &[&push(&key)[..], &[0xac]].concat()), "pubkey");
        }
    }
    let odd = [
        [&push(&key(5, 33))[..], &[0xac]].concat(),
        [&push(&key(4, 33))[..], &[0xac]].concat(),
        [&push(&key(2, 65))[..], &[0xac]].concat(),
        [&push(&key(2, 34))[..], &[0xac]].concat(),
        [&long_push(&key(2, 33))[..], &[0xac]].concat(),
    ];
    for script in odd {
        let none = "nonstandard";
        assert_eq!(ALL.map(|slug| class(slug, &script)), [none, none, "pubkey", none, none]);
    }
}

#[test]
fn a_key_hash_pushed_by_a_longer_opcode_has_a_name_on_the_oldest_rules_but_no_destination() {
    let script = [&[0x76, 0xa9][..], &long_push(&[1; 20]), &[0x88, 0xac]].concat();
    let none = "nonstandard";
    assert_eq!(ALL.map(|slug| class(slug, &script)), [none, none, "pubkeyhash", none, none]);
    let rules = &find("doge").unwrap().format().unwrap().scripts;
    assert_eq!(super::super::Destination::of_script(&script, rules), None);
}

fn multisig(required: &[u8], keys: &[Vec<u8>], total: &[u8]) -> Vec<u8> {
    [required, &keys.concat(), total, &[0xae]].concat()
}

#[test]
fn bare_multisig() {
    let keys = |count: usize| vec![push(&key(2, 33)); count];
    let names = |script: &[u8]| ALL.map(|slug| class(slug, script));
    let (yes, no) = ("multisig", "nonstandard");
    assert_eq!(names(&multisig(&[0x51], &keys(2), &[0x52])), [yes; 5]);
    assert_eq!(names(&multisig(&[0x60], &keys(16), &[0x60])), [yes; 5]);
    // More keys than there are opcodes for: a pushed number.
    assert_eq!(names(&multisig(&[0x51], &keys(17), &[1, 17])), [yes, no, no, no, no]);
    assert_eq!(names(&multisig(&[1, 17], &keys(20), &[1, 20])), [yes, no, no, no, no]);
    assert_eq!(names(&multisig(&[0x51], &keys(21), &[1, 21])), [no; 5]);
    assert_eq!(names(&multisig(&[1, 1], &keys(2), &[0x52])), [no; 5]);
    // Numbers that do not agree: the oldest solver has named the script by then.
    assert_eq!(names(&multisig(&[0x53], &keys(2), &[0x52])), [no, no, yes, no, no]);
    assert_eq!(names(&multisig(&[0x51], &keys(3), &[0x52])), [no, no, yes, no, no]);
    assert_eq!(names(&multisig(&[0x00], &keys(1), &[0x51])), [no, no, yes, no, no]);
    let long = vec![long_push(&key(2, 33)); 2];
    assert_eq!(names(&multisig(&[0x51], &long, &[0x52])), [yes, yes, yes, no, no]);
    let garbage = vec![push(&key(9, 40)); 2];
    assert_eq!(names(&multisig(&[0x51], &garbage, &[0x52])), [no, no, yes, no, no]);
    assert_eq!(names(&[0xae]), [no; 5]);
    assert_eq!(names(&[0x51, 0xae]), [no; 5]);
    // The last byte is part of a push.
    assert_eq!(names(&[0x51, 0x51, 2, 0xae]), [no; 5]);
}

#[test]
fn unspendable() {
    assert!(is_unspendable(&[0x6a]));
    assert!(is_unspendable(&[0x6a, 0xff]));
    assert!(is_unspendable(&[0x51; 10_001]));
    assert!(!is_unspendable(&[0x51; 10_000]));
    assert!(!is_unspendable(&[]));
}
