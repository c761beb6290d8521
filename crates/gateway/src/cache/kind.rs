//! Whether the answer to a call can change, told by the mark of its method and by its parameters.
//!
//! What cannot be told, an odd spelling included, is of no kind and is asked of the node.

use chain::Cacheable;
use memchr::memmem;

use crate::call::{Call, item};
use crate::json::Scan;

/// How an answer that may be remembered changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Never.
    Final,
    /// With the tip alone.
    Tip,
}

impl Kind {
    /// The kind of a call. `deep` tells the greatest height that counts as final.
    pub(crate) fn of(call: &Call<'_>, deep: impl Fn() -> Option<u64>) -> Option<Kind> {
        let params = call.envelope.params.filter(|raw| raw.first() == Some(&b'['));
        let nth = |place: u8| item(&mut Scan::inside(params?, 0), usize::from(place) - 1);
        let is_deep = |height: u64| deep().is_some_and(|deep| height <= deep);
        let is_hash = |place| nth(place).is_some_and(is_hash);
        let is_raw = || nth(2).is_some_and(|raw| matches!(raw, b"0" | b"false"));
        let final_if = |lasts: bool| Some(if lasts { Kind::Final } else { Kind::Tip });
        match call.method.cache {
            Cacheable::Never => None,
            Cacheable::Always => Some(Kind::Final),
            Cacheable::Tip => Some(Kind::Tip),
            Cacheable::Height => final_if(nth(1).and_then(height).is_some_and(is_deep)),
            Cacheable::Hash(place) => final_if(is_hash(place)),
            Cacheable::Raw => final_if(is_hash(1) && is_raw()),
            Cacheable::RawInBlock => (is_raw() && is_hash(3)).then_some(Kind::Final),
            Cacheable::Tag(place) => final_if(names_final_block(nth(place)?, is_deep)?),
            Cacheable::Logs => names_mined_logs(call.envelope.params?).then_some(Kind::Tip),
        }
    }
}

/// Is the block that an account chain's parameter names final? None where it is none that is mined.
fn names_final_block(raw: &[u8], is_deep: impl Fn(u64) -> bool) -> Option<bool> {
    if is_hash(raw) {
        return Some(true);
    }
    match text(raw)? {
        "latest" | "safe" | "finalized" => Some(false),
        "earliest" => Some(is_deep(0)),
        number => {
            let digits = number.strip_prefix("0x").filter(|digits| !digits.starts_with('+'))?;
            u64::from_str_radix(digits, 16).ok().map(is_deep)
        }
    }
}

/// Does a filter of logs keep away from what is pending, however that may be written?
fn names_mined_logs(params: &[u8]) -> bool {
    memmem::find(params, b"pending").is_none() && !params.contains(&b'\\')
}

/// Is it 32 bytes in hex?
fn is_hash(raw: &[u8]) -> bool {
    let digits = text(raw).map(|text| text.strip_prefix("0x").unwrap_or(text));
    digits.is_some_and(|digits| digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// A height, as a number or, where nodes want it so, as a text.
fn height(raw: &[u8]) -> Option<u64> {
    let digits = text(raw).or_else(|| std::str::from_utf8(raw).ok())?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// A string without escapes.
fn text(raw: &[u8]) -> Option<&str> {
    let inner = raw.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    std::str::from_utf8(inner).ok().filter(|text| !text.contains('\\'))
}

#[cfg(test)]
mod tests;
