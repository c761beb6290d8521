//! What an audit finds wrong.
//!
//! Invariant: all faults are counted, and the first ones are kept.

/// So many faults are told in words.
const KEPT: usize = 100;

/// Faults that were found so far.
#[derive(Default)]
pub(crate) struct Faults {
    kept: Vec<String>,
    count: u64,
}

impl Faults {
    /// Notes what is wrong with a row.
    pub(crate) fn tell(&mut self, table: &str, key: &[u8], what: impl std::fmt::Display) {
        self.say(format_args!("{table} {}: {what}", const_hex::encode(key)));
    }

    /// Notes what is wrong.
    pub(crate) fn say(&mut self, what: impl std::fmt::Display) {
        if self.kept.len() < KEPT {
            self.kept.push(what.to_string());
        }
        self.count += 1;
    }

    /// The first faults, and how many there are.
    pub(crate) fn into_parts(self) -> (Vec<String>, u64) {
        (self.kept, self.count)
    }
}
