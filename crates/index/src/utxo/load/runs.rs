//! The runs of a load: what its blocks say that comes in another order than the rows.
//!
//! Leaves files to `run`. Invariant: of each segment the runs are complete before the manifest
//! names them.

use chain::Hash32;

use super::coin::PackedCoin;
use super::folder::Folder;
use super::manifest::Manifest;
use super::run::RunFile;
use super::run_writer::RunWriter;
use crate::IndexError;
use crate::row::u40;
use crate::utxo::schema::{hash_key, txid_prefix, voided_txid_key};
use crate::utxo::script_id::ScriptId;

/// Bytes of an event: script id, txnum u40, kind, value u64.
pub(super) const EVENT_BYTES: usize = 10 + 5 + 1 + 8;
/// Parts of each run of events, which are merged side by side.
pub(super) const EVENT_PARTS: usize = 4;
const TXID_BYTES: usize = 11;
/// Bytes of a key of `height_by_hash` with its height.
pub(super) const HASH_BYTES: usize = 8 + 4;

/// Bytes of a key of `voided_by_txid`.
pub(super) const VOIDED_BYTES: usize = 6 + 4 + 4;

/// What a transaction does to a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    Pay = 0,
    Spend = 1,
    /// It pays in the place of an earlier twin.
    Replace = 2,
}

/// One touch of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) script: ScriptId,
    pub(super) txnum: u64,
    pub(super) value: u64,
    pub(super) kind: EventKind,
}

impl Event {
    pub(super) fn read(bytes: &[u8; EVENT_BYTES]) -> Event {
        let mut script = [0; 10];
        script.copy_from_slice(&bytes[..10]);
        let mut word = [0; 8];
        word[3..].copy_from_slice(&bytes[10..15]);
        let txnum = u64::from_be_bytes(word);
        word.copy_from_slice(&bytes[16..]);
        let kind = match bytes[15] {
            0 => EventKind::Pay,
            1 => EventKind::Spend,
            _ => EventKind::Replace,
        };
        Event { script: ScriptId(script), txnum, value: u64::from_be_bytes(word), kind }
    }
}

/// The runs of a load.
pub(super) struct Runs {
    txids: RunWriter<TXID_BYTES>,
    events: RunWriter<EVENT_BYTES>,
    /// Keys of `height_by_hash` with the heights.
    hashes: RunWriter<HASH_BYTES>,
    /// Keys of `voided_by_txid`.
    voided: RunWriter<VOIDED_BYTES>,
    /// Every txid, in block order.
    ids: Option<RunFile>,
    dir: Folder,
}

impl Runs {
    pub(super) fn new(dir: &Folder, run_bytes: usize, manifest: &Manifest) -> Runs {
        Runs {
            txids: RunWriter::new(dir, "txids", run_bytes / 2, manifest.next_file),
            events: RunWriter::new(dir, "events", run_bytes, manifest.next_file)
                .in_parts(EVENT_PARTS),
            hashes: RunWriter::new(dir, "hashes", run_bytes / 2, manifest.next_file),
            voided: RunWriter::new(dir, "voided", run_bytes / 2, manifest.next_file),
            ids: None,
            dir: dir.to_owned(),
        }
    }

    pub(super) fn hash(&mut self, hash: &Hash32, height: u32) -> Result<(), IndexError> {
        let mut item = [0; HASH_BYTES];
        item[..8].copy_from_slice(&hash_key(hash));
        item[8..].copy_from_slice(&height.to_be_bytes());
        self.hashes.push(item)
    }

    /// A transaction is in a voided tree.
    pub(super) fn voided(
        &mut self,
        txid: &Hash32,
        height: u32,
        position: u32,
    ) -> Result<(), IndexError> {
        self.voided.push(voided_txid_key(txid, height, position))
    }

    /// What the transaction at `txnum` does to the script of a coin.
    pub(super) fn event(
        &mut self,
        coin: &PackedCoin,
        txnum: u64,
        kind: EventKind,
    ) -> Result<(), IndexError> {
        self.events.push_with(|item| {
            item[..10].copy_from_slice(&coin.script().0);
            item[10..15].copy_from_slice(&u40(txnum));
            item[15] = kind as u8;
            item[16..].copy_from_slice(&coin.value().to_be_bytes());
        })
    }

    pub(super) fn txid(&mut self, txid: &Hash32, txnum: u64) -> Result<(), IndexError> {
        let mut ids = match self.ids.take() {
            Some(ids) => ids,
            None => RunFile::create(&self.dir, "ids", self.txids.serial)?,
        };
        ids.push(txid.wire())?;
        self.ids = Some(ids);
        self.txids.push_with(|item| {
            item[..6].copy_from_slice(&txid_prefix(txid));
            item[6..].copy_from_slice(&u40(txnum));
        })
    }

    /// Ends the runs of a segment.
    pub(super) fn close(&mut self, manifest: &mut Manifest) -> Result<(), IndexError> {
        manifest.txids.extend(self.txids.finish()?);
        manifest.events.extend(self.events.finish()?);
        manifest.hashes.extend(self.hashes.finish()?);
        manifest.voided.extend(self.voided.finish()?);
        if let Some(ids) = self.ids.take() {
            manifest.ids.push(ids.finish()?);
        }
        let serials = [
            &mut self.txids.serial,
            &mut self.events.serial,
            &mut self.hashes.serial,
            &mut self.voided.serial,
        ];
        manifest.next_file = serials.iter().map(|it| **it).max().unwrap_or_default() + 1;
        serials.into_iter().for_each(|serial| *serial = manifest.next_file);
        Ok(())
    }
}
