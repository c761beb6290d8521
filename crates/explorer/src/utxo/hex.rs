//! Hashes and bytes in answers, as hex digits.
//!
//! Written from the stack: an answer has thousands of them.

use std::borrow::Cow;

use chain::Hash32;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// Bytes that are written without memory of their own.
const FEW: usize = 128;

/// A hash in display order.
#[derive(Debug, Clone, Copy)]
pub struct HashHex(pub Hash32);

impl JsonSchema for HashHex {
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

impl Serialize for HashHex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut shown = *self.0.wire();
        shown.reverse();
        serializer.serialize_str(const_hex::Buffer::<32>::new().format(&shown))
    }
}

/// Bytes in their order.
#[derive(Debug, Clone, Copy)]
pub struct BytesHex<'a>(pub &'a [u8]);

impl JsonSchema for BytesHex<'_> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Hex".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^([0-9a-f]{2})*$" })
    }
}

impl Serialize for BytesHex<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut digits = [0; 2 * FEW];
        match digits.get_mut(..2 * self.0.len()).map(|out| const_hex::encode_to_str(self.0, out)) {
            Some(Ok(text)) => serializer.serialize_str(text),
            _ => serializer.serialize_str(&const_hex::encode(self.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_written_as_text_is() {
        let hash = Hash32::sha256d(&[b"x"]);
        assert_eq!(serde_json::to_string(&HashHex(hash)).unwrap(), format!("\"{hash}\""));
        for length in [0, 1, FEW, FEW + 1, 10_000] {
            let bytes: Vec<u8> = (0..length).map(|n| n as u8).collect();
            let text = serde_json::to_string(&BytesHex(&bytes)).unwrap();
            assert_eq!(text, format!("\"{}\"", const_hex::encode(&bytes)));
        }
    }
}
