//! The hash of a block's transactions as a tree.
//!
//! Source: monero, src/crypto/tree-hash.c: as many of the last leaves are joined in pairs as it
//! takes to be left with a power of two, and from there on all are.

use super::bytes32::Hash;
use super::keccak::keccak;

/// The root over the leaves; zero over none, which no block has.
pub(super) fn tree_hash(mut leaves: Vec<Hash>) -> Hash {
    let join = |pair: &[Hash; 2]| Hash(keccak(&[&pair[0].0, &pair[1].0]));
    if leaves.len() > 2 {
        // The largest power of two below the number of leaves.
        let width = leaves.len().next_power_of_two() / 2;
        let paired = leaves.split_off(2 * width - leaves.len());
        leaves.extend(paired.as_chunks().0.iter().map(join));
    }
    while leaves.len() > 1 {
        leaves = leaves.as_chunks().0.iter().map(join).collect();
    }
    leaves.first().copied().unwrap_or(Hash::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_leaves_are_joined_as_the_source_says() {
        let leaf = |n: u8| Hash([n; 32]);
        let join = |a: Hash, b: Hash| Hash(keccak(&[&a.0, &b.0]));
        assert_eq!(tree_hash(vec![leaf(1)]), leaf(1));
        assert_eq!(tree_hash(vec![leaf(1), leaf(2)]), join(leaf(1), leaf(2)));
        let three = tree_hash((1..=3).map(leaf).collect());
        assert_eq!(three, join(leaf(1), join(leaf(2), leaf(3))));
        let four = tree_hash((1..=4).map(leaf).collect());
        assert_eq!(four, join(join(leaf(1), leaf(2)), join(leaf(3), leaf(4))));
        let five = tree_hash((1..=5).map(leaf).collect());
        let left = join(leaf(1), leaf(2));
        assert_eq!(five, join(left, join(leaf(3), join(leaf(4), leaf(5)))));
    }
}
