//! CashTokens: the prefix of an output script that says which tokens the output holds.
//!
//! Source: CHIP-2022-02-CashTokens; Bitcoin Cash Node, src/primitives/token.h. The node takes a
//! prefix that breaks a rule for part of the script, and so does this.

use super::byte_reader::ByteReader;
use crate::Hash32;

/// First byte of a script that begins with a token prefix.
const PREFIX: u8 = 0xef;
const HAS_AMOUNT: u8 = 0x10;
const HAS_NFT: u8 = 0x20;
const HAS_COMMITMENT: u8 = 0x40;

/// The tokens that an output holds besides its coins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// Id of the transaction whose first output made the category.
    pub category: Hash32,
    /// Fungible tokens, 0 to 2^63 - 1.
    pub amount: u64,
    /// The non-fungible token, if there is one.
    pub nft: Option<Nft<'a>>,
}

/// A non-fungible token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nft<'a> {
    /// What its holder may do with it.
    pub capability: Capability,
    /// Its content, which may be empty.
    pub commitment: &'a [u8],
}

/// What the holder of a non-fungible token may do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capability {
    /// Pass it on as it is.
    None,
    /// Change its commitment.
    Mutable,
    /// Make more of its category.
    Minting,
}

impl Capability {
    /// The word of the node's JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Capability::None => "none",
            Capability::Mutable => "mutable",
            Capability::Minting => "minting",
        }
    }
}

/// Parts the bytes of an output's script into the token prefix, if there is a well-formed one,
/// and the script.
pub(super) fn split(bytes: &[u8]) -> (Option<Token<'_>>, &[u8]) {
    if bytes.first() != Some(&PREFIX) {
        return (None, bytes);
    }
    match prefix(&bytes[1..]) {
        Some((token, length)) => (Some(token), &bytes[1 + length..]),
        None => (None, bytes),
    }
}

/// The token after the prefix byte, and how many bytes it takes.
fn prefix(bytes: &[u8]) -> Option<(Token<'_>, usize)> {
    let mut reader = ByteReader::new(bytes);
    let category = reader.hash().ok()?;
    let bitfield = reader.u8().ok()?;
    let capability = capability(bitfield)?;
    let commitment = match bitfield & HAS_COMMITMENT {
        0 => &[][..],
        _ => reader.prefixed().ok().filter(|bytes| !bytes.is_empty())?,
    };
    let amount = match bitfield & HAS_AMOUNT {
        0 => 0,
        _ => reader.compact_size().ok().filter(|n| (1..=i64::MAX as u64).contains(n))?,
    };
    let nft = (bitfield & HAS_NFT != 0).then_some(Nft { capability, commitment });
    Some((Token { category, amount, nft }, reader.offset()))
}

/// The capability in a bitfield, or nothing if the bitfield is not a valid one.
fn capability(bitfield: u8) -> Option<Capability> {
    let (structure, nibble) = (bitfield & 0xf0, bitfield & 0x0f);
    let nft = structure & HAS_NFT != 0;
    let reserved = structure & 0x80 != 0;
    let empty = !nft && structure & HAS_AMOUNT == 0;
    let stray = !nft && (nibble != 0 || structure & HAS_COMMITMENT != 0);
    if reserved || empty || stray {
        return None;
    }
    match nibble {
        0 => Some(Capability::None),
        1 => Some(Capability::Mutable),
        2 => Some(Capability::Minting),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
