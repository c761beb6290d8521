//! The methods of one chain, sorted by name.
//!
//! Narrowing and widening by an operator is left to `offered`. Invariant: names are sorted and
//! unique, and `index` is a method's position; the order by length has each of them once.

use crate::Method;

/// The methods of one chain.
#[derive(Debug)]
pub struct MethodSet {
    rows: Vec<Method>,
    /// Names with their places, by length and then as they are: each call is looked up, and most
    /// names are told apart by how long they are.
    by_length: Vec<(&'static str, usize)>,
}

impl MethodSet {
    /// A set of rows that are already sorted, unique and indexed.
    pub(crate) fn sorted(rows: Vec<Method>) -> MethodSet {
        debug_assert!(rows.is_sorted_by(|a, b| a.name < b.name));
        let mut by_length: Vec<_> = rows.iter().map(|row| row.name).zip(0..).collect();
        by_length.sort_unstable_by_key(|(name, _)| (name.len(), *name));
        MethodSet { rows, by_length }
    }

    /// The method of that exact name.
    pub fn find(&self, name: &str) -> Option<&Method> {
        let order = |(known, _): &(&str, usize)| {
            known.len().cmp(&name.len()).then_with(|| known.cmp(&name))
        };
        let found = self.by_length.binary_search_by(order).ok()?;
        self.rows.get(self.by_length.get(found)?.1)
    }

    /// The method at that place.
    pub fn at(&self, place: usize) -> Option<&Method> {
        self.rows.get(place)
    }

    /// All methods, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Method> {
        self.rows.iter()
    }

    /// How many names there are, aliases and path methods included.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
