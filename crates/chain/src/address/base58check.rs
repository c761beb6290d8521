//! Base58Check addresses: a version byte, a hash of 20 bytes, the first four bytes of the double
//! SHA-256 of both.
//!
//! Source: Bitcoin Core, src/base58.cpp.

use crate::utxo::Destination;
use crate::{BitcoinAddresses, Hash32};

const PAYLOAD_BYTES: usize = 21;
const BYTES: usize = PAYLOAD_BYTES + 4;

const DIGITS: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// So many digits fit into 64 bits.
const STEP_DIGITS: usize = 10;
const STEP: u128 = 58u128.pow(STEP_DIGITS as u32);

/// The address of a hash.
pub(super) fn encode(version: u8, hash: &[u8; 20]) -> String {
    let mut bytes = [0; BYTES];
    bytes[0] = version;
    bytes[1..PAYLOAD_BYTES].copy_from_slice(hash);
    let sum = checksum(&bytes[..PAYLOAD_BYTES]);
    bytes[PAYLOAD_BYTES..].copy_from_slice(&sum);
    base58(&bytes)
}

/// The digits of a number of 200 bits, ten at a time: a page shows a hundred addresses, and digit by
/// digit they took a third of its time. A leading byte of zero is a leading digit 1.
fn base58(bytes: &[u8; BYTES]) -> String {
    let mut limbs = [0u64; 4];
    for (place, byte) in bytes.iter().rev().enumerate() {
        limbs[3 - place / 8] |= u64::from(*byte) << (place % 8 * 8);
    }
    let mut text = [DIGITS[0]; 4 * STEP_DIGITS];
    for digits in text.rchunks_exact_mut(STEP_DIGITS) {
        let mut rest = 0;
        for limb in &mut limbs {
            let value = (rest << 64) | u128::from(*limb);
            *limb = (value / STEP) as u64;
            rest = value % STEP;
        }
        let mut rest = rest as u64;
        for digit in digits.iter_mut().rev() {
            *digit = DIGITS[(rest % 58) as usize];
            rest /= 58;
        }
    }
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let unused = text.iter().take_while(|digit| **digit == DIGITS[0]).count();
    // A byte has more than one digit, so that there is always a digit left for a byte of zero.
    str::from_utf8(&text[unused - zeros..]).expect("the digits are ASCII").to_owned()
}

/// The destination of an address, if it is one with a version of these parameters.
pub(super) fn decode(params: &BitcoinAddresses, text: &str) -> Option<Destination> {
    let mut bytes = [0; BYTES];
    if bs58::decode(text).onto(&mut bytes).ok()? != BYTES {
        return None;
    }
    let (payload, sum) = bytes.split_at(PAYLOAD_BYTES);
    if sum != checksum(payload) {
        return None;
    }
    let (&version, hash) = payload.split_first()?;
    let hash = hash.try_into().ok()?;
    if version == params.p2pkh {
        Some(Destination::PubkeyHash(hash))
    } else {
        params.p2sh.contains(&version).then_some(Destination::ScriptHash(hash))
    }
}

fn checksum(payload: &[u8]) -> [u8; 4] {
    let [a, b, c, d, ..] = *Hash32::sha256d(&[payload]).wire();
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_field() {
        let mut bytes = [0; BYTES];
        assert_eq!(base58(&bytes), "1".repeat(BYTES));
        assert_eq!(base58(&[0xff; BYTES]), bs58::encode([0xff; BYTES]).into_string());
        for round in 0..2000u32 {
            let hash = Hash32::sha256d(&[&round.to_be_bytes()]);
            bytes.copy_from_slice(&hash.wire()[..BYTES]);
            bytes[..round as usize % (BYTES + 1)].fill(0);
            assert_eq!(base58(&bytes), bs58::encode(bytes).into_string());
        }
    }
}
