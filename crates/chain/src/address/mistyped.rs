//! Tells an address with a wrong checksum from text that is none.
//!
//! Looked at only once a text led to nothing. Invariant: what is called mistyped begins as an
//! address of this network does, and has the length or the letters of one.

use bech32::primitives::decode::UncheckedHrpstring;
use bech32::{Bech32, Bech32m, Hrp};

use super::base58check::{Sum, unchecked};
use super::cash_addr;
use crate::AddressParams;

/// Whether a text would be an address of this network but for its checksum.
pub(super) fn is_mistyped(params: &AddressParams, text: &str) -> bool {
    match params {
        AddressParams::Bitcoin(params) => {
            let base58 = unchecked(text, Sum::Sha256).is_some_and(|(payload, right)| {
                let hash_bytes = payload.len().saturating_sub(1);
                let known =
                    |version: &u8| *version == params.p2pkh || params.p2sh.contains(version);
                !right && hash_bytes == 20 && payload.first().is_some_and(known)
            });
            base58
                || [params.segwit, params.mweb].into_iter().flatten().any(|it| bech32(it, text))
                || params.cashaddr.is_some_and(|params| cash_addr::is_mistyped(&params, text))
        }
        AddressParams::Zcash(params) => {
            let base58 = two_byte(text, Sum::Sha256, &[params.p2pkh, params.p2sh, params.sprout]);
            base58 || [params.tex, params.sapling, params.unified].iter().any(|it| bech32(it, text))
        }
        AddressParams::Decred(params) => {
            let kinds = [
                params.pubkey,
                params.pubkey_hash,
                params.script_hash,
                params.pubkey_hash_ed25519,
                params.pubkey_hash_schnorr,
            ];
            two_byte(text, Sum::Blake256, &kinds)
        }
        AddressParams::Monero(_) | AddressParams::Ethereum => false,
    }
}

/// Base58 with a version of two bytes that is known, and a wrong sum.
fn two_byte(text: &str, sum: Sum, versions: &[[u8; 2]]) -> bool {
    unchecked(text, sum).is_some_and(|(payload, right)| {
        !right && payload.len() >= 22 && versions.iter().any(|it| payload.starts_with(it))
    })
}

/// Bech32 letters behind this prefix, in one case, with neither sum right.
fn bech32(prefix: &str, text: &str) -> bool {
    let Ok(expected) = Hrp::parse(prefix) else { return false };
    UncheckedHrpstring::new(text).is_ok_and(|found| {
        found.hrp() == expected
            && !found.has_valid_checksum::<Bech32>()
            && !found.has_valid_checksum::<Bech32m>()
    })
}
