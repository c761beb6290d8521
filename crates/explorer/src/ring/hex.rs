//! Hashes and public keys in answers, as hex digits in the order in which they stand.

use std::borrow::Cow;

use chain::ring::{Hash, Key};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// A hash, a public key or a key image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hex32(pub [u8; 32]);

impl From<Hash> for Hex32 {
    fn from(hash: Hash) -> Hex32 {
        Hex32(hash.0)
    }
}

impl From<Key> for Hex32 {
    fn from(key: Key) -> Hex32 {
        Hex32(key.0)
    }
}

impl JsonSchema for Hex32 {
    fn schema_name() -> Cow<'static, str> {
        "Hash".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "32 bytes as nodes show them.",
            "type": "string",
            "pattern": "^[0-9a-f]{64}$",
        })
    }
}

impl Serialize for Hex32 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(const_hex::Buffer::<32>::new().format(&self.0))
    }
}
