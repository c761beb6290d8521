//! An index that does not run: what its folder holds, and copies of it.
//!
//! Leaves running ones to `ChainIndex`. Invariant: nothing is begun in a folder that holds nothing.

use std::path::Path;

use chain::{Chain, Family, Network};

use crate::store::{LastBlock, Schema, Store};
use crate::{Identity, IndexError, Memory, account, ring, utxo};

/// What the folder of an index holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtRest {
    /// Height and hash of the tip, as the chain's node shows it.
    pub tip: Option<(u32, String)>,
    /// Transactions, counted or estimated.
    pub transactions: u64,
    /// Bytes on disk and estimated number of rows, by table.
    pub sizes: Vec<(&'static str, u64, u64)>,
}

impl AtRest {
    /// What a folder holds, and what it is to hold to be of use for a chain.
    ///
    /// # Errors
    /// An identity that cannot be read; a folder in use by something else.
    pub fn identities(
        dir: &Path,
        chain: &'static Chain,
        network: &'static Network,
    ) -> Result<(Option<Identity>, Identity), IndexError> {
        let found = match chain.family {
            Family::Account => account::Store::identity(dir)?,
            Family::Utxo(_) => utxo::Store::identity(dir)?,
            Family::Ring => ring::Store::identity(dir)?,
        };
        Ok((found, Identity::new(chain, network)))
    }

    /// Reads an index that another process may have open.
    ///
    /// # Errors
    /// The folder holds something else, or is damaged.
    pub fn read(
        dir: &Path,
        chain: &'static Chain,
        network: &'static Network,
        memory: &Memory,
    ) -> Result<AtRest, IndexError> {
        match chain.family {
            Family::Account => {
                let store = account::Store::open_read_only(dir, chain, network, memory)?;
                let at_rest = AtRest::of(&store, |_| 0);
                let transactions = at_rest.sizes.iter().find(|(table, ..)| *table == "tx_by_place");
                let transactions = transactions.map_or(0, |(_, _, rows)| *rows);
                Ok(AtRest { transactions, ..at_rest })
            }
            Family::Utxo(_) => {
                let store = utxo::Store::open_read_only(dir, chain, network, memory)?;
                Ok(AtRest::of(&store, |tip| tip.next_txnum))
            }
            Family::Ring => {
                let store = ring::Store::open_read_only(dir, chain, network, memory)?;
                Ok(AtRest::of(&store, |tip| tip.next_txnum))
            }
        }
    }

    fn of<R: Schema>(store: &Store<R>, transactions: impl Fn(R::Tip) -> u64) -> AtRest {
        let tip = store.tip();
        AtRest {
            tip: tip.map(|tip| (tip.height(), tip.hash().to_string())),
            transactions: tip.map_or(0, transactions),
            sizes: store.sizes(),
        }
    }

    /// A copy of an index that no process has open, in a new folder.
    ///
    /// # Errors
    /// `InUse` while a process has it open; the folder is there already; the disk is full.
    pub fn copy(
        dir: &Path,
        chain: &'static Chain,
        network: &'static Network,
        memory: &Memory,
        to: &Path,
    ) -> Result<(), IndexError> {
        match chain.family {
            Family::Account => account::Store::open(dir, chain, network, memory)?.backup(to),
            Family::Utxo(_) => utxo::Store::open(dir, chain, network, memory)?.backup(to),
            Family::Ring => ring::Store::open(dir, chain, network, memory)?.backup(to),
        }
    }
}
