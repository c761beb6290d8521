//! Hex texts of the execution API as numbers and bytes.
//!
//! Source: execution-apis, base types: a quantity has no leading zeros, but nodes have written some.
//! Invariant: what does not fit its type is an error, never cut.

use std::fmt;
use std::marker::PhantomData;

use chain::account::{Address, Hash, U256};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

/// Something that a hex text with `0x` before it stands for.
pub(super) trait FromHex: Sized {
    /// What it is, for an error.
    const WHAT: &'static str;

    /// Reads the digits after `0x`.
    fn from_digits(digits: &str) -> Option<Self>;
}

/// A value that stands in JSON as a hex text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hex<T>(pub(super) T);

impl<'de, T: FromHex> Deserialize<'de> for Hex<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Hex<T>, D::Error> {
        from.deserialize_str(Reader(PhantomData)).map(Hex)
    }
}

struct Reader<T>(PhantomData<T>);

impl<T: FromHex> Visitor<'_> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::WHAT)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        read(text).ok_or_else(|| E::custom(T::WHAT))
    }
}

/// Reads a hex text with `0x` before it.
pub(super) fn read<T: FromHex>(text: &str) -> Option<T> {
    T::from_digits(text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?)
}

impl FromHex for u64 {
    const WHAT: &'static str = "a quantity of 64 bits";

    fn from_digits(digits: &str) -> Option<u64> {
        let plain = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
    }
}

impl FromHex for U256 {
    const WHAT: &'static str = "a quantity of 256 bits";

    fn from_digits(digits: &str) -> Option<U256> {
        let plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        plain.then(|| U256::from_str_radix(digits, 16).ok()).flatten()
    }
}

impl FromHex for Hash {
    const WHAT: &'static str = "a hash of 32 bytes";

    fn from_digits(digits: &str) -> Option<Hash> {
        array(digits).map(Hash)
    }
}

impl FromHex for Address {
    const WHAT: &'static str = "an address of 20 bytes";

    fn from_digits(digits: &str) -> Option<Address> {
        array(digits).map(Address)
    }
}

impl FromHex for [u8; 32] {
    const WHAT: &'static str = "a word of 32 bytes";

    fn from_digits(digits: &str) -> Option<[u8; 32]> {
        array(digits)
    }
}

impl FromHex for Vec<u8> {
    const WHAT: &'static str = "bytes";

    fn from_digits(digits: &str) -> Option<Vec<u8>> {
        if digits.starts_with("0x") {
            return None;
        }
        const_hex::decode(digits).ok()
    }
}

fn array<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if digits.len() != 2 * N {
        return None;
    }
    const_hex::decode_to_slice(digits, &mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_bytes_fit_or_are_errors() {
        fn of<T: FromHex>(text: &str) -> Option<T> {
            serde_json::from_str::<Hex<T>>(&format!("\"{text}\"")).ok().map(|hex| hex.0)
        }
        assert_eq!(of::<u64>("0x0"), Some(0));
        assert_eq!(of::<u64>("0x00ff"), Some(255));
        assert_eq!(of::<u64>("0xffffffffffffffff"), Some(u64::MAX));
        assert_eq!(of::<U256>(&format!("0x{}", "f".repeat(64))), Some(U256::MAX));
        assert_eq!(of::<Vec<u8>>("0x"), Some(vec![]));
        assert_eq!(of::<Vec<u8>>("0x00fF"), Some(vec![0, 255]));
        for bad in ["", "0x", "12", "0x+1", "0x-1", "0x10000000000000000", "0xg", "0x1_0"] {
            assert_eq!(of::<u64>(bad), None, "{bad}");
        }
        for bad in ["0x", "0x_1", "0x0x1", &format!("0x1{}", "0".repeat(64))] {
            assert_eq!(of::<U256>(bad), None, "{bad}");
        }
        assert_eq!(of::<Vec<u8>>("0x0"), None);
        assert_eq!(of::<Vec<u8>>("0x0x00"), None);
        assert_eq!(of::<Hash>("0x00"), None);
    }
}
