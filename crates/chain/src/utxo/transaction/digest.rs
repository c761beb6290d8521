//! The id of a transaction as a tree of BLAKE2b hashes, each with a name of its own.
//!
//! Sources: ZIP 244 (version 5), ZIP 229 (version 6, where anchors are no part of the id and
//! Ironwood has a branch). Invariant: nothing that only proves that a transaction may do what it
//! does is hashed.

use blake2b_simd::{Params, State};

use super::Transaction;
use super::bundles::{ACTION_BYTES, Actions, Bundles, OUTPUT_BYTES, SPEND_BYTES, Sapling};
use crate::Hash32;

/// Version, group, branch, lock time and height of expiry, which stand side by side.
const HEADER_BYTES: usize = 20;
/// Where the parts of an encrypted note end: the compact one, and that with the memo.
const COMPACT_END: usize = 52;
const MEMO_END: usize = 564;
const NOTE_BYTES: usize = 580;

type Digest = [u8; 32];

/// The names of the hashes of a pool of actions.
struct Names {
    bundle: &'static [u8; 16],
    compact: &'static [u8; 16],
    memos: &'static [u8; 16],
    rest: &'static [u8; 16],
}

const ORCHARD: Names = Names {
    bundle: b"ZTxIdOrchardHash",
    compact: b"ZTxIdOrcActCHash",
    memos: b"ZTxIdOrcActMHash",
    rest: b"ZTxIdOrcActNHash",
};
const ORCHARD_IN_6: Names = Names { bundle: b"ZTxIdOrchardH_v6", ..ORCHARD };
const IRONWOOD: Names = Names {
    bundle: b"ZTxIdIronwd_H_v6",
    compact: b"ZTxIdIrnActCH_v6",
    memos: b"ZTxIdIrnActMH_v6",
    rest: b"ZTxIdIrnActNH_v6",
};

/// The id of a transaction of version 5 or 6.
pub(super) fn txid(transaction: &Transaction<'_>, branch: u32, bundles: &Bundles<'_>) -> Hash32 {
    let in_6 = transaction.version >= 6;
    let mut name = *b"ZcashTxHash_\0\0\0\0";
    name[12..].copy_from_slice(&branch.to_le_bytes());
    let mut root = named(&name);
    let header = transaction.raw.get(..HEADER_BYTES).unwrap_or_default();
    root.update(&hash(b"ZTxIdHeadersHash", &[header]));
    root.update(&transparent(transaction));
    root.update(&sapling(&bundles.sapling, in_6));
    root.update(&actions(&bundles.orchard, if in_6 { &ORCHARD_IN_6 } else { &ORCHARD }, !in_6));
    if in_6 {
        root.update(&actions(&bundles.ironwood, &IRONWOOD, false));
    }
    Hash32::from_wire(finish(&root))
}

fn named(name: &[u8; 16]) -> State {
    Params::new().hash_length(32).personal(name).to_state()
}

fn finish(state: &State) -> Digest {
    let mut digest = Digest::default();
    digest.copy_from_slice(state.finalize().as_bytes());
    digest
}

fn hash(name: &[u8; 16], parts: &[&[u8]]) -> Digest {
    let mut state = named(name);
    for part in parts {
        state.update(part);
    }
    finish(&state)
}

fn transparent(transaction: &Transaction<'_>) -> Digest {
    if transaction.counts == (0, 0) {
        return hash(b"ZTxIdTranspaHash", &[]);
    }
    let (mut previous, mut sequences) = (named(b"ZTxIdPrevoutHash"), named(b"ZTxIdSequencHash"));
    for input in transaction.inputs() {
        previous.update(input.previous.txid.wire()).update(&input.previous.vout.to_le_bytes());
        sequences.update(&input.sequence.to_le_bytes());
    }
    let outputs = hash(b"ZTxIdOutputsHash", &[transaction.outputs]);
    hash(b"ZTxIdTranspaHash", &[&finish(&previous), &finish(&sequences), &outputs])
}

fn sapling(bundle: &Sapling<'_>, in_6: bool) -> Digest {
    if bundle.spends.is_empty() && bundle.outputs.is_empty() {
        return hash(b"ZTxIdSaplingHash", &[]);
    }
    let (spends, outputs) = (sapling_spends(bundle, in_6), sapling_outputs(bundle));
    hash(b"ZTxIdSaplingHash", &[&spends, &outputs, &bundle.balance.to_le_bytes()])
}

/// A spend: its value's commitment, its nullifier, its key.
fn sapling_spends(bundle: &Sapling<'_>, in_6: bool) -> Digest {
    if bundle.spends.is_empty() {
        return hash(b"ZTxIdSSpendsHash", &[]);
    }
    let mut compact = named(b"ZTxIdSSpendCHash");
    let mut rest = named(if in_6 { b"ZTxIdSSpendNH_v6" } else { b"ZTxIdSSpendNHash" });
    for spend in bundle.spends.as_chunks::<SPEND_BYTES>().0 {
        compact.update(&spend[32..64]);
        rest.update(&spend[..32]);
        rest.update(if in_6 { &[] } else { bundle.anchor });
        rest.update(&spend[64..]);
    }
    hash(b"ZTxIdSSpendsHash", &[&finish(&compact), &finish(&rest)])
}

/// An output: its value's commitment, its note's, a key, the note, what the sender can read.
fn sapling_outputs(bundle: &Sapling<'_>) -> Digest {
    if bundle.outputs.is_empty() {
        return hash(b"ZTxIdSOutputHash", &[]);
    }
    let mut compact = named(b"ZTxIdSOutC__Hash");
    let mut memos = named(b"ZTxIdSOutM__Hash");
    let mut rest = named(b"ZTxIdSOutN__Hash");
    for output in bundle.outputs.as_chunks::<OUTPUT_BYTES>().0 {
        let (commitment, output) = output.split_at(32);
        let (keys, output) = output.split_at(64);
        let (note, sender) = output.split_at(NOTE_BYTES);
        compact.update(keys).update(&note[..COMPACT_END]);
        memos.update(&note[COMPACT_END..MEMO_END]);
        rest.update(commitment).update(&note[MEMO_END..]).update(sender);
    }
    hash(b"ZTxIdSOutputHash", &[&finish(&compact), &finish(&memos), &finish(&rest)])
}

/// An action: its value's commitment, a nullifier, a key, a note's commitment, a key, the note,
/// what the sender can read.
fn actions(bundle: &Actions<'_>, names: &Names, with_anchor: bool) -> Digest {
    if bundle.actions.is_empty() {
        return hash(names.bundle, &[]);
    }
    let mut compact = named(names.compact);
    let mut memos = named(names.memos);
    let mut rest = named(names.rest);
    for action in bundle.actions.as_chunks::<ACTION_BYTES>().0 {
        let (commitment, action) = action.split_at(32);
        let (nullifier, action) = action.split_at(32);
        let (key, action) = action.split_at(32);
        let (keys, action) = action.split_at(64);
        let (note, sender) = action.split_at(NOTE_BYTES);
        compact.update(nullifier).update(keys).update(&note[..COMPACT_END]);
        memos.update(&note[COMPACT_END..MEMO_END]);
        rest.update(commitment).update(key).update(&note[MEMO_END..]).update(sender);
    }
    let (flags, balance) = ([bundle.flags], bundle.balance.to_le_bytes());
    let parts = [&finish(&compact)[..], &finish(&memos), &finish(&rest), &flags, &balance];
    let anchor: &[u8] = if with_anchor { bundle.anchor } else { &[] };
    hash(names.bundle, &[parts[0], parts[1], parts[2], parts[3], parts[4], anchor])
}
