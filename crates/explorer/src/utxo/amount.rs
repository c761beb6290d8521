//! Amounts in answers: whole numbers of the smallest unit, as strings.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// An amount in the smallest unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount(pub i128);

impl JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "In the coin's smallest unit; may be beyond 64 bits.",
            "type": "string",
            "pattern": "^-?(0|[1-9][0-9]*)$",
        })
    }
}

impl Amount {
    /// An amount that is never below nothing. Sums of all coins are far below 2^127.
    pub(crate) fn of(amount: impl Into<u128>) -> Amount {
        Amount(i128::try_from(amount.into()).unwrap_or(i128::MAX))
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(itoa::Buffer::new().format(self.0))
    }
}
