//! The headers: one chain of hashes without gaps from genesis to the tip.
//!
//! A row has no previous hash, but everything else of a header: with the hash of the row below,
//! its own hash can be worked out. So each row proves the one below.

use chain::utxo::Format;
use chain::{Hash32, Network};

use crate::ReadError;
use crate::db::Rows;
use crate::faults::Faults;
use crate::utxo::block_row::{BlockRow, read_block};
use crate::utxo::schema::{HEADER_BY_HEIGHT, HEIGHT_BY_HASH, hash_key};
use crate::utxo::store::Store;
use crate::utxo::tip::Tip;
use crate::utxo::voided::voids;

const VOTES: &str = "the block before is voided, and its votes do not say so, or the other way";

/// A walk over the headers.
pub(super) struct Headers<'a> {
    rows: Rows<'a>,
    network: &'static Network,
    format: &'a Format,
    /// The block before, if it could be read, and whether its regular tree is voided.
    before: Option<Tip>,
    before_voided: bool,
    /// Blocks seen.
    pub(super) count: u64,
}

impl<'a> Headers<'a> {
    pub(super) fn of(store: &'a Store) -> Headers<'a> {
        let rows = store.db().latest().rows(HEADER_BY_HEIGHT);
        Headers {
            rows,
            network: store.network(),
            format: store.format(),
            before: None,
            before_voided: false,
            count: 0,
        }
    }

    /// The next block whose row can be read.
    pub(super) fn next(&mut self, faults: &mut Faults) -> Result<Option<BlockRow>, ReadError> {
        while let Some((key, value)) = self.rows.here()? {
            let height = <[u8; 4]>::try_from(key).map(u32::from_be_bytes).ok();
            let block = height.and_then(|height| BlockRow::read(height, value).ok());
            let block = block.filter(|block| block.bytes() == value);
            match &block {
                None => faults.tell("header_by_height", key, "makes no sense"),
                Some(block) => {
                    for what in
                        problems(block, self.before.as_ref(), self.count, self.network, self.format)
                    {
                        faults.tell("header_by_height", key, what);
                    }
                    let voided = block.height.checked_sub(1).is_some_and(|before| {
                        block.stake.is_some_and(|stake| voids(&stake, before))
                    });
                    if self.before.is_some() && voided != self.before_voided {
                        faults.tell("header_by_height", key, VOTES);
                    }
                    self.before_voided = block.voided;
                    let next_txnum = block.next_txnum();
                    self.before = Some(Tip { height: block.height, hash: block.hash, next_txnum });
                }
            }
            self.count += 1;
            self.rows.step();
            if block.is_some() {
                return Ok(block);
            }
        }
        if std::mem::take(&mut self.before_voided) {
            faults.tell("header_by_height", &[], VOTES);
        }
        Ok(None)
    }

    /// The last block.
    pub(super) fn last(&self) -> Option<Tip> {
        self.before
    }
}

fn problems(
    block: &BlockRow,
    before: Option<&Tip>,
    place: u64,
    network: &Network,
    format: &Format,
) -> Vec<&'static str> {
    let mut problems = Vec::new();
    let mut hold = |sound: bool, what| {
        if !sound {
            problems.push(what);
        }
    };
    hold(u64::from(block.height) == place, "does not stand at its place: there is a gap");
    hold(block.tx_count > 0, "has no transactions");
    let (previous, first_txnum) = match before {
        Some(before) => (before.hash, before.next_txnum),
        None => (Hash32::ZERO, 0),
    };
    let hash = block.hash_again(previous, format);
    hold(hash.is_none_or(|hash| hash == block.hash), "has another hash than its parts");
    hold(block.first_txnum == first_txnum, "does not begin where the block before ends");
    if let (0, Some(genesis)) = (block.height, network.genesis) {
        hold(block.hash.to_string() == genesis, "is not the network's first block");
    }
    problems
}

impl Store {
    /// Every hash leads to its block, and there are as many hashes as blocks.
    pub(super) fn audit_hashes(&self, blocks: u64, faults: &mut Faults) -> Result<(), ReadError> {
        let mut rows = self.db().latest().rows(HEIGHT_BY_HASH);
        let mut sound = 0;
        while let Some((key, value)) = rows.here()? {
            let height = <[u8; 4]>::try_from(value).map(u32::from_be_bytes).ok();
            let block = match height {
                Some(height) => read_block(self.db().latest(), height).ok().flatten(),
                None => None,
            };
            if block.is_some_and(|block| hash_key(&block.hash) == key) {
                sound += 1;
            } else {
                faults.tell("height_by_hash", key, "does not lead to its block");
            }
            rows.step();
        }
        if sound < blocks {
            self.tell_lost_blocks(faults)?;
        }
        Ok(())
    }

    fn tell_lost_blocks(&self, faults: &mut Faults) -> Result<(), ReadError> {
        let mut headers = Headers::of(self);
        while let Some(block) = headers.next(&mut Faults::default())? {
            let key = hash_key(&block.hash);
            let row = self.db().latest().get(HEIGHT_BY_HASH, &key)?;
            if row.is_none_or(|row| row[..] != block.height.to_be_bytes()) {
                faults.tell("height_by_hash", &key, "is not there");
            }
        }
        Ok(())
    }
}
