//! The tree of transaction ids whose root a header commits to.

use crate::Hash32;

/// The root over the ids of a block's transactions, in block order; `None` if there are none, or
/// if the list repeats itself in a way that leaves the root unchanged (CVE-2012-2459), which no
/// valid block does.
///
/// Source: Bitcoin Core, src/consensus/merkle.cpp.
pub fn merkle_root(txids: &[Hash32]) -> Option<Hash32> {
    let mut level = txids.to_vec();
    while level.len() > 1 {
        if level.chunks_exact(2).any(|pair| pair[0] == pair[1]) {
            return None;
        }
        level = level
            .chunks(2)
            .map(|pair| Hash32::sha256d(&[pair[0].wire(), pair[pair.len() - 1].wire()]))
            .collect();
    }
    level.first().copied()
}

#[cfg(test)]
mod tests;
