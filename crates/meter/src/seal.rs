//! What tells a damaged row of an account or a key from a whole one.
//!
//! A database sees a page whose structure is broken, but not always a flipped bit within a value: a
//! digest that changed by one would make a paying key an unknown one. So each row carries a hash of
//! its values. It finds damage, not forgery. Invariant: a row that was damaged is never taken for a
//! whole one, nor sealed anew.

use sha2::{Digest, Sha256};

use crate::store::{Account, Key};

/// Rows with a seal.
pub(crate) trait Sealed: Sized {
    /// The table that has them.
    const TABLE: &'static str;

    /// Number of the row.
    fn id(&self) -> u64;

    /// Hash of its values.
    fn seal(&self) -> i64;
}

impl Sealed for Account {
    const TABLE: &'static str = "accounts";

    fn id(&self) -> u64 {
        self.id
    }

    fn seal(&self) -> i64 {
        hash(&[
            &self.id.to_be_bytes(),
            self.name.as_bytes(),
            self.gateway_plan.as_bytes(),
            self.explorer_plan.as_bytes(),
            &[self.suspended.into()],
            &self.created_at.secs().to_be_bytes(),
        ])
    }
}

impl Sealed for Key {
    const TABLE: &'static str = "keys";

    fn id(&self) -> u64 {
        self.id
    }

    fn seal(&self) -> i64 {
        let number = |number: Option<u64>| match number {
            Some(number) => number.to_be_bytes().to_vec(),
            None => Vec::new(),
        };
        hash(&[
            &self.id.to_be_bytes(),
            &self.account.to_be_bytes(),
            &self.digest,
            self.prefix.as_bytes(),
            &[self.label.is_some().into()],
            self.label.as_deref().unwrap_or_default().as_bytes(),
            &number(self.daily_cap),
            &number(self.expires_at.map(|at| at.secs())),
            &[self.revoked.into()],
            self.scopes.to_text().as_bytes(),
            &self.created_at.secs().to_be_bytes(),
        ])
    }
}

/// The first 8 bytes of the SHA-256 of values, each after its length.
fn hash(values: &[&[u8]]) -> i64 {
    let mut hash = Sha256::new();
    for value in values {
        hash.update((value.len() as u64).to_be_bytes());
        hash.update(value);
    }
    let digest: [u8; 32] = hash.finalize().into();
    digest.first_chunk().map_or(0, |first| i64::from_be_bytes(*first))
}
