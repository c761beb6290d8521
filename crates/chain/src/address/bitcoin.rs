//! Addresses of Bitcoin and its near relatives: base58, segregated witness, CashAddr.

use super::base58check::{self, Payload, Sum};
use super::cash_addr;
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

pub(super) fn decode(params: &BitcoinAddresses, text: &str) -> Option<Destination> {
    // All are tried: a base58 address may begin with the letters of a bech32 prefix.
    base58(params, text)
        .or_else(|| witness(params, text))
        .or_else(|| cash_addr::decode(&params.cashaddr?, text))
}

fn base58(params: &BitcoinAddresses, text: &str) -> Option<Destination> {
    let payload = Payload::of(text, Sum::Sha256)?;
    let ([version], hash) = payload.split()?;
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
