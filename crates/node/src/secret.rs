//! A password as it stands in the configuration.
//!
//! Where it is sent is left to `credentials`. Invariant: it is never printed, not even by a
//! failing parser.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A text that no log, error or debug output shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes the text as it is.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
        deserializer.deserialize_any(TextOnly)
    }
}

/// Takes strings alone; the default errors of serde would quote a value of another kind.
struct TextOnly;

impl<'de> Visitor<'de> for TextOnly {
    type Value = Secret;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quoted text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Secret, E> {
        Ok(Secret(text.to_owned()))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Secret, E> {
        Err(E::custom("a secret must be a quoted text"))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Secret, E> {
        Err(E::custom("a secret must be a quoted text"))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Secret, E> {
        Err(E::custom("a secret must be a quoted text"))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Secret, E> {
        Err(E::custom("a secret must be a quoted text"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_never_shown() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "<secret>");
        for json in ["424242", "-424242", "42.4242", "true"] {
            let error = serde_json::from_str::<Secret>(json).unwrap_err().to_string();
            assert!(!error.contains("42"), "{error}");
        }
        let read: Secret = serde_json::from_str("\"a b\"").unwrap();
        assert_eq!(read.expose(), "a b");
    }
}
