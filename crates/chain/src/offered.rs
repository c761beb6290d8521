//! The methods of one chain as an operator offers them: narrowed by `methods`, widened by
//! `extra_methods`.
//!
//! Invariant: a method that the chain's own set does not know is taken for one that must never be
//! sent twice, and for a heavy one.

use crate::{Cacheable, Heavy, Method, MethodSet};

/// A name that is not in a chain's method set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown method {name:?}{}", .nearest.map(|n| format!(", did you mean {n:?}?")).unwrap_or_default())]
pub struct UnknownMethod {
    /// The name as it was given.
    pub name: String,
    /// The nearest name of the set, if one is near.
    pub nearest: Option<&'static str>,
}

/// The methods that an operator offers on one chain.
#[derive(Debug)]
pub struct Offered {
    rows: MethodSet,
}

impl Offered {
    /// The method of that exact name.
    pub fn find(&self, name: &str) -> Option<&Method> {
        self.rows.find(name)
    }

    /// All methods, sorted by name; `index` counts within this set.
    pub fn iter(&self) -> impl Iterator<Item = &Method> {
        self.rows.iter()
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether nothing is offered.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl MethodSet {
    /// The set as an operator offers it: only the names of `only` if given, and those of `extra`
    /// besides.
    ///
    /// An extra name that this set has keeps its marks; any other becomes a heavy method that is
    /// never sent twice. The names of such methods live until the process ends.
    ///
    /// # Errors
    /// A name in `only` that the set does not have.
    pub fn offered(
        &'static self,
        only: Option<&[String]>,
        extra: &[String],
    ) -> Result<Offered, UnknownMethod> {
        let mut rows: Vec<Method> = match only {
            None => self.iter().copied().collect(),
            Some(names) => names.iter().map(|name| self.named(name)).collect::<Result<_, _>>()?,
        };
        rows.extend(
            extra.iter().map(|name| self.find(name).copied().unwrap_or_else(|| foreign(name))),
        );
        rows.sort_unstable_by_key(|row| row.name);
        rows.dedup_by_key(|row| row.name);
        rows.iter_mut().enumerate().for_each(|(place, row)| row.index = place);
        Ok(Offered { rows: MethodSet::sorted(rows) })
    }

    fn named(&'static self, name: &str) -> Result<Method, UnknownMethod> {
        self.find(name)
            .copied()
            .ok_or_else(|| UnknownMethod { name: name.to_owned(), nearest: self.nearest(name) })
    }

    /// The name of this set that differs least, if it differs in at most a third of its letters.
    fn nearest(&'static self, name: &str) -> Option<&'static str> {
        self.iter()
            .map(|row| (strsim::damerau_levenshtein(name, row.name), row.name))
            .min()
            .filter(|(distance, near)| distance * 3 <= near.len())
            .map(|(_, near)| near)
    }
}

/// A method that the chain's set does not know.
fn foreign(name: &str) -> Method {
    Method {
        name: Box::leak(name.to_owned().into_boxed_str()),
        index: 0,
        send: true,
        heavy: Heavy::Always,
        path: false,
        alias_of: None,
        guard: None,
        cache: Cacheable::Never,
    }
}

#[cfg(test)]
mod tests;
