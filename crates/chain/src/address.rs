//! Addresses: the written form of a destination on one network.
//!
//! Reading takes every form that stands for the destination there; writing gives the one canonical
//! form. Invariant: what is read is a destination whose script leads back to the same address, and
//! nothing of another network is read.

mod base58check;
mod cash_addr;

use crate::utxo::{Destination, Format, WitnessProgram};
use crate::{AddressParams, BitcoinAddresses};

/// The longest text that is looked at, in bytes.
const LONGEST: usize = 128;

/// Text that is no address on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an address on this network")]
pub struct NotAnAddress;

impl AddressParams {
    /// The canonical address of a destination; `None` where this network has no form for it.
    pub fn encode(&self, destination: &Destination) -> Option<String> {
        match self {
            AddressParams::Bitcoin(params) => encode(params, destination),
            _ => None,
        }
    }

    /// The destination of an address in any of its forms.
    ///
    /// # Errors
    /// Text that is no address here: another network's, a wrong checksum, mixed case where case
    /// does not matter, or a script that has no address.
    pub fn decode(&self, text: &str, format: &Format) -> Result<Destination, NotAnAddress> {
        let AddressParams::Bitcoin(params) = self else { return Err(NotAnAddress) };
        if text.len() > LONGEST || !text.is_ascii() {
            return Err(NotAnAddress);
        }
        // All are tried: a base58 address may begin with the letters of a bech32 prefix.
        base58check::decode(params, text)
            .or_else(|| witness(params, text))
            .or_else(|| cash_addr::decode(&params.cashaddr?, text))
            .filter(|found| {
                Destination::of_script(&found.script(), &format.scripts).as_ref() == Some(found)
            })
            .ok_or(NotAnAddress)
    }
}

fn encode(params: &BitcoinAddresses, destination: &Destination) -> Option<String> {
    if let Some(cash_addr) = &params.cashaddr {
        return cash_addr::encode(cash_addr, destination);
    }
    match destination {
        Destination::PubkeyHash(hash) => Some(base58check::encode(params.p2pkh, hash)),
        Destination::ScriptHash(hash) => Some(base58check::encode(*params.p2sh.first()?, hash)),
        Destination::ScriptHash32(_) => None,
        Destination::Witness(program) => {
            let prefix = bech32::Hrp::parse(params.segwit?).ok()?;
            let version = bech32::Fe32::try_from(program.version()).ok()?;
            bech32::segwit::encode(prefix, version, program.program()).ok()
        }
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

#[cfg(test)]
mod tests;
