use super::*;
use crate::ring::keccak::keccak;
use crate::ring::varint;
use crate::utxo::Problem;

/// Prefix of a transaction with inputs of these rings, and outputs with tags if it is so told.
fn prefix(version: u8, rings: &[&[u64]], outputs: usize, tagged: bool) -> Vec<u8> {
    let mut bytes = vec![version, 0, rings.len() as u8];
    for ring in rings {
        bytes.extend([2, 9, ring.len() as u8]);
        bytes.extend(ring.iter().flat_map(|offset| varint::bytes(*offset)));
        bytes.extend([0x11; 32]);
    }
    bytes.push(outputs as u8);
    for _ in 0..outputs {
        bytes.extend([4, if tagged { 3 } else { 2 }]);
        bytes.extend([0x22; 32]);
        bytes.extend(tagged.then_some(0x33));
    }
    bytes.extend([1, 0]);
    bytes
}

/// The unpruned part of a signature, and what follows: range proofs and ring signatures.
fn signature(kind: RctKind, shape: Shape, rounds: &[usize]) -> (Vec<u8>, Vec<u8>) {
    let Shape { inputs, ring, outputs } = shape;
    let mut base = vec![kind as u8, 100];
    if kind == RctKind::Simple {
        base.extend(vec![0; inputs * 32]);
    }
    base.extend(vec![0; outputs * if kind.has_short_amounts() { 8 } else { 64 }]);
    base.extend(vec![0; outputs * 32]);
    let mut proofs = match kind {
        RctKind::Full | RctKind::Simple => vec![0; outputs * 6176],
        RctKind::Bulletproof => (rounds.len() as u32).to_le_bytes().to_vec(),
        _ => varint::bytes(rounds.len() as u64),
    };
    for rounds in rounds {
        proofs.extend([0; 6 * 32]);
        for _ in 0..2 {
            proofs.push(*rounds as u8);
            proofs.extend(vec![0; rounds * 32]);
        }
        let behind = if kind == RctKind::BulletproofPlus { 0 } else { 3 };
        proofs.extend(vec![0; behind * 32]);
    }
    let scalars = match kind {
        RctKind::Full => ring * (inputs + 1) + 1,
        RctKind::Simple => inputs * (ring * 2 + 1),
        RctKind::Bulletproof | RctKind::Bulletproof2 => inputs * (ring * 2 + 1) + inputs,
        RctKind::Clsag | RctKind::BulletproofPlus => inputs * (ring + 2) + inputs,
    };
    proofs.extend(vec![0; scalars * 32]);
    (base, proofs)
}

const SHAPE: Shape = Shape { inputs: 2, ring: 3, outputs: 2 };
const RINGS: [&[u64]; 2] = [&[1, 2, 3], &[4, 5, 6]];

#[test]
fn every_kind_is_read_whole_and_pruned_and_has_the_same_hash() {
    for number in 1..=6 {
        let kind = RctKind::of(number).unwrap();
        let rounds: &[usize] = if kind < RctKind::Bulletproof { &[] } else { &[7] };
        let (base, proofs) = signature(kind, SHAPE, rounds);
        let prefix = prefix(2, &RINGS, SHAPE.outputs, number == 6);
        let pruned = [&prefix[..], &base].concat();
        let raw = [&pruned[..], &proofs].concat();
        let whole = Transaction::decode(&raw).unwrap();
        assert_eq!(whole.pruned(), pruned);
        assert_eq!(
            (whole.rct_type(), whole.fee(), whole.ring_size()),
            (Some(number), Some(100), Some(3))
        );
        let parts = [keccak(&[&prefix]), keccak(&[&base]), keccak(&[&proofs])];
        let hash = Hash(keccak(&[parts.as_flattened()]));
        assert_eq!(whole.hash(), Some(hash));
        let less = Transaction::decode_pruned(&pruned).unwrap();
        assert_eq!((less.hash(), less.weight()), (None, None));
        let proofs = digest::proofs_hash(&whole).unwrap();
        assert_eq!(less.hash_with(&proofs), Some(hash));
        assert_eq!((&less.inputs, &less.outputs), (&whole.inputs, &whole.outputs));
        assert_eq!(less.ring_ct, whole.ring_ct);
        assert!(Transaction::decode(&pruned).is_err() && Transaction::decode_pruned(&raw).is_err());
        let longer = [&raw[..], &[0]].concat();
        assert_eq!(Transaction::decode(&longer).unwrap_err().problem, Problem::Trailing);
    }
}

#[test]
fn a_later_type_has_inputs_and_outputs_but_neither_fee_nor_hash() {
    let raw = [&prefix(2, &RINGS, 3, true)[..], &[7, 1, 2, 3]].concat();
    for read in [Transaction::decode, Transaction::decode_pruned] {
        let transaction = read(&raw).unwrap();
        assert_eq!(transaction.ring_ct, RingCt::Opaque(7));
        assert_eq!((transaction.inputs.len(), transaction.outputs.len()), (2, 3));
        assert_eq!((transaction.rct_type(), transaction.size()), (Some(7), raw.len()));
        assert_eq!((transaction.fee(), transaction.weight()), (None, None));
        assert_eq!((transaction.hash(), transaction.hash_with(&Hash::ZERO)), (None, None));
        assert_eq!(transaction.pruned(), raw);
    }
}

#[test]
fn version_one_has_signatures_for_each_ring_and_a_fee_that_is_left_over() {
    let rings: [&[u64]; 2] = [&[200, 2, 3], &[4]];
    let pruned = prefix(1, &rings, 3, false);
    let raw = [&pruned[..], &[0; 4 * 64]].concat();
    let transaction = Transaction::decode(&raw).unwrap();
    assert_eq!(transaction.inputs[0].ring(), [200, 202, 205]);
    assert_eq!((transaction.fee(), transaction.visible_out()), (Some(2 * 9 - 3 * 4), 12));
    assert_eq!(transaction.hash(), Some(Hash(keccak(&[&raw]))));
    assert_eq!(transaction.weight(), Some(raw.len() as u64));
    assert!(Transaction::decode(&raw[..raw.len() - 1]).is_err());
    let pruned = Transaction::decode_pruned(&pruned).unwrap();
    assert_eq!((pruned.hash(), pruned.fee()), (None, Some(6)));
    // More goes out than comes in.
    let poor = [&prefix(1, &[&[1]], 3, false)[..], &[0; 64]].concat();
    assert_eq!(Transaction::decode(&poor).unwrap().fee(), None);
}

#[test]
fn joined_range_proofs_weigh_four_fifths_of_what_they_save() {
    let weigh = |kind, outputs, rounds: &[usize]| {
        let shape = Shape { outputs, ..SHAPE };
        let (base, proofs) = signature(kind, shape, rounds);
        let raw = [prefix(2, &RINGS, outputs, false), base, proofs].concat();
        Transaction::decode(&raw).unwrap().weight().unwrap() - raw.len() as u64
    };
    let bulletproof_2 = RctKind::Bulletproof2;
    assert_eq!(weigh(bulletproof_2, 2, &[7]), 0);
    // 16 outputs: (32 * 23 / 2 * 16 - 32 * (9 + 20)) * 4 / 5, and with six elements less three.
    assert_eq!(weigh(bulletproof_2, 16, &[10]), (368 * 16 - 928) * 4 / 5);
    assert_eq!(weigh(RctKind::BulletproofPlus, 16, &[10]), (320 * 16 - 832) * 4 / 5);
    assert_eq!(weigh(RctKind::Clsag, 3, &[8]), (368 * 4 - 800) * 4 / 5);
    // A proof for each output, as the first Bulletproofs could have it: room for two, for three.
    assert_eq!(weigh(RctKind::Bulletproof, 2, &[6, 6]), 0);
    assert_eq!(weigh(RctKind::Bulletproof, 3, &[6, 6, 6]), (368 * 3 - 800) * 4 / 5);
    assert_eq!(weigh(RctKind::Simple, 4, &[]), 0);
}

#[test]
fn proofs_that_do_not_fit_are_refused() {
    let kind = RctKind::BulletproofPlus;
    for rounds in [&[][..], &[5], &[11], &[6], &[6, 6, 6]] {
        let (base, proofs) = signature(kind, SHAPE, rounds);
        let raw = [prefix(2, &RINGS, SHAPE.outputs, true), base, proofs].concat();
        let problem = Transaction::decode(&raw).unwrap_err().problem;
        assert_eq!(problem, Problem::Proof, "{rounds:?}");
    }
}

#[test]
fn unknown_kinds_and_impossible_counts_are_errors() {
    let problem = |raw: &[u8]| Transaction::decode(raw).unwrap_err().problem;
    assert_eq!(problem(&[0, 0]), Problem::Version);
    assert_eq!(problem(&[3, 0]), Problem::Version);
    assert_eq!(problem(&[2, 0, 1, 0, 0, 0, 0]), Problem::InputKind);
    assert_eq!(problem(&[2, 0, 0x80, 0x80, 1, 0]), Problem::Count);
    let output = |kind: u8| [&[2, 0, 1, 0xff, 5, 1, 0, kind][..], &[0; 40]].concat();
    assert_eq!(problem(&output(1)), Problem::OutputKind);
    assert_eq!(problem(&output(4)), Problem::OutputKind);
    // Differences that add up to 2^64.
    let most = varint::bytes(u64::MAX);
    let sums = [&[2, 0, 1, 2, 0, 2][..], &most, &[1], &[0; 40]].concat();
    assert_eq!(problem(&sums), Problem::Number);
}

/// A transaction of a later version, read as far as it is known.
fn later(raw: &[u8]) -> Transaction<'_> {
    let transaction = Transaction::decode_later(raw).unwrap();
    assert_eq!((transaction.raw(), transaction.pruned()), (raw, raw));
    if transaction.ring_ct == RingCt::Unread {
        assert!(!transaction.is_known() && Transaction::decode(raw).is_err());
        assert_eq!((transaction.rct_type(), transaction.extra), (None, &[][..]));
        assert_eq!(
            (transaction.fee(), transaction.weight(), transaction.hash()),
            (None, None, None)
        );
    }
    transaction
}

#[test]
fn what_a_later_version_brings_is_read_up_to_what_is_not_known() {
    let known = prefix(2, &RINGS, 3, true);
    // The kind of the second output.
    let at = known.len() - 2 - 35 - 34;
    assert_eq!(known[at], 3);
    let mut raw = [&known[..], &[9; 70]].concat();
    raw[at] = 0x17;
    let output = later(&raw);
    assert_eq!((output.ring_ct, output.inputs.len(), output.outputs.len()), (RingCt::Unread, 2, 1));
    assert_eq!((output.input_count(), output.output_count()), (Some(2), Some(3)));
    // The kind of the second input.
    let at = 3 + 3 + 3 + 32;
    let mut raw = known.clone();
    assert_eq!(raw[at], 2);
    raw[at] = 0x17;
    let input = later(&raw);
    assert_eq!((input.inputs.len(), input.outputs.len()), (1, 0));
    assert_eq!((input.input_count(), input.output_count()), (Some(2), None));
    let version = later(&[3, 1, 2, 3]);
    assert_eq!((version.version, version.input_count(), version.inputs.len()), (3, None, 0));
    // What is known is read as always, and a type of ring signatures that is not leaves more.
    let opaque = [&known[..], &[9, 1, 2, 3]].concat();
    assert_eq!(later(&opaque).ring_ct, RingCt::Opaque(9));
    // A reward of a kind that is not known.
    let reward = [&[2, 60, 1, 0xff, 5, 1, 77, 0x17][..], &[1; 50]].concat();
    let reward = later(&reward);
    assert!(reward.is_coinbase() && reward.outputs.is_empty());
    assert_eq!(reward.output_count(), Some(1));
    // There is no version 0, and none above 255.
    for raw in [&[][..], &[0, 1], &[0x80, 2, 1]] {
        assert!(Transaction::decode_later(raw).is_err());
    }
}
