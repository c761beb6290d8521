use curve25519_dalek::constants::EIGHT_TORSION;

use super::derivation::hash_to_scalar;
use super::*;
use crate::ring::keccak::keccak;
use crate::ring::varint;

fn scalar(n: u64) -> Scalar {
    *hash_to_scalar(&[&n.to_le_bytes()])
}

fn secret(scalar: &Scalar) -> SecretKey {
    SecretKey::parse(&const_hex::encode(scalar.as_bytes())).ok().unwrap()
}

fn key(point: EdwardsPoint) -> Key {
    Key(point.compress().0)
}

/// Secret keys of a wallet, and the spend scalar of one of its subaddresses.
struct Wallet {
    view: Scalar,
    spend: Scalar,
    sub: Scalar,
}

impl Wallet {
    fn new(n: u64) -> Wallet {
        Wallet { view: scalar(n), spend: scalar(n + 1), sub: scalar(n + 2) }
    }

    fn standard(&self) -> Address {
        let [spend, view] = [self.spend, self.view].map(|one| key(EdwardsPoint::mul_base(&one)));
        Address { kind: AddressKind::Standard, spend, view }
    }

    fn subaddress(&self) -> Address {
        let spend = EdwardsPoint::mul_base(&self.sub);
        let view = key(self.view * spend);
        Address { kind: AddressKind::Subaddress, spend: key(spend), view }
    }
}

/// The shared scalar and the one-time key of an output, as its sender makes it.
fn pay(secret: &Scalar, to: &Address, index: usize) -> (Scalar, [u8; 32], Key) {
    let shared = (secret * point(&to.view).unwrap()).mul_by_cofactor().compress().0;
    let scalar = *hash_to_scalar(&[&shared, &varint::bytes(index as u64)]);
    let one_time = EdwardsPoint::mul_base(&scalar) + point(&to.spend).unwrap();
    (scalar, shared, key(one_time))
}

fn tag(shared: &[u8; 32], index: usize) -> u8 {
    keccak(&[b"view_tag", shared, &varint::bytes(index as u64)])[0]
}

/// What `extra` is made of.
enum Field {
    Public(Key),
    Additional(Vec<Key>),
    Broken,
}

fn extra(fields: &[Field]) -> Vec<u8> {
    let one = |field: &Field| match field {
        Field::Public(key) => [&[1][..], &key.0].concat(),
        Field::Additional(keys) => {
            let keys: Vec<u8> = keys.iter().flat_map(|key| key.0).collect();
            [&[4][..], &varint::bytes(keys.len() as u64 / 32), &keys].concat()
        }
        Field::Broken => vec![0x77, 0x77],
    };
    fields.iter().flat_map(one).collect()
}

/// A version 1 coinbase, or one of version 2, with outputs of public amounts: 100, 101, …
fn coinbase(version: u8, outputs: &[(Key, Option<u8>)], fields: &[Field]) -> Vec<u8> {
    let mut raw = [&[version, 60, 1, 0xff, 9][..], &varint::bytes(outputs.len() as u64)].concat();
    for (place, (key, tag)) in outputs.iter().enumerate() {
        raw.extend(varint::bytes(100 + place as u64));
        raw.push(if tag.is_some() { 3 } else { 2 });
        raw.extend(key.0);
        raw.extend(tag);
    }
    let extra = extra(fields);
    raw.extend(varint::bytes(extra.len() as u64));
    raw.extend(extra);
    raw.extend((version == 2).then_some(0));
    raw
}

/// A transaction that hides the amounts of its outputs, without its proofs.
fn hidden(outputs: &[(Key, [u8; 8], Key)], fields: &[Field]) -> Vec<u8> {
    let mut raw = [&[2, 0, 1, 2, 0, 1, 7][..], &[0x11; 32], &[outputs.len() as u8]].concat();
    for (key, ..) in outputs {
        raw.extend([0, 2]);
        raw.extend(key.0);
    }
    let extra = extra(fields);
    raw.extend(varint::bytes(extra.len() as u64));
    raw.extend(extra);
    raw.extend([5, 33]);
    raw.extend(outputs.iter().flat_map(|(_, amount, _)| *amount));
    raw.extend(outputs.iter().flat_map(|(.., commitment)| commitment.0));
    raw
}

/// Hidden amount and commitment of an output.
fn hide(shared: &Scalar, amount: u64) -> ([u8; 8], Key) {
    let pad = keccak(&[b"amount", shared.as_bytes()]);
    let pad = u64::from_le_bytes(*pad.first_chunk().unwrap());
    let mask = hash_to_scalar(&[b"commitment_mask", shared.as_bytes()]);
    // The generator of amounts, apart from where it is used: eight times the hash of G as a point.
    let base = curve25519_dalek::constants::ED25519_BASEPOINT_COMPRESSED.0;
    let generator = point(&Key(keccak(&[&base]))).unwrap().mul_by_cofactor();
    let commitment = EdwardsPoint::mul_base(&mask) + Scalar::from(amount) * generator;
    ((amount ^ pad).to_le_bytes(), key(commitment))
}

fn ask(raw: &[u8], address: &Address, kind: KeyKind, key: &Scalar) -> Vec<(usize, Option<u64>)> {
    let transaction = Transaction::decode_pruned(raw).unwrap();
    let answer = check(&transaction, address, kind, &secret(key));
    let sum: u128 = answer.matches.iter().filter_map(|one| one.amount).map(u128::from).sum();
    assert_eq!(answer.total, sum);
    for one in &answer.matches {
        assert_eq!(one.public_key, transaction.outputs[one.index].key);
    }
    answer.matches.iter().map(|one| (one.index, one.amount)).collect()
}

#[test]
fn public_amounts_need_the_transaction_s_own_key() {
    let (wallet, sender) = (Wallet::new(10), scalar(1));
    let address = wallet.standard();
    let public = Field::Public(key(EdwardsPoint::mul_base(&sender)));
    for version in [1, 2] {
        let (_, shared, one_time) = pay(&sender, &address, 1);
        let stranger = (key(EdwardsPoint::mul_base(&scalar(99))), None);
        for tag in [None, Some(tag(&shared, 1))] {
            let fields = [Field::Public(key(EdwardsPoint::mul_base(&sender)))];
            let raw = coinbase(version, &[stranger, (one_time, tag)], &fields);
            let found = [(1, Some(101))];
            assert_eq!(ask(&raw, &address, KeyKind::View, &wallet.view), found);
            assert_eq!(ask(&raw, &address, KeyKind::Transaction, &sender), found);
            assert_eq!(ask(&raw, &address, KeyKind::Transaction, &wallet.view), []);
            assert_eq!(ask(&raw, &address, KeyKind::View, &sender), []);
            assert_eq!(ask(&raw, &wallet.subaddress(), KeyKind::View, &wallet.view), []);
        }
        let wrong_tag = Some(tag(&shared, 1) ^ 1);
        let raw = coinbase(version, &[stranger, (one_time, wrong_tag)], &[]);
        assert_eq!(ask(&raw, &address, KeyKind::View, &wallet.view), []);
    }
    // Anybody can make up a key and an address that lead to an output. Their key is not the
    // transaction's.
    let made_up = scalar(5);
    let (forged, _) = forge(&made_up, &pay(&sender, &address, 0).2, 0);
    let raw = coinbase(1, &[(pay(&sender, &address, 0).2, None)], &[public]);
    assert_eq!(pay(&made_up, &forged, 0).2, pay(&sender, &address, 0).2);
    assert_eq!(ask(&raw, &forged, KeyKind::Transaction, &made_up), []);
}

/// An address that an output seems to pay by a made-up transaction key.
fn forge(made_up: &Scalar, one_time: &Key, index: usize) -> (Address, Scalar) {
    let view = scalar(77);
    let any = Address { view: key(EdwardsPoint::mul_base(&view)), ..Wallet::new(70).standard() };
    let (scalar, ..) = pay(made_up, &any, index);
    let spend = point(one_time).unwrap() - EdwardsPoint::mul_base(&scalar);
    (Address { spend: key(spend), ..any }, view)
}

#[test]
fn hidden_amounts_are_held_against_their_commitments() {
    let (wallet, sender) = (Wallet::new(20), scalar(2));
    let address = wallet.standard();
    let fields = [Field::Public(key(EdwardsPoint::mul_base(&sender)))];
    let (shared, _, one_time) = pay(&sender, &address, 0);
    let (amount, commitment) = hide(&shared, 123);
    let raw = hidden(&[(one_time, amount, commitment)], &fields);
    for (kind, key) in [(KeyKind::View, wallet.view), (KeyKind::Transaction, sender)] {
        assert_eq!(ask(&raw, &address, kind, &key), [(0, Some(123))]);
    }
    // Another amount than the one committed to, a commitment that is no point, and a forged claim.
    let (other, _) = hide(&shared, 124);
    let mut no_point = [0; 32];
    no_point[0] = 2;
    for (amount, commitment) in [(other, commitment), (amount, Key(no_point))] {
        let raw = hidden(&[(one_time, amount, commitment)], &fields);
        assert_eq!(ask(&raw, &address, KeyKind::View, &wallet.view), [(0, None)]);
        assert_eq!(ask(&raw, &address, KeyKind::Transaction, &sender), []);
    }
    let made_up = scalar(6);
    let (forged, _) = forge(&made_up, &one_time, 0);
    assert_eq!(ask(&raw, &forged, KeyKind::Transaction, &made_up), []);
}

#[test]
fn every_public_key_is_tried_and_what_is_no_point_is_skipped() {
    let (wallet, sender) = (Wallet::new(30), scalar(3));
    let (shared, _, one_time) = pay(&sender, &wallet.standard(), 0);
    let (amount, commitment) = hide(&shared, u64::MAX);
    let outputs = [(one_time, amount, commitment)];
    let public = |secret: &Scalar| Field::Public(key(EdwardsPoint::mul_base(secret)));
    let mut no_point = [0; 32];
    no_point[0] = 2;
    // One that only reads as a point where forms are not looked at.
    let mut negative_zero = [0; 32];
    (negative_zero[0], negative_zero[31]) = (1, 0x80);
    let odd = || [no_point, negative_zero].map(|bytes| Field::Public(Key(bytes)));
    let small = || EIGHT_TORSION.map(|point| Field::Public(key(point)));
    let before: Vec<Field> = odd().into_iter().chain(small()).chain([public(&scalar(4))]).collect();
    let many = |count| (0..count).map(|n| public(&scalar(1000 + n)));
    for (fields, found) in [
        (before.into_iter().chain([public(&sender), Field::Broken]).collect::<Vec<_>>(), true),
        (many(MOST_KEYS as u64 - 1).chain([public(&sender)]).collect(), true),
        (many(MOST_KEYS as u64).chain([public(&sender)]).collect(), false),
        (vec![Field::Broken, public(&sender)], false),
        (vec![], false),
    ] {
        let raw = hidden(&outputs, &fields);
        let expected: &[_] = if found { &[(0, Some(u64::MAX))] } else { &[] };
        assert_eq!(ask(&raw, &wallet.standard(), KeyKind::View, &wallet.view), expected);
        // No key of the transaction enters here.
        let sent = ask(&raw, &wallet.standard(), KeyKind::Transaction, &sender);
        assert_eq!(sent, [(0, Some(u64::MAX))]);
    }
}

#[test]
fn an_additional_key_opens_its_own_output_only() {
    let (wallet, main, own) = (Wallet::new(40), scalar(7), scalar(8));
    let address = wallet.subaddress();
    let spend = point(&address.spend).unwrap();
    let additional = key(own * spend);
    let outputs: Vec<_> = (0..3).map(|index| (pay(&own, &address, index).2, None)).collect();
    let nobody = key(EdwardsPoint::mul_base(&scalar(9)));
    let fields = [
        Field::Public(key(EdwardsPoint::mul_base(&main))),
        Field::Additional(vec![nobody, additional]),
    ];
    let raw = coinbase(1, &outputs, &fields);
    let found = [(1, Some(101))];
    assert_eq!(ask(&raw, &address, KeyKind::View, &wallet.view), found);
    assert_eq!(ask(&raw, &address, KeyKind::Transaction, &own), found);
    assert_eq!(ask(&raw, &address, KeyKind::Transaction, &main), []);
    // A subaddress alone: its key is the transaction's.
    let fields = [Field::Public(additional)];
    let raw = coinbase(1, &outputs, &fields);
    let all = [(0, Some(100)), (1, Some(101)), (2, Some(102))];
    assert_eq!(ask(&raw, &address, KeyKind::View, &wallet.view), all);
    assert_eq!(ask(&raw, &address, KeyKind::Transaction, &own), all);
    // The same wallet's main address, and its view key with an address whose keys it did not make.
    let mixed = Address { spend: wallet.standard().spend, ..address };
    for address in [wallet.standard(), mixed] {
        assert_eq!(ask(&raw, &address, KeyKind::View, &wallet.view), []);
    }
}

#[test]
fn a_coinbase_of_hundreds_of_outputs_with_many_keys_is_answered() {
    let (wallet, sender) = (Wallet::new(50), scalar(11));
    let address = wallet.standard();
    let public = key(EdwardsPoint::mul_base(&sender));
    let outputs: Vec<_> = (0..300).map(|index| (pay(&sender, &address, index).2, None)).collect();
    let odd = |n: u64| Field::Public(key(EdwardsPoint::mul_base(&scalar(2000 + n))));
    let fields: Vec<Field> = [Field::Public(public)].into_iter().chain((0..200).map(odd)).collect();
    let found = ask(&coinbase(2, &outputs, &fields), &address, KeyKind::View, &wallet.view);
    assert_eq!(found.len(), 300);
    assert_eq!(found[299], (299, Some(399)));
}

#[test]
fn a_later_type_shows_whose_an_output_is_but_no_amount() {
    let (wallet, sender) = (Wallet::new(60), scalar(12));
    let (shared, _, one_time) = pay(&sender, &wallet.standard(), 0);
    let (amount, commitment) = hide(&shared, 5);
    let fields = [Field::Public(key(EdwardsPoint::mul_base(&sender)))];
    let mut raw = hidden(&[(one_time, amount, commitment)], &fields);
    let place = raw.len() - 2 - 8 - 32;
    assert_eq!(raw[place], 5);
    raw[place] = 7;
    assert_eq!(ask(&raw, &wallet.standard(), KeyKind::View, &wallet.view), [(0, None)]);
    assert_eq!(ask(&raw, &wallet.standard(), KeyKind::Transaction, &sender), []);
}
