//! B1: the form of a key and what its check characters catch.

use std::collections::HashSet;

use super::*;

#[test]
fn a_key_has_the_form_and_finds_its_digest() {
    let key = ApiKey::generate().unwrap();
    let text = key.reveal();
    assert_eq!(text.len(), 42);
    assert!(text.starts_with("ptl_"));
    assert!(text[4..].bytes().all(|b| b.is_ascii_alphanumeric()));
    assert_eq!(digest_of(text), Some(key.digest()));
    assert_eq!(key.prefix(), &text[..12]);
    assert_eq!(format!("{key:?}"), "<secret>");
}

#[test]
fn the_check_characters_are_fixed() {
    let body = format!("ptl_{}", "0".repeat(32));
    let check = String::from_utf8(check_characters(body.as_bytes()).to_vec()).unwrap();
    let mut value = 0_u64;
    for digit in check.bytes() {
        value = value * 62 + BASE62.iter().position(|b| *b == digit).unwrap() as u64;
    }
    assert_eq!(value, u64::from(crc32fast::hash(body.as_bytes())));
}

#[test]
fn every_typo_of_one_character_and_every_swap_is_refused() {
    let key = ApiKey::generate().unwrap();
    let text = key.reveal().as_bytes();
    for place in 0..text.len() {
        for other in 0..=127_u8 {
            let mut typo = text.to_vec();
            typo[place] = other;
            if typo != text {
                assert_eq!(digest_of(std::str::from_utf8(&typo).unwrap()), None);
            }
        }
        if place > 0 && text[place] != text[place - 1] {
            let mut swapped = text.to_vec();
            swapped.swap(place, place - 1);
            assert_eq!(digest_of(std::str::from_utf8(&swapped).unwrap()), None);
        }
    }
}

#[test]
fn other_lengths_and_alphabets_are_refused() {
    let key = ApiKey::generate().unwrap();
    let text = key.reveal();
    for odd in ["", "ptl_", &text[..41], &format!("{text}0"), &text.to_uppercase(), "é"] {
        assert_eq!(digest_of(odd), None);
    }
    let mut odd = b"ptl_--------------------------------".to_vec();
    odd.extend(check_characters(&odd.clone()));
    assert_eq!(digest_of(std::str::from_utf8(&odd).unwrap()), None);
}

#[test]
fn keys_differ_and_use_the_whole_alphabet() {
    let keys: Vec<_> = (0..200).map(|_| ApiKey::generate().unwrap()).collect();
    assert_eq!(keys.iter().map(|key| key.reveal()).collect::<HashSet<_>>().len(), 200);
    let used: HashSet<u8> = keys.iter().flat_map(|key| key.reveal()[4..36].bytes()).collect();
    assert_eq!(used.len(), 62);
}
