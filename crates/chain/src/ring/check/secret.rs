//! The secret keys that open outputs.
//!
//! Invariant: the digits are wiped once they were read, the scalar when it is dropped, and nothing
//! shows either.

use curve25519_dalek::Scalar;
use zeroize::Zeroizing;

/// Which key it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// The receiver's view key, which opens every payment to the wallet.
    View,
    /// The key that the sender made the transaction with, or one of its outputs.
    Transaction,
}

impl KeyKind {
    /// The kind of this name in a question.
    pub fn named(name: &str) -> Option<KeyKind> {
        [KeyKind::View, KeyKind::Transaction].into_iter().find(|kind| kind.as_str() == name)
    }

    /// Its name in questions and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            KeyKind::View => "viewkey",
            KeyKind::Transaction => "txkey",
        }
    }
}

/// A secret key: a scalar that is wiped from memory when it is dropped.
pub struct SecretKey(Zeroizing<Scalar>);

/// Why a text is no secret key. The text itself is not repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadKey {
    /// Not 64 hex digits.
    #[error("not a key of 64 hex characters")]
    Form,
    /// Several keys in a row, as wallets write them of a transaction whose outputs have keys of
    /// their own.
    #[error("several keys in a row: ask with one of 64 hex characters at a time")]
    Several,
    /// Zero, or not below the order of the group.
    #[error("not a secret key: zero, or too large a number")]
    Range,
}

impl SecretKey {
    /// Reads 64 hex digits of any case.
    ///
    /// # Errors
    /// See [`BadKey`].
    pub fn parse(text: &str) -> Result<SecretKey, BadKey> {
        let are_digits = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match text.len() {
            64 if are_digits => {}
            longer if are_digits && longer > 64 && longer % 64 == 0 => return Err(BadKey::Several),
            _ => return Err(BadKey::Form),
        }
        let mut bytes = Zeroizing::new([0; 32]);
        const_hex::decode_to_slice(text, &mut bytes[..]).map_err(|_| BadKey::Form)?;
        let scalar: Option<Scalar> = Scalar::from_canonical_bytes(*bytes).into();
        match scalar {
            Some(scalar) if scalar != Scalar::ZERO => Ok(SecretKey(Zeroizing::new(scalar))),
            _ => Err(BadKey::Range),
        }
    }

    pub(super) fn scalar(&self) -> &Scalar {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_canonical_scalar_that_is_not_zero_is_a_key() {
        let why = |text: &str| SecretKey::parse(text).err();
        // The order of the group, and one less.
        let order = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";
        let below = order.replacen("ed", "ec", 1);
        assert_eq!((why(&below), why(&below.to_uppercase())), (None, None));
        assert_eq!(why(order), Some(BadKey::Range));
        assert_eq!(why(&"ff".repeat(32)), Some(BadKey::Range));
        assert_eq!(why(&"0".repeat(64)), Some(BadKey::Range));
        assert_eq!(why(&below.repeat(4)), Some(BadKey::Several));
        let prefixed = format!("0x{}", &below[..62]);
        for bad in ["", "ec", &below[..63], &format!("{below}0"), &prefixed, &" ".repeat(64)] {
            assert_eq!(why(bad), Some(BadKey::Form));
        }
    }

    #[test]
    fn kinds_have_their_names() {
        assert_eq!(KeyKind::named("viewkey"), Some(KeyKind::View));
        assert_eq!(KeyKind::named("txkey"), Some(KeyKind::Transaction));
        assert_eq!(KeyKind::named("ViewKey"), None);
    }
}
