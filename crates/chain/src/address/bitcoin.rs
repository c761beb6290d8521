//! Addresses of Bitcoin and its near relatives: base58, segregated witness, CashAddr.

use bech32::primitives::decode::UncheckedHrpstring;
use bech32::{Bech32, Bech32m, Hrp};

use super::base58check::{self, Payload, Sum};
use super::{AddressError, cash_addr};
use crate::BitcoinAddresses;
use crate::utxo::{Destination, WitnessProgram};

pub(super) fn encode(params: &BitcoinAddresses, destination: &Destination) -> Option<String> {
    if let Some(cash_addr) = &params.cashaddr {
        return cash_addr::encode(cash_addr, destination);
    }
    let base58 = |version: u8, hash| Some(base58check::encode(&[version], hash, Sum::Sha256));
    match destination {
        Destination::PubkeyHash(hash) => base58(params.p2pkh, hash),
        Destination::ScriptHash(hash) => base58(*params.p2sh.first()?, hash),
        Destination::Witness(program) => {
            let prefix = bech32::Hrp::parse(params.segwit?).ok()?;
            let version = bech32::Fe32::try_from(program.version()).ok()?;
            bech32::segwit::encode(prefix, version, program.program()).ok()
        }
        Destination::ScriptHash32(_)
        | Destination::Ed25519KeyHash(_)
        | Destination::SchnorrKeyHash(_) => None,
    }
}

pub(super) fn decode(params: &BitcoinAddresses, text: &str) -> Result<Destination, AddressError> {
    // All are tried: a base58 address may begin with the letters of a bech32 prefix.
    let found = base58(params, text)
        .or_else(|| witness(params, text))
        .or_else(|| cash_addr::decode(&params.cashaddr?, text));
    found.ok_or(if is_stealth(params, text) {
        AddressError::Stealth
    } else {
        AddressError::Unknown
    })
}

/// Whether a text is a MimbleWimble address: two public keys behind its prefix and a version of 0
/// (Litecoin Core 0.21, src/key_io.cpp).
fn is_stealth(params: &BitcoinAddresses, text: &str) -> bool {
    const KEYS: usize = 2 * 33;
    let expected = params.mweb.and_then(|prefix| Hrp::parse(prefix).ok());
    UncheckedHrpstring::new(text).is_ok_and(|found| {
        let sum = found.has_valid_checksum::<Bech32>() || found.has_valid_checksum::<Bech32m>();
        // The version's digit, five bits a digit, and a sum of six digits.
        let digits = 1 + (8 * KEYS).div_ceil(5) + 6;
        sum && Some(found.hrp()) == expected && found.data_part_ascii().len() == digits
    })
}

fn base58(params: &BitcoinAddresses, text: &str) -> Option<Destination> {
    let payload = Payload::of(text, Sum::Sha256)?;
    let ([version], hash) = payload.split()?;
    // As the node prints it where scripts may have such a hash.
    let hash_32 = <[u8; 32]>::try_from(hash);
    if let (Ok(hash), true) = (hash_32, params.cashaddr.is_some_and(|it| it.tokens)) {
        return params.p2sh.contains(&version).then_some(Destination::ScriptHash32(hash));
    }
    let hash = hash.try_into().ok()?;
    if version == params.p2pkh {
        Some(Destination::PubkeyHash(hash))
    } else {
        params.p2sh.contains(&version).then_some(Destination::ScriptHash(hash))
    }
}

/// Reads a segregated-witness address (BIP 173, BIP 350) of this network.
fn witness(params: &BitcoinAddresses, text: &str) -> Option<Destination> {
    let expected = bech32::Hrp::parse(params.segwit?).ok()?;
    let (prefix, version, program) = bech32::segwit::decode(text).ok()?;
    if prefix != expected {
        return None;
    }
    WitnessProgram::new(version.to_u8(), &program).map(Destination::Witness)
}
