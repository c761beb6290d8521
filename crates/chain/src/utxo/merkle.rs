//! The tree of transactions whose root a header commits to.

use crate::Hash32;

/// How the nodes of a tree are hashed.
#[derive(Clone, Copy)]
pub(super) enum Tree {
    /// Double SHA-256.
    Plain,
    /// BLAKE-256; the root of an empty tree is zero.
    Staked,
}

/// The root over the ids of a block's transactions, in block order; `None` if there are none, or
/// if the list repeats itself in a way that leaves the root unchanged (CVE-2012-2459), which no
/// valid block does.
///
/// Source: Bitcoin Core, src/consensus/merkle.cpp.
pub fn merkle_root(txids: &[Hash32]) -> Option<Hash32> {
    Tree::Plain.root(txids)
}

impl Tree {
    /// The root over leaves, in the same sense; dcrd, blockchain/standalone/merkle.go has the same
    /// tree.
    pub(super) fn root(self, leaves: &[Hash32]) -> Option<Hash32> {
        let mut level = leaves.to_vec();
        while level.len() > 1 {
            if level.chunks_exact(2).any(|pair| pair[0] == pair[1]) {
                return None;
            }
            let nodes = level.len().div_ceil(2);
            for node in 0..nodes {
                let right = (2 * node + 1).min(level.len() - 1);
                level[node] = self.node(&level[2 * node], &level[right]);
            }
            level.truncate(nodes);
        }
        match (level.first(), self) {
            (None, Tree::Staked) => Some(Hash32::ZERO),
            (root, _) => root.copied(),
        }
    }

    fn node(self, left: &Hash32, right: &Hash32) -> Hash32 {
        match self {
            Tree::Plain => Hash32::sha256d_of_two(left, right),
            Tree::Staked => Hash32::blake256(&[left.wire(), right.wire()]),
        }
    }
}

#[cfg(test)]
mod tests;
