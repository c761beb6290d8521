//! Addresses of Zcash: transparent ones, and those of shielded pools, which are told apart.
//!
//! Whether a shielded receiver is a point of its curve is not looked at. Sources: protocol
//! specification, section 5.6; ZIP 316 (unified), ZIP 320 (transparent sources only).

use bech32::primitives::decode::CheckedHrpstring;
use bech32::{Bech32, Bech32m, Checksum};

use super::AddressError;
use super::base58check::{self, Payload, Sum};
use crate::ZcashAddresses;
use crate::utxo::{ByteReader, Destination};

/// Bytes of a shielded address of Sprout and of Sapling.
const SPROUT_BYTES: usize = 64;
const SAPLING_BYTES: usize = 43;
/// Bytes at the end of a unified address that repeat its prefix.
const PADDING: usize = 16;
/// Items of a unified address that are no receivers but say how it is to be used, and those among
/// them that must be understood by whoever uses it.
const METADATA: std::ops::RangeInclusive<u64> = 0xc0..=0xfc;
const MUST_UNDERSTAND: std::ops::RangeInclusive<u64> = 0xe0..=0xfc;
/// The largest number that an item may have.
const LAST_KIND: u64 = 0x0200_0000;

pub(super) fn encode(params: &ZcashAddresses, destination: &Destination) -> Option<String> {
    match destination {
        Destination::PubkeyHash(hash) => {
            Some(base58check::encode(&params.p2pkh, hash, Sum::Sha256))
        }
        Destination::ScriptHash(hash) => Some(base58check::encode(&params.p2sh, hash, Sum::Sha256)),
        _ => None,
    }
}

pub(super) fn decode(params: &ZcashAddresses, text: &str) -> Result<Destination, AddressError> {
    base58(params, text)
        .or_else(|| exchange(params, text))
        .or_else(|| sapling(params, text))
        .or_else(|| unified(params, text))
        .unwrap_or(Err(AddressError::Unknown))
}

/// What a text means, if it has this form.
type Meaning = Option<Result<Destination, AddressError>>;

fn base58(params: &ZcashAddresses, text: &str) -> Meaning {
    let payload = Payload::of(text, Sum::Sha256)?;
    let (version, hash) = payload.split::<2>()?;
    if version == params.sprout && hash.len() == SPROUT_BYTES {
        return Some(Err(AddressError::Shielded));
    }
    let hash = hash.try_into().ok()?;
    if version == params.p2pkh {
        return Some(Ok(Destination::PubkeyHash(hash)));
    }
    (version == params.p2sh).then_some(Ok(Destination::ScriptHash(hash)))
}

/// An address that wants its coins from transparent addresses alone.
fn exchange(params: &ZcashAddresses, text: &str) -> Meaning {
    let hash = bech32_bytes::<Bech32m>(params.tex, text)?;
    Some(Ok(Destination::PubkeyHash(hash.try_into().ok()?)))
}

fn sapling(params: &ZcashAddresses, text: &str) -> Meaning {
    let bytes = bech32_bytes::<Bech32>(params.sapling, text)?;
    (bytes.len() == SAPLING_BYTES).then_some(Err(AddressError::Shielded))
}

fn unified(params: &ZcashAddresses, text: &str) -> Meaning {
    let mut bytes = bech32_bytes::<Bech32m>(params.unified, text)?;
    f4jumble::f4jumble_inv_mut(&mut bytes).ok()?;
    let (receivers, padding) = bytes.split_at_checked(bytes.len().checked_sub(PADDING)?)?;
    let (prefix, zeros) = padding.split_at_checked(params.unified.len())?;
    if prefix != params.unified.as_bytes() || zeros.iter().any(|byte| *byte != 0) {
        return None;
    }
    receiver(receivers)
}

/// The transparent receiver among items in ascending order, or that there is none.
fn receiver(items: &[u8]) -> Meaning {
    let mut reader = ByteReader::new(items);
    let (mut before, mut transparent, mut shielded) = (None, None, false);
    while reader.remaining() > 0 {
        let kind = reader.compact_size().ok()?;
        let bytes = reader.prefixed().ok()?;
        if before >= Some(kind) {
            return None;
        }
        match kind {
            0 => transparent = Some(Destination::PubkeyHash(bytes.try_into().ok()?)),
            1 if transparent.is_some() => return None,
            1 => transparent = Some(Destination::ScriptHash(bytes.try_into().ok()?)),
            2 | 3 if bytes.len() != SAPLING_BYTES => return None,
            _ if MUST_UNDERSTAND.contains(&kind) || kind > LAST_KIND => return None,
            _ => shielded |= !METADATA.contains(&kind),
        }
        before = Some(kind);
    }
    shielded.then(|| transparent.ok_or(AddressError::Shielded))
}

/// The bytes behind a prefix, if the text has it and its sum is right.
fn bech32_bytes<C: Checksum>(prefix: &str, text: &str) -> Option<Vec<u8>> {
    let found = CheckedHrpstring::new::<C>(text).ok()?;
    let same = found.hrp().as_str().eq_ignore_ascii_case(prefix);
    same.then(|| found.byte_iter().collect())
}
