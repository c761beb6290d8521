//! Rows of usage: units of one key on one chain in one UTC hour.

use std::fmt;

use crate::{Replica, Service};

/// The slug of a chain as usage rows keep it: at most 8 characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainName([u8; 8]);

impl ChainName {
    /// The name of a slug; `None` if it is empty, longer than 8 or no printable ASCII.
    pub fn new(slug: &str) -> Option<ChainName> {
        let mut name = [0; 8];
        name.get_mut(..slug.len())?.copy_from_slice(slug.as_bytes());
        ChainName::from_bytes(name)
    }

    /// The name in 8 bytes, padded with zeros.
    pub(crate) fn from_bytes(name: [u8; 8]) -> Option<ChainName> {
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(8);
        let (slug, padding) = name.split_at(end);
        let good = end > 0
            && slug.iter().all(u8::is_ascii_graphic)
            && padding.iter().all(|byte| *byte == 0);
        good.then_some(ChainName(name))
    }

    pub(crate) fn bytes(self) -> [u8; 8] {
        self.0
    }

    /// The slug.
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(8);
        // Checked to be ASCII when it was made.
        std::str::from_utf8(&self.0[..end]).unwrap_or_default()
    }
}

impl fmt::Debug for ChainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a usage row counts: one key on one chain in one UTC hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowName {
    /// Hours since 1970.
    pub hour: u32,
    /// Number of the account.
    pub account: u64,
    /// Number of the key.
    pub key: u64,
    /// The chain.
    pub chain: ChainName,
}

/// Units that were used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsageRow {
    /// By whom, where and when.
    pub name: RowName,
    /// How many.
    pub units: u64,
}

/// Units that a replica counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CountedRow {
    /// On which service.
    pub service: Service,
    /// Whose row it is.
    pub replica: Replica,
    /// What it counts.
    pub row: UsageRow,
}

/// Units that a key used in a range of hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// Number of the account.
    pub account: u64,
    /// Number of the key.
    pub key: u64,
    /// How many.
    pub units: u64,
}

#[cfg(test)]
mod tests;
