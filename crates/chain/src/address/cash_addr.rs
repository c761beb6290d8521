//! CashAddr: a prefix, a colon, and type, hash and a checksum of 40 bits in base 32.
//!
//! Sources: the CashAddr specification (Bitcoin Cash Node, doc/ and src/cashaddr.cpp,
//! src/cashaddrenc.cpp); the token-aware types are of CHIP-2022-02-CashTokens.

use bech32::Fe32;

use crate::CashAddr;
use crate::utxo::Destination;

/// Base-32 digits of the checksum.
const SUM_DIGITS: usize = 8;
/// Bits of the version byte: the type above, the size of the hash below.
const PUBKEY_HASH: u8 = 0;
const SCRIPT_HASH: u8 = 1;
const TOKEN_PUBKEY_HASH: u8 = 2;
const TOKEN_SCRIPT_HASH: u8 = 3;
const SIZE_20: u8 = 0;
const SIZE_32: u8 = 3;

/// The address of a destination, with its prefix.
pub(super) fn encode(params: &CashAddr, destination: &Destination) -> Option<String> {
    let (kind, size, hash): (u8, u8, &[u8]) = match destination {
        Destination::PubkeyHash(hash) => (PUBKEY_HASH, SIZE_20, hash),
        Destination::ScriptHash(hash) => (SCRIPT_HASH, SIZE_20, hash),
        Destination::ScriptHash32(hash) if params.tokens => (SCRIPT_HASH, SIZE_32, hash),
        _ => return None,
    };
    let mut bytes = vec![kind << 3 | size];
    bytes.extend_from_slice(hash);
    let mut digits = to_digits(&bytes);
    let sum = checksum(params.prefix, digits.iter().copied().chain([0; SUM_DIGITS]));
    digits.extend((0..SUM_DIGITS).rev().map(|place| (sum >> (5 * place)) as u8 & 31));
    let mut text = format!("{}:", params.prefix);
    for digit in digits {
        text.push(Fe32::try_from(digit).ok()?.to_char());
    }
    Some(text)
}

/// The destination of an address, with the prefix or without, in lower or upper case.
pub(super) fn decode(params: &CashAddr, text: &str) -> Option<Destination> {
    let prefixes = [Some(params.prefix), params.token_prefix];
    prefixes.into_iter().flatten().find_map(|prefix| {
        let digits = digits(prefix, text)?;
        if checksum(prefix, digits.iter().copied()) != 0 {
            return None;
        }
        let bytes = to_bytes(&digits[..digits.len() - SUM_DIGITS])?;
        let (&version, hash) = bytes.split_first()?;
        // The top bit is reserved, and stays in the kind so that nothing matches it.
        destination(version >> 3, version & 7, hash, params.tokens)
    })
}

/// Whether a text has a prefix of this network, and digits whose sum is wrong.
pub(super) fn is_mistyped(params: &CashAddr, text: &str) -> bool {
    let prefixes = [Some(params.prefix), params.token_prefix];
    text.contains(':')
        && prefixes.into_iter().flatten().any(|prefix| {
            digits(prefix, text).is_some_and(|digits| checksum(prefix, digits.iter().copied()) != 0)
        })
}

/// The digits behind a prefix, which may be left out, with those of the sum.
fn digits(expected: &str, text: &str) -> Option<Vec<u8>> {
    let has = |class: fn(&u8) -> bool| text.as_bytes().iter().any(class);
    if has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) {
        return None;
    }
    let body = match text.split_once(':') {
        Some((prefix, body)) if prefix.eq_ignore_ascii_case(expected) => body,
        Some(_) => return None,
        None => text,
    };
    let digits: Vec<u8> = body
        .chars()
        .map(|letter| Fe32::from_char(letter).map(Fe32::to_u8))
        .collect::<Result<_, _>>()
        .ok()?;
    (digits.len() > SUM_DIGITS).then_some(digits)
}

fn destination(kind: u8, size: u8, hash: &[u8], tokens: bool) -> Option<Destination> {
    match (kind, size) {
        (PUBKEY_HASH, SIZE_20) => hash.try_into().ok().map(Destination::PubkeyHash),
        (SCRIPT_HASH, SIZE_20) => hash.try_into().ok().map(Destination::ScriptHash),
        (SCRIPT_HASH, SIZE_32) if tokens => hash.try_into().ok().map(Destination::ScriptHash32),
        (TOKEN_PUBKEY_HASH, _) if tokens => destination(PUBKEY_HASH, size, hash, tokens),
        (TOKEN_SCRIPT_HASH, _) if tokens => destination(SCRIPT_HASH, size, hash, tokens),
        _ => None,
    }
}

/// The checksum over a prefix and digits of five bits: 0 if the last eight are right.
fn checksum(prefix: &str, digits: impl Iterator<Item = u8>) -> u64 {
    const GENERATOR: [u64; 5] =
        [0x98_f2bc_8e61, 0x79_b76d_99e2, 0xf3_3e5f_b3c4, 0xae_2eab_e2a8, 0x1e_4f43_e470];
    let prefix = prefix.bytes().map(|letter| letter & 31).chain([0]);
    let mut sum: u64 = 1;
    for digit in prefix.chain(digits) {
        let top = sum >> 35;
        sum = (sum & 0x07_ffff_ffff) << 5 ^ u64::from(digit);
        for (place, term) in GENERATOR.iter().enumerate() {
            if top >> place & 1 == 1 {
                sum ^= term;
            }
        }
    }
    sum ^ 1
}

/// Bytes as digits of five bits, the last one filled up with zeros.
fn to_digits(bytes: &[u8]) -> Vec<u8> {
    let mut digits = Vec::with_capacity(bytes.len() * 8 / 5 + 1 + SUM_DIGITS);
    let (mut bits, mut held) = (0_u32, 0);
    for byte in bytes {
        bits = bits << 8 | u32::from(*byte);
        held += 8;
        while held >= 5 {
            held -= 5;
            digits.push((bits >> held) as u8 & 31);
        }
        bits &= (1 << held) - 1;
    }
    if held > 0 {
        digits.push((bits << (5 - held)) as u8 & 31);
    }
    digits
}

/// Digits of five bits as bytes; what is left over must be zeros, and fewer than five.
fn to_bytes(digits: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(digits.len() * 5 / 8);
    let (mut bits, mut held) = (0_u32, 0);
    for digit in digits {
        bits = bits << 5 | u32::from(*digit);
        held += 5;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    (held < 5 && bits == 0).then_some(bytes)
}
