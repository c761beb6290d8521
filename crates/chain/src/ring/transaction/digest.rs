//! The hash of a transaction: of version 1 over its bytes, of version 2 over the hashes of its
//! three parts.
//!
//! Source: monero, src/cryptonote_basic/cryptonote_format_utils.cpp,
//! `calculate_transaction_hash`.

use super::{RingCt, Transaction};
use crate::ring::bytes32::Hash;
use crate::ring::keccak::keccak;

pub(super) fn hash(transaction: &Transaction<'_>) -> Option<Hash> {
    match transaction.ring_ct {
        RingCt::Absent if transaction.is_whole || transaction.is_coinbase() => {
            Some(Hash(keccak(&[transaction.raw])))
        }
        RingCt::Absent | RingCt::Opaque(_) | RingCt::Unread => None,
        RingCt::Null => hash_with(transaction, &Hash::ZERO),
        RingCt::Known(_) => hash_with(transaction, &proofs_hash(transaction)?),
    }
}

pub(super) fn hash_with(transaction: &Transaction<'_>, proofs: &Hash) -> Option<Hash> {
    let proofs = match transaction.ring_ct {
        RingCt::Known(_) => proofs,
        // Nothing is hashed as zero, whatever a node says: some say the hash of no bytes.
        RingCt::Null => &Hash::ZERO,
        RingCt::Absent | RingCt::Opaque(_) | RingCt::Unread => return None,
    };
    let (prefix, base) = transaction.raw[..transaction.ends.1].split_at(transaction.ends.0);
    Some(Hash(keccak(&[&keccak(&[prefix]), &keccak(&[base]), &proofs.0])))
}

pub(super) fn proofs_hash(transaction: &Transaction<'_>) -> Option<Hash> {
    match transaction.ring_ct {
        RingCt::Known(_) if transaction.is_whole => {
            Some(Hash(keccak(&[&transaction.raw[transaction.ends.1..]])))
        }
        _ => None,
    }
}
