//! Addresses of a network: a spend key and a view key, of a wallet or of a part of it.
//!
//! No address appears on the chain; whoever has one asks what it was paid with. Source: monero,
//! src/cryptonote_basic/cryptonote_basic_impl.cpp, `get_account_address_from_str`.

use std::fmt;

use super::base58;
use super::bytes32::Key;
use super::keccak::keccak;
use super::point::point;
use crate::MoneroAddresses;

/// Bytes of the checksum at the end.
const CHECKSUM: usize = 4;

/// An address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// What it is an address of.
    pub kind: AddressKind,
    /// The public spend key.
    pub spend: Key,
    /// The public view key.
    pub view: Key,
}

/// What an address is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    /// A wallet.
    Standard,
    /// A wallet, with a payment id.
    Integrated([u8; 8]),
    /// A part of a wallet.
    Subaddress,
}

/// Why a text is no address. The text itself is not repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    /// Not written as an address is, or too short or too long.
    #[error("not an address")]
    Form,
    /// The checksum is wrong.
    #[error("the checksum of the address is wrong")]
    Checksum,
    /// An address of another network, or of nothing that is known.
    #[error("not an address of this network")]
    Network,
    /// One of its keys is no point of the curve.
    #[error("a key of the address is no public key")]
    Key,
}

impl Address {
    /// Reads an address of a network.
    ///
    /// # Errors
    /// See [`BadAddress`].
    pub fn parse(text: &str, network: &MoneroAddresses) -> Result<Address, BadAddress> {
        // The longest, an integrated one, has 106.
        let bytes = match text.len() {
            ..=128 => base58::decode(text).ok_or(BadAddress::Form)?,
            _ => return Err(BadAddress::Form),
        };
        let (body, checksum) = bytes.split_last_chunk::<CHECKSUM>().ok_or(BadAddress::Form)?;
        if keccak(&[body])[..CHECKSUM] != *checksum {
            return Err(BadAddress::Checksum);
        }
        let (tag, keys) = body.split_first().ok_or(BadAddress::Form)?;
        let (keys, id) = keys.split_at_checked(64).ok_or(BadAddress::Form)?;
        let kind = match (*tag, id.len()) {
            (tag, 0) if tag == network.standard => AddressKind::Standard,
            (tag, 0) if tag == network.subaddress => AddressKind::Subaddress,
            (tag, 8) if tag == network.integrated => {
                AddressKind::Integrated(id.try_into().map_err(|_| BadAddress::Form)?)
            }
            (_, 0 | 8) => return Err(BadAddress::Network),
            _ => return Err(BadAddress::Form),
        };
        let [spend, view] = keys.as_chunks().0 else { return Err(BadAddress::Form) };
        let (spend, view) = (Key(*spend), Key(*view));
        match point(&spend).is_some() && point(&view).is_some() {
            true => Ok(Address { kind, spend, view }),
            false => Err(BadAddress::Key),
        }
    }

    /// The text of the address on a network.
    pub fn encode(&self, network: &MoneroAddresses) -> String {
        let (tag, id): (u8, &[u8]) = match &self.kind {
            AddressKind::Standard => (network.standard, &[]),
            AddressKind::Integrated(id) => (network.integrated, id),
            AddressKind::Subaddress => (network.subaddress, &[]),
        };
        let mut bytes = [&[tag], &self.spend.0[..], &self.view.0, id].concat();
        bytes.extend(&keccak(&[&bytes])[..CHECKSUM]);
        base58::encode(&bytes)
    }
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AddressKind::Standard => "standard",
            AddressKind::Integrated(_) => "integrated",
            AddressKind::Subaddress => "subaddress",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tags of the main network and of the test network.
    const MAIN: MoneroAddresses = MoneroAddresses { standard: 18, integrated: 19, subaddress: 42 };
    const TEST: MoneroAddresses = MoneroAddresses { standard: 53, integrated: 54, subaddress: 63 };

    /// Monero's donation address.
    const DONATION: &str = "44AFFq5kSiGBoZ4NMDwYtN18obc8AemS33DBLWs3H7otXft3XjrpDtQGv7SqSsaBYBb98uNbr2VBBEt7f2wfn3RVGQBEP3A";

    #[test]
    fn every_kind_comes_back_and_only_on_its_network() {
        let donation = Address::parse(DONATION, &MAIN).unwrap();
        assert_eq!(
            (donation.kind, donation.encode(&MAIN)),
            (AddressKind::Standard, DONATION.into())
        );
        for kind in
            [AddressKind::Standard, AddressKind::Integrated([7; 8]), AddressKind::Subaddress]
        {
            let address = Address { kind, ..donation };
            let text = address.encode(&MAIN);
            let length = if matches!(kind, AddressKind::Integrated(_)) { 106 } else { 95 };
            assert_eq!((text.len(), Address::parse(&text, &MAIN)), (length, Ok(address)));
            assert_eq!(Address::parse(&text, &TEST), Err(BadAddress::Network));
            for place in 0..text.len() {
                let mut typo = text.clone().into_bytes();
                typo[place] = if typo[place] == b'4' { b'5' } else { b'4' };
                let typo = String::from_utf8(typo).unwrap();
                let refused = Address::parse(&typo, &MAIN);
                assert!(matches!(refused, Err(BadAddress::Checksum | BadAddress::Form)), "{typo}");
            }
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let sealed = |body: &[u8]| base58::encode(&[body, &keccak(&[body])[..CHECKSUM]].concat());
        let donation = Address::parse(DONATION, &MAIN).unwrap();
        let keys = [&[18][..], &donation.spend.0, &donation.view.0].concat();
        // A payment id under the tag of an address without one, and the other way round.
        let with_id = sealed(&[&keys[..], &[0; 8]].concat());
        let without_id = sealed(&[&[19], &keys[1..]].concat());
        let no_point = sealed(&[&keys[..33], &[2], &[0; 31]].concat());
        let cases = [
            (String::new(), BadAddress::Form),
            ("1".repeat(200), BadAddress::Form),
            (DONATION[..94].to_owned(), BadAddress::Form),
            (format!(" {DONATION}"), BadAddress::Form),
            (sealed(&[]), BadAddress::Form),
            (sealed(&keys[..64]), BadAddress::Form),
            (sealed(&[&keys[..], &[0; 9]].concat()), BadAddress::Form),
            (with_id, BadAddress::Network),
            (without_id, BadAddress::Network),
            (no_point, BadAddress::Key),
        ];
        for (text, why) in cases {
            assert_eq!(Address::parse(&text, &MAIN), Err(why), "{text}");
        }
    }
}
