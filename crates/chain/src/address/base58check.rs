//! Base58Check addresses: a version byte, a hash of 20 bytes, the first four bytes of the double
//! SHA-256 of both.
//!
//! Source: Bitcoin Core, src/base58.cpp.

use crate::utxo::Destination;
use crate::{BitcoinAddresses, Hash32};

const PAYLOAD_BYTES: usize = 21;
const BYTES: usize = PAYLOAD_BYTES + 4;

/// The address of a hash.
pub(super) fn encode(version: u8, hash: &[u8; 20]) -> String {
    let mut bytes = [0; BYTES];
    bytes[0] = version;
    bytes[1..PAYLOAD_BYTES].copy_from_slice(hash);
    let sum = checksum(&bytes[..PAYLOAD_BYTES]);
    bytes[PAYLOAD_BYTES..].copy_from_slice(&sum);
    bs58::encode(bytes).into_string()
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
