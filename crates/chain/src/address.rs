//! Addresses: the written form of a destination on one network.
//!
//! Reading takes every form that stands for the destination there; writing gives the one canonical
//! form. Invariant: what is read is a destination whose script leads back to the same address, and
//! nothing of another network is read.

mod base58check;
mod bitcoin;
mod cash_addr;
mod decred;
mod mistyped;
mod zcash;

use std::fmt;

use crate::AddressParams;
use crate::utxo::{Destination, Format};

/// The longest text that is looked at, in bytes: the sum of a unified address is good for so many.
const LONGEST: usize = 1023;

/// Why a text leads to no destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// It is no address on the network: another network's, a wrong checksum, mixed case where
    /// case does not matter, or of a script that has no address.
    Unknown,
    /// It is an address of shielded pools alone, where no output shows who is paid.
    Shielded,
    /// It would be an address of the network, but for its checksum.
    Checksum,
    /// It is an address of MimbleWimble extension blocks, which no output shows.
    Stealth,
    /// It is an address of a bare public key, not of its hash.
    BareKey,
}

impl AddressError {
    /// The sentence for whoever sent the text, which is not repeated in it.
    pub fn text(self) -> &'static str {
        match self {
            AddressError::Unknown => "not an address of this network",
            AddressError::Checksum => "the checksum of the address is wrong",
            AddressError::Stealth => {
                "a MimbleWimble address: no output of the chain shows what it receives or holds"
            }
            AddressError::Shielded => {
                "a shielded address: the chain does not show what it receives or holds"
            }
            AddressError::BareKey => {
                "the address of a bare public key: outputs to bare keys count for no address"
            }
        }
    }
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for AddressError {}

impl AddressParams {
    /// The canonical address of a destination; `None` where this network has no form for it.
    pub fn encode(&self, destination: &Destination) -> Option<String> {
        match self {
            AddressParams::Bitcoin(params) => bitcoin::encode(params, destination),
            AddressParams::Zcash(params) => zcash::encode(params, destination),
            AddressParams::Decred(params) => decred::encode(params, destination),
            AddressParams::Monero(_) | AddressParams::Ethereum => None,
        }
    }

    /// The destination of an address in any of its forms.
    ///
    /// # Errors
    /// Text that is no address here, or an address of this network that no output can show; see
    /// [`AddressError`].
    pub fn decode(&self, text: &str, format: &Format) -> Result<Destination, AddressError> {
        if text.len() > LONGEST || !text.is_ascii() {
            return Err(AddressError::Unknown);
        }
        let found = match self {
            AddressParams::Bitcoin(params) => bitcoin::decode(params, text),
            AddressParams::Zcash(params) => zcash::decode(params, text),
            AddressParams::Decred(params) => decred::decode(params, text),
            AddressParams::Monero(_) | AddressParams::Ethereum => Err(AddressError::Unknown),
        };
        let found = found.map_err(|why| match why {
            AddressError::Unknown if mistyped::is_mistyped(self, text) => AddressError::Checksum,
            why => why,
        })?;
        let back = Destination::of_script(&found.script(), &format.scripts);
        if back == Some(found) { Ok(found) } else { Err(AddressError::Unknown) }
    }
}

#[cfg(test)]
mod tests;
