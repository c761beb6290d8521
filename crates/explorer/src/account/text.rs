//! Amounts, hashes, addresses and bytes in answers, as texts.
//!
//! Invariant: amounts are decimal digits, bytes are lower-case hex digits after `0x` (decision A1).

use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use chain::account::{Address, Hash, U256};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// Something that is shown as it displays itself.
#[derive(Debug, Clone, Copy)]
pub struct Text<T>(pub T);

impl<T: Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl JsonSchema for Text<U256> {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Up to 256 bits; amounts of ether are in wei.",
            "type": "string",
            "pattern": "^(0|[1-9][0-9]*)$",
        })
    }
}

impl JsonSchema for Text<Hash> {
    fn schema_name() -> Cow<'static, str> {
        "Hash".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "32 bytes.",
            "type": "string",
            "pattern": "^0x[0-9a-f]{64}$",
        })
    }
}

impl JsonSchema for Text<Address> {
    fn schema_name() -> Cow<'static, str> {
        "Address".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "20 bytes, in lower case.",
            "type": "string",
            "pattern": "^0x[0-9a-f]{40}$",
        })
    }
}

impl JsonSchema for Text<Arc<str>> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// Bytes.
#[derive(Debug, Clone)]
pub struct Data<B>(pub B);

impl<B: AsRef<[u8]>> Serialize for Data<B> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&const_hex::encode_prefixed(self.0.as_ref()))
    }
}

impl<B> JsonSchema for Data<B> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Hex".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^0x([0-9a-f]{2})*$" })
    }
}

#[cfg(test)]
mod tests {
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
