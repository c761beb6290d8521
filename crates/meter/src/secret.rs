//! The characters of an API key (decision B1).
//!
//! `ptl_`, 32 base62 characters from the operating system's randomness, 6 base62 characters of
//! the CRC-32 of the 36 before them. The check characters refuse a typo without a look-up and
//! let secret scanners find leaked keys. Invariant: nothing here shows a key unless it is asked
//! to by [`ApiKey::reveal`].

use std::fmt;

use sha2::{Digest, Sha256};

const MARK: &[u8] = b"ptl_";
const RANDOM: usize = 32;
const CHECK: usize = 6;
const LENGTH: usize = MARK.len() + RANDOM + CHECK;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A new key, whose characters are shown once.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Makes a key. Fails where the operating system has no randomness to give.
    pub(crate) fn generate() -> Result<ApiKey, getrandom::Error> {
        let mut text = MARK.to_vec();
        let mut random = [0; 64];
        while text.len() < MARK.len() + RANDOM {
            getrandom::fill(&mut random)?;
            // 248 = 4 × 62: bytes above would make some characters likelier.
            let fair = random.iter().filter(|byte| **byte < 248);
            text.extend(fair.map(|byte| BASE62[usize::from(byte % 62)]));
            text.truncate(MARK.len() + RANDOM);
        }
        let check = check_characters(&text);
        text.extend(check);
        Ok(ApiKey(text.into_iter().map(char::from).collect()))
    }

    /// The characters, to be shown once.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The first 12 characters, kept for display.
    pub(crate) fn prefix(&self) -> &str {
        &self.0[..12]
    }

    /// What the store keeps.
    pub(crate) fn digest(&self) -> [u8; 32] {
        digest(self.0.as_bytes())
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

/// The SHA-256 of a presented key, if it has the form of one and its check characters are right.
#[inline]
pub(crate) fn digest_of(presented: &str) -> Option<[u8; 32]> {
    let text = presented.as_bytes();
    if text.len() != LENGTH || !text.starts_with(MARK) {
        return None;
    }
    let (body, check) = text.split_at(LENGTH - CHECK);
    (check_characters(body) == check && body[MARK.len()..].iter().all(u8::is_ascii_alphanumeric))
        .then(|| digest(text))
}

fn digest(text: &[u8]) -> [u8; 32] {
    Sha256::digest(text).into()
}

/// CRC-32 (IEEE) in base62, most significant digit first, padded with `0`.
fn check_characters(body: &[u8]) -> [u8; CHECK] {
    let mut rest = crc32fast::hash(body);
    let mut check = [b'0'; CHECK];
    for place in check.iter_mut().rev() {
        *place = BASE62[(rest % 62) as usize];
        rest /= 62;
    }
    check
}

#[cfg(test)]
mod tests;
