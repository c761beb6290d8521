//! Who counted a usage row, where several processes count for one store.
//!
//! A replica is a usage file: it has its number from its beginning, and the rows that were counted
//! in it carry that. So a row has one writer, which always knows all of it, and what is used is the
//! sum over replicas. A file that is lost takes its number along: what is counted after it goes into
//! rows of its own. Invariant: no two files have one number, but for those that were made before
//! there were numbers, which have 0; a store of that time had one file a service.

use std::io;

/// The number of a usage file, of 63 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Replica(u64);

impl Replica {
    /// The file that counted before there were numbers.
    pub const FIRST: Replica = Replica(0);

    /// A number that no other file has.
    pub(crate) fn random() -> io::Result<Replica> {
        let random = getrandom::u64().map_err(io::Error::other)?;
        Ok(Replica((random >> 1).max(1)))
    }

    /// The replica of a number that [`Replica::number`] gave; the highest bit is not looked at.
    pub(crate) fn from_number(number: u64) -> Replica {
        Replica(number & (u64::MAX >> 1))
    }

    /// Its number.
    pub fn number(self) -> u64 {
        self.0
    }
}
