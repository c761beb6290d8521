//! What an operator has of each chain that he runs, found by the chain's name.
//!
//! Leaves what it is that he has to whoever keeps it. Invariant: names are compared exactly, in
//! lower case (decision B17).

use crate::{ALL, Chain, find};

/// At most one `T` for each chain.
#[derive(Clone, Debug)]
pub struct ByChain<T>([Option<T>; ALL.len()]);

impl<T> ByChain<T> {
    /// What there is of the chain of exactly that slug.
    pub fn find(&self, slug: &str) -> Option<&T> {
        self.of(find(slug)?)
    }

    /// What there is of a chain.
    pub fn of(&self, chain: &Chain) -> Option<&T> {
        self.0.get(chain.ordinal)?.as_ref()
    }

    /// The slug that was meant by one that differs from it only in case.
    pub fn near(&self, slug: &str) -> Option<&'static str> {
        let chain = find(&slug.to_ascii_lowercase())?;
        self.of(chain).map(|_| chain.slug)
    }
}

impl<T> FromIterator<(&'static Chain, T)> for ByChain<T> {
    /// Of a chain that comes twice the last counts.
    fn from_iter<I: IntoIterator<Item = (&'static Chain, T)>>(all: I) -> ByChain<T> {
        let mut places = [const { None }; ALL.len()];
        for (chain, one) in all {
            places[chain.ordinal] = Some(one);
        }
        ByChain(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_exactly_and_a_wrong_case_is_told() {
        let two = [(ALL[1], "first"), (ALL[1], "last"), (ALL[3], "other")];
        let kept: ByChain<&str> = two.into_iter().collect();
        let slug = ALL[1].slug;
        assert_eq!(kept.find(slug), Some(&"last"));
        assert_eq!(kept.find(&slug.to_uppercase()), None);
        assert_eq!(kept.near(&slug.to_uppercase()), Some(slug));
        assert_eq!((kept.find(ALL[0].slug), kept.near(ALL[0].slug)), (None, None));
        assert_eq!((kept.find("nonsense"), kept.near("")), (None, None));
    }
}
