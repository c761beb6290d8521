//! What an index says of itself, held against what the open store goes by.

use super::{LastBlock, Schema, Store};
use crate::faults::Faults;
use crate::identity::{META, META_IDENTITY, META_TIP};
use crate::{Identity, ReadError};

/// A word: its key, its value, and whether it must be there.
pub(crate) type Word = (&'static [u8], Vec<u8>, bool);

impl<R: Schema> Store<R> {
    /// The rows of `meta` say what the open store goes by, and there are no others.
    pub(crate) fn audit_words(&self, faults: &mut Faults) -> Result<(), ReadError> {
        let mut words = R::words(self);
        words.push((META_IDENTITY, Identity::new(self.chain, self.network).bytes(), true));
        words.extend(self.tip.map(|tip| (META_TIP, tip.bytes(), true)));
        let mut rows = self.db.latest().rows(META);
        while let Some((key, value)) = rows.here()? {
            match words.iter().position(|(known, wanted, _)| *known == key && wanted == value) {
                Some(place) => drop(words.swap_remove(place)),
                None => faults.tell("meta", key, "is not what the index goes by"),
            }
            rows.step();
        }
        if words.iter().any(|(_, _, is_needed)| *is_needed) {
            faults.tell("meta", &[], "lacks a row");
        }
        Ok(())
    }
}
