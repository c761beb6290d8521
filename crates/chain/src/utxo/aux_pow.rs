//! The proof that a parent chain's work counts for a block (merged mining).
//!
//! It stands between the header and the transactions and is only stepped over. Source: Dogecoin
//! Core, src/auxpow.h and src/primitives/pureheader.h.

use super::byte_reader::{ByteReader, DecodeError};
use super::format::Format;
use super::header::PLAIN_BYTES;
use super::transaction::{Origin, Transaction};

/// The version bit that says that the proof follows.
const AUX_POW: i32 = 1 << 8;

/// Whether the proof follows a header of that version.
pub(super) fn follows(version: i32) -> bool {
    version & AUX_POW != 0
}

/// Steps over the proof: the parent's coinbase, its block's hash, two branches of hashes with
/// their places, and the parent's header.
pub(super) fn skip(reader: &mut ByteReader<'_>, format: &Format) -> Result<(), DecodeError> {
    // The parent may be a chain with witnesses, even where this one has none.
    let parent = Format { witness: true, mweb: false, tokens: false, ..*format };
    Transaction::read(reader, &parent, Origin::ParentChain)?;
    reader.hash()?;
    for _branch in 0..2 {
        let hashes = reader.count(32)?;
        reader.take(hashes * 32)?;
        reader.i32()?;
    }
    reader.take(PLAIN_BYTES)?;
    Ok(())
}
