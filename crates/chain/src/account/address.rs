//! 20-byte addresses of accounts.
//!
//! Invariant: text is shown as `0x` and 40 lower-case hex digits (decision A1); text of mixed case
//! is read only where its case is the checksum of EIP-55.

use std::fmt;
use std::str::FromStr;

use super::keccak256;

/// An account.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Address(pub [u8; 20]);

/// Text that is no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    /// Not `0x` and 40 hex digits.
    #[error("not an address of 0x and 40 hex digits")]
    Form,
    /// Digits of both cases whose case is not the checksum.
    #[error("the checksum of the address is wrong: its letters' case does not fit (EIP-55)")]
    Checksum,
}

impl Address {
    /// The low 20 bytes of a word, as topics of logs hold addresses.
    pub(crate) fn of_word(word: &[u8; 32]) -> Address {
        let (_, low) = word.split_last_chunk().expect("a word has 32 bytes");
        Address(*low)
    }

    /// The text in EIP-55: the case of its letters is a checksum.
    pub fn checksummed(&self) -> String {
        let mut text = const_hex::encode(self.0);
        let hash = keccak256(text.as_bytes());
        let nibble = |place: usize| hash[place / 2] >> (4 * (1 - place % 2)) & 0xf;
        let cased = text.drain(..).enumerate().map(|(place, digit)| match nibble(place) {
            8.. => digit.to_ascii_uppercase(),
            _ => digit,
        });
        let cased: String = cased.collect();
        format!("0x{cased}")
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(const_hex::Buffer::<20, true>::new().format(&self.0))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Address, BadAddress> {
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        let digits = digits.ok_or(BadAddress::Form)?;
        if digits.len() != 40 || digits.starts_with("0x") {
            return Err(BadAddress::Form);
        }
        let mut bytes = [0; 20];
        const_hex::decode_to_slice(digits, &mut bytes).map_err(|_| BadAddress::Form)?;
        let address = Address(bytes);
        let lower = digits.bytes().any(|digit| digit.is_ascii_lowercase());
        let upper = digits.bytes().any(|digit| digit.is_ascii_uppercase());
        match lower && upper && address.checksummed()[2..] != *digits {
            true => Err(BadAddress::Checksum),
            false => Ok(address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_the_standard_are_read_in_every_case_and_typos_are_not() {
        for text in [
            "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
            "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
            "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
            "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
            "0x52908400098527886E0F7030069857D2E4169EE7",
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.checksummed(), text);
            assert_eq!(address.to_string(), text.to_lowercase());
            assert_eq!(text.to_lowercase().parse(), Ok(address));
            assert_eq!(format!("0X{}", text[2..].to_uppercase()).parse(), Ok(address));
        }
        let typo = "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
        assert_eq!(typo.parse::<Address>(), Err(BadAddress::Checksum));
        let short = &typo[..41];
        for bad in ["", "0x", &typo[2..], short, &format!("{typo}0"), "0xg", "vitalik.eth"] {
            assert_eq!(bad.parse::<Address>(), Err(BadAddress::Form), "{bad}");
        }
    }
}
