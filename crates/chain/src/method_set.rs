//! The methods of one chain, sorted by name.
//!
//! Narrowing and widening by an operator is left to `offered`. Invariant: names are sorted and
//! unique, and `index` is a method's position.

use crate::Method;

/// The methods of one chain.
#[derive(Debug)]
pub struct MethodSet {
    rows: Vec<Method>,
}

impl MethodSet {
    /// A set of rows that are already sorted, unique and indexed.
    pub(crate) fn sorted(rows: Vec<Method>) -> MethodSet {
        debug_assert!(rows.is_sorted_by(|a, b| a.name < b.name));
        MethodSet { rows }
    }

    /// The method of that exact name.
    pub fn find(&self, name: &str) -> Option<&Method> {
        let place = self.rows.binary_search_by(|row| row.name.cmp(name)).ok()?;
        Some(&self.rows[place])
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
