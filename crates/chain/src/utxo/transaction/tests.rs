use super::*;
use crate::find;
use crate::utxo::{Block, Problem};

fn format(slug: &str) -> Format {
    *find(slug).unwrap().format().unwrap()
}

const INPUT: &[u8] = &{
    let mut bytes = [0; 41];
    bytes[0] = 7;
    bytes
};
const OUTPUT: &[u8] = &[5, 0, 0, 0, 0, 0, 0, 0, 0];
const VERSION: &[u8] = &[2, 0, 0, 0];
const LOCK_TIME: &[u8] = &[9, 0, 0, 0];

fn body() -> Vec<u8> {
    [&[1], INPUT, &[1], OUTPUT].concat()
}

fn problem(slug: &str, raw: &[u8]) -> Problem {
    Transaction::decode(raw, &format(slug)).unwrap_err().problem
}

#[test]
fn witnesses_are_left_out_of_the_id_and_count_a_quarter() {
    let plain = [VERSION, &body(), LOCK_TIME].concat();
    let witness = [VERSION, &[0, 1], &body(), &[1, 2, 0xaa, 0xbb], LOCK_TIME].concat();
    let format = format("btc");
    let plain = Transaction::decode(&plain, &format).unwrap();
    let with = Transaction::decode(&witness, &format).unwrap();
    assert_eq!(plain.txid(), with.txid());
    assert_eq!((plain.size(), plain.vsize()), (60, 60));
    assert_eq!((with.size(), with.vsize()), (66, 62));
    assert_eq!((with.version, with.lock_time), (2, 9));
}

#[test]
fn a_marker_needs_flags_that_are_known() {
    for flags in [0, 2, 8, 9, 0x81] {
        let raw = [VERSION, &[0, flags], &body(), &[0, 0], LOCK_TIME].concat();
        assert_eq!(problem("btc", &raw), Problem::Flags);
    }
    let raw = [VERSION, &[0, 1], &body(), &[0], LOCK_TIME].concat();
    assert!(Transaction::decode(&raw, &format("btc")).is_ok());
    assert!(Transaction::decode(&raw, &format("bch")).is_err());
}

#[test]
fn extension_data_alone_goes_up_to_the_lock_time() {
    let raw = [VERSION, &[0, 8], &body(), &[1], &[0xee; 300], LOCK_TIME].concat();
    let transaction = Transaction::decode(&raw, &format("ltc")).unwrap();
    assert_eq!((transaction.size(), transaction.vsize(), transaction.lock_time), (363, 60, 9));
    assert!(!transaction.is_hogex() && !transaction.is_extension_only());
    let only = [VERSION, &[0, 8], &[0, 0], &[1], &[0xee; 300], LOCK_TIME].concat();
    let transaction = Transaction::decode(&only, &format("ltc")).unwrap();
    assert!(transaction.is_extension_only());
    assert_eq!((transaction.inputs().len(), transaction.value_out()), (0, 0));
    let short = [VERSION, &[0, 8], &[0, 0], &[1], &[0, 0]].concat();
    assert_eq!(problem("ltc", &short), Problem::Short);
}

#[test]
fn in_a_block_only_the_hogex_says_that_there_is_an_extension() {
    let header = [0; 80];
    let hogex = [VERSION, &[0, 8], &body(), &[0], LOCK_TIME].concat();
    let decode = |transaction: &[u8], tail: &[u8]| {
        let raw = [&header, &[1][..], transaction, tail].concat();
        Block::decode(&raw, &format("ltc")).map(|block| block.extension.map(<[u8]>::to_vec))
    };
    assert_eq!(decode(&hogex, &[1, 5, 6]), Ok(Some(vec![5, 6])));
    assert_eq!(decode(&hogex, &[0]), Ok(None));
    assert_eq!(decode(&hogex, &[]), Ok(None));
    assert_eq!(decode(&hogex, &[0, 1]).unwrap_err().problem, Problem::Trailing);
    assert_eq!(decode(&hogex, &[2]).unwrap_err().problem, Problem::Extension);
    let plain = [VERSION, &body(), LOCK_TIME].concat();
    assert_eq!(decode(&plain, &[1, 5]).unwrap_err().problem, Problem::Trailing);
    let data = [VERSION, &[0, 8], &body(), &[1, 0xee], LOCK_TIME].concat();
    assert_eq!(decode(&data, &[]).unwrap_err().problem, Problem::Extension);
    let empty = [VERSION, &[0, 8], &[0, 0], &[0], LOCK_TIME].concat();
    assert!(decode(&empty, &[]).is_err());
}

#[test]
fn amounts_and_counts_are_in_range() {
    let negative = [VERSION, &[1], INPUT, &[1], &[0xff; 8], &[0], LOCK_TIME].concat();
    assert_eq!(problem("btc", &negative), Problem::Amount);
    let many = [VERSION, &[0xfe, 0xff, 0xff, 0xff, 0x7f], &[0; 60]].concat();
    assert_eq!(problem("btc", &many), Problem::Count);
    let block = [&[0; 80][..], &[0]].concat();
    assert_eq!(Block::decode(&block, &format("btc")).unwrap_err().problem, Problem::Empty);
    let block = [&[0; 80][..], &[0xff; 9], &[0; 200]].concat();
    assert_eq!(Block::decode(&block, &format("btc")).unwrap_err().problem, Problem::Count);
}

/// A sum of outputs above 2^64, each of them allowed.
#[test]
fn sums_have_128_bits() {
    let most = [&i64::MAX.to_le_bytes()[..], &[0]].concat();
    let raw = [VERSION, &[1], INPUT, &[3], &most.repeat(3), LOCK_TIME].concat();
    let transaction = Transaction::decode(&raw, &format("doge")).unwrap();
    assert_eq!(transaction.value_out(), 3 * u128::from(i64::MAX as u64));
}

#[test]
fn a_coinbase_spends_nothing_with_its_only_input() {
    let null = [&[0; 32][..], &[0xff; 4], &[0], &[0xff; 4]].concat();
    let raw = [VERSION, &[1], &null, &[1], OUTPUT, LOCK_TIME].concat();
    assert!(Transaction::decode(&raw, &format("btc")).unwrap().is_coinbase());
    let two = [VERSION, &[2], &null, &null, &[1], OUTPUT, LOCK_TIME].concat();
    assert!(!Transaction::decode(&two, &format("btc")).unwrap().is_coinbase());
}
