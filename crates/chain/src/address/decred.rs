//! Addresses of Decred: Base58Check with two bytes of version and its own hash.
//!
//! Source: dcrd, txscript/stdaddr. An address of a bare key is told apart: outputs to bare keys
//! count for no address here.

use super::AddressError;
use super::base58check::{self, Payload, Sum};
use crate::DecredAddresses;
use crate::utxo::Destination;

/// Bytes of a public key in an address.
const KEY_BYTES: usize = 33;

pub(super) fn encode(params: &DecredAddresses, destination: &Destination) -> Option<String> {
    let (version, hash) = match destination {
        Destination::PubkeyHash(hash) => (&params.pubkey_hash, hash),
        Destination::ScriptHash(hash) => (&params.script_hash, hash),
        Destination::Ed25519KeyHash(hash) => (&params.pubkey_hash_ed25519, hash),
        Destination::SchnorrKeyHash(hash) => (&params.pubkey_hash_schnorr, hash),
        Destination::ScriptHash32(_) | Destination::Witness(_) => return None,
    };
    Some(base58check::encode(version, hash, Sum::Blake256))
}

pub(super) fn decode(params: &DecredAddresses, text: &str) -> Result<Destination, AddressError> {
    let payload = Payload::of(text, Sum::Blake256).ok_or(AddressError::Unknown)?;
    let (version, hash) = payload.split::<2>().ok_or(AddressError::Unknown)?;
    if version == params.pubkey && hash.len() == KEY_BYTES {
        return Err(AddressError::BareKey);
    }
    let hash = hash.try_into().map_err(|_| AddressError::Unknown)?;
    let kinds = [
        (params.pubkey_hash, Destination::PubkeyHash(hash)),
        (params.script_hash, Destination::ScriptHash(hash)),
        (params.pubkey_hash_ed25519, Destination::Ed25519KeyHash(hash)),
        (params.pubkey_hash_schnorr, Destination::SchnorrKeyHash(hash)),
    ];
    let kind = kinds.into_iter().find(|(known, _)| *known == version);
    kind.map(|(_, destination)| destination).ok_or(AddressError::Unknown)
}
