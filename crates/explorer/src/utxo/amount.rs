//! Amounts in answers: whole numbers of the smallest unit, as strings.

use serde::{Serialize, Serializer};

/// An amount in the smallest unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Amount(pub(crate) i128);

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
