//! The name of an output script in keys.
//!
//! Invariant: the name depends on a secret of the store, so that nobody can make two scripts with
//! one name.

use siphasher::sip128::SipHasher24;

/// The first 10 bytes of the keyed SipHash-2-4-128 of an output script without token prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ScriptId(pub(crate) [u8; 10]);

/// The secret of a store: drawn once, or given where two stores are to be compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HashKey([u8; 16]);

impl HashKey {
    /// The key of those 16 bytes.
    pub fn new(bytes: [u8; 16]) -> HashKey {
        HashKey(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The id of a script. One of another version than 0 is another script than the same bytes
    /// of version 0, and has no address.
    pub(crate) fn script_id(&self, version: u16, script: &[u8]) -> ScriptId {
        let hasher = SipHasher24::new_with_key(&self.0);
        let hash = match version {
            0 => hasher.hash(script),
            _ => hasher.hash(&[script, &version.to_be_bytes(), b"version"].concat()),
        };
        let hash = hash.as_bytes();
        ScriptId(*hash.first_chunk().expect("the hash has 16 bytes"))
    }
}

impl std::fmt::Debug for HashKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<secret>")
    }
}
