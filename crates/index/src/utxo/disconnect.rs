//! The mirror of `connect`: the rows of the tip are taken back.
//!
//! Needs nothing but rows: no undo data, no node. Invariant: what is left is byte for byte what
//! was there before the block.

use super::block_row::BlockRow;
use super::changes::{Astray, Changes};
use super::connect::Connect;
use super::effects::{Way, go};
use super::schema::{HEADER_BY_HEIGHT, HEIGHT_BY_HASH, META, hash_key};
use super::steps::{records, steps};
use super::tip::Tip;
use super::voided;
use crate::IndexError;
use crate::db::Batch;
use crate::identity::META_TIP;
use crate::store::LastBlock;

impl Connect<'_> {
    /// Puts into a batch what takes the block `row` back, and gives the tip before it; none
    /// before genesis.
    pub(crate) fn take_back(
        &self,
        row: &BlockRow,
        before: Option<&BlockRow>,
        batch: &mut Batch<'_>,
    ) -> Result<Option<Tip>, IndexError> {
        let records = records(self.reader, row.first_txnum, row.next_txnum())?;
        let steps = steps(self.reader, records)?;
        let mut changes = Changes::new(batch);
        go(&steps, self.rules, Way::Back, changes.going(Way::Back))
            .map_err(Astray::among_records)?;
        let before = match before {
            Some(before) if before.voided => Some(self.restore(before, &mut changes)?),
            before => before.cloned(),
        };
        changes.finish(self.reader)?;
        batch.delete(HEADER_BY_HEIGHT, &row.height.to_be_bytes());
        batch.delete(HEIGHT_BY_HASH, &hash_key(&row.hash));
        let tip = before.as_ref().map(Tip::of);
        match &tip {
            Some(tip) => batch.put(META, META_TIP, &tip.bytes()),
            None => batch.delete(META, META_TIP),
        }
        Ok(tip)
    }

    /// Adds again the regular tree of the block before, which the block voided, and gives the row
    /// of a block that stands.
    fn restore(
        &self,
        before: &BlockRow,
        changes: &mut Changes<'_, '_>,
    ) -> Result<BlockRow, IndexError> {
        let records = voided::records(self.reader, before)?;
        voided::remove(changes.batch(), before, &records);
        let steps = steps(self.reader, records)?;
        go(&steps, self.rules, Way::Forward, changes.going(Way::Forward))
            .map_err(Astray::among_records)?;
        let standing = BlockRow { voided: false, ..before.clone() };
        changes.batch().put(HEADER_BY_HEIGHT, &before.height.to_be_bytes(), &standing.bytes());
        Ok(standing)
    }
}
