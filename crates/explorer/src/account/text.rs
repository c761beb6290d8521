//! Amounts, hashes, addresses and bytes in answers, as texts.
//!
//! Invariant: amounts are decimal digits, bytes are lower-case hex digits after `0x` (decision A1).

use std::fmt::Display;

use serde::{Serialize, Serializer};

/// Something that is shown as it displays itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<T>(pub(super) T);

impl<T: Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Bytes.
#[derive(Debug, Clone)]
pub(super) struct Data<B>(pub(super) B);

impl<B: AsRef<[u8]>> Serialize for Data<B> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&const_hex::encode_prefixed(self.0.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use chain::account::{Address, U256};

    use super::*;

    #[test]
    fn texts_are_digits() {
        let of = |value: &dyn erased::Shown| value.shown();
        assert_eq!(of(&Text(U256::MAX)).len(), 80);
        assert_eq!(of(&Text(Address([0xab; 20]))), format!("\"0x{}\"", "ab".repeat(20)));
        assert_eq!(of(&Data(&[][..])), "\"0x\"");
        assert_eq!(of(&Data(&[0, 0xff][..])), "\"0x00ff\"");
    }

    mod erased {
        pub(super) trait Shown {
            fn shown(&self) -> String;
        }

        impl<T: serde::Serialize> Shown for T {
            fn shown(&self) -> String {
                serde_json::to_string(self).unwrap()
            }
        }
    }
}
