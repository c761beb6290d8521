//! The end of a load: sorted runs become the tables that are not in the order of blocks.

use std::sync::Arc;

use chain::Hash32;
use rayon::iter::{ParallelBridge, ParallelIterator};

use super::Loader;
use super::coin::Coin;
use super::coins::Coins;
use super::folder::Folder;
use super::manifest::Manifest;
use super::merged::Merged;
use super::run::{OpenFiles, RunReader};
use super::run_writer::RunWriter;
use super::runs::{EVENT_BYTES, EVENT_PARTS, Event, EventKind, HASH_BYTES, VOIDED_BYTES};
use super::table_files::TableFiles;
use crate::IndexError;
use crate::db::{Db, Table};
use crate::row::u40;
use crate::utxo::history::Growing;
use crate::utxo::schema::{
    HEIGHT_BY_HASH, HISTORY_BY_SCRIPT, TOTALS_BY_SCRIPT, TXNUM_BY_TXID, UNSPENT_BY_SCRIPT,
    UnspentKey, UnspentRow, VOIDED_BY_TXID, chunk_key,
};
use crate::utxo::script_id::ScriptId;
use crate::utxo::tip::Tip;
use crate::utxo::totals::Totals;

/// Bytes of an unspent output while it is sorted: its key's 26 bytes and the marks.
const UNSPENT_BYTES: usize = 27;
/// Bytes of an unspent output's txnum and key.
const BY_TXNUM_BYTES: usize = 5 + UNSPENT_BYTES;
const ROW_BYTES: usize = 26 + 33;

/// A piece of the work.
type Work<'a> = Box<dyn FnOnce() -> Result<Manifest, IndexError> + Send + 'a>;

impl Loader {
    /// Writes the files of all other tables, and then the tip into the manifest.
    pub(super) fn merge(&mut self, tip: Tip) -> Result<(), IndexError> {
        let sources = Sources {
            db: &self.db,
            dir: &self.dir,
            manifest: &self.manifest,
            run_bytes: self.options.run_bytes,
        };
        let coins = &mut self.coins;
        let parts = sources.event_parts()?;
        // What takes longest comes first, and each thread takes the next.
        let mut work: Vec<Work<'_>> = vec![
            Box::new(move || sources.merge_unspent(coins)),
            Box::new(move || sources.merge_txids()),
        ];
        for (part, events) in (0..).zip(parts) {
            work.push(Box::new(move || sources.merge_scripts(events, part)));
        }
        work.push(Box::new(move || sources.merge_heights()));
        work.push(Box::new(move || sources.merge_voided()));
        let work = work.into_iter().par_bridge();
        let made: Result<Vec<_>, _> = self.pool.install(|| work.map(|piece| piece()).collect());
        let made = made?;
        made.into_iter().for_each(|made| self.manifest.add_tables(made.tables));
        self.manifest.tip = Some((tip.height, tip.hash.to_string(), tip.next_txnum));
        self.manifest.forget_runs();
        self.manifest.write(&self.dir)?;
        self.manifest.clear_others(&self.dir)
    }
}

/// What is merged.
#[derive(Clone, Copy)]
struct Sources<'a> {
    db: &'a Arc<Db>,
    dir: &'a Folder,
    manifest: &'a Manifest,
    run_bytes: usize,
}

impl Sources<'_> {
    /// The events, in parts that share no script.
    fn event_parts(&self) -> Result<Vec<Merged<EVENT_BYTES>>, IndexError> {
        let (events, mut files) = (&self.manifest.events, OpenFiles::default());
        let part = |part| {
            let of_each_run = events.iter().skip(part).step_by(EVENT_PARTS);
            Merged::open_parts(self.dir, of_each_run, &mut files)
        };
        (0..EVENT_PARTS).map(part).collect()
    }

    fn merge_heights(&self) -> Result<Manifest, IndexError> {
        let mut items = Merged::<HASH_BYTES>::open(self.dir, &self.manifest.hashes)?;
        let mut files = Made::new(self.db, self.dir, HEIGHT_BY_HASH);
        let mut last: Option<[u8; HASH_BYTES]> = None;
        while let Some(item) = items.next()? {
            // Of two blocks with one key the later one stands, as block by block.
            if let Some(last) = last.filter(|last| last[..8] != item[..8]) {
                files.put(&last[..8], &last[8..])?;
            }
            last = Some(item);
        }
        if let Some(last) = last {
            files.put(&last[..8], &last[8..])?;
        }
        files.close()
    }

    /// Unspent outputs get the ids of their transactions, in the order of those.
    fn merge_unspent(&self, coins: &mut Coins) -> Result<Manifest, IndexError> {
        let bytes = self.run_bytes;
        let mut run = RunWriter::<BY_TXNUM_BYTES>::new(self.dir, "bytxnum", bytes, 0);
        coins.each(|coin: Coin| {
            let Coin { txnum, vout, value, script, coinbase, token } = coin;
            let key = UnspentKey { script, value, txnum, vout }.bytes();
            let mut item = [0; BY_TXNUM_BYTES];
            item[..5].copy_from_slice(&key[18..23]);
            item[5..31].copy_from_slice(&key);
            item[31] = u8::from(coinbase) | u8::from(token) << 1;
            run.push(item)
        })?;
        let mut coins = Merged::<BY_TXNUM_BYTES>::open(self.dir, &run.finish()?)?;
        let mut next = coins.next()?;
        let mut rows = RunWriter::<ROW_BYTES>::new(self.dir, "rows", bytes, 0);
        let mut txnum = 0u64;
        for file in &self.manifest.ids {
            let mut ids = RunReader::<32>::open(self.dir, file)?;
            while let Some(id) = ids.next()? {
                let key = u40(txnum);
                while let Some(coin) = next.filter(|coin| coin[..5] == key) {
                    let (coinbase, token) = (coin[31] & 1 != 0, coin[31] & 2 != 0);
                    let txid = Hash32::from_wire(id);
                    let mut row = [0; ROW_BYTES];
                    row[..26].copy_from_slice(&coin[5..31]);
                    row[26..].copy_from_slice(&UnspentRow { txid, coinbase, token }.bytes());
                    rows.push(row)?;
                    next = coins.next()?;
                }
                txnum += 1;
            }
        }
        if next.is_some() {
            return Err(IndexError::damaged("a record of an unspent output is gone"));
        }
        let mut items = Merged::<ROW_BYTES>::open(self.dir, &rows.finish()?)?;
        let mut files = Made::new(self.db, self.dir, UNSPENT_BY_SCRIPT);
        while let Some(item) = items.next()? {
            files.put(&item[..26], &item[26..])?;
        }
        files.close()
    }

    fn merge_txids(&self) -> Result<Manifest, IndexError> {
        let mut items = Merged::<11>::open(self.dir, &self.manifest.txids)?;
        let mut files = Made::new(self.db, self.dir, TXNUM_BY_TXID);
        while let Some(item) = items.next()? {
            files.put(&item, &[])?;
        }
        files.close()
    }

    fn merge_voided(&self) -> Result<Manifest, IndexError> {
        let mut items = Merged::<VOIDED_BYTES>::open(self.dir, &self.manifest.voided)?;
        let mut files = Made::new(self.db, self.dir, VOIDED_BY_TXID);
        while let Some(item) = items.next()? {
            files.put(&item, &[])?;
        }
        files.close()
    }

    fn merge_scripts(
        &self,
        mut events: Merged<EVENT_BYTES>,
        part: u64,
    ) -> Result<Manifest, IndexError> {
        // Files of one part have numbers that those of no other reach.
        let files = |table| Made(TableFiles::new(self.db, self.dir, table, part << 32));
        let mut tables = ScriptTables {
            totals: files(TOTALS_BY_SCRIPT),
            history: files(HISTORY_BY_SCRIPT),
            script: ScriptId([0; 10]),
            of: Totals::default(),
            unspent: 0,
            txnums: Growing::default(),
            last: None,
            row: Vec::new(),
        };
        while let Some(item) = events.next()? {
            tables.add(Event::read(&item))?;
        }
        tables.end()?;
        let mut made = tables.totals.close()?;
        made.tables.extend(tables.history.close()?.tables);
        Ok(made)
    }
}

/// Files of one table.
struct Made(TableFiles);

impl Made {
    fn new(db: &Arc<Db>, dir: &Folder, table: Table) -> Made {
        Made(TableFiles::new(db, dir, table, 0))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), IndexError> {
        self.0.put(key, value)
    }

    fn close(mut self) -> Result<Manifest, IndexError> {
        let mut made = Manifest::default();
        self.0.close(&mut made)?;
        Ok(made)
    }
}

/// The two tables of scripts, one script after the other.
struct ScriptTables {
    totals: Made,
    history: Made,
    script: ScriptId,
    of: Totals,
    unspent: i64,
    txnums: Growing,
    last: Option<u64>,
    /// The row that is being written.
    row: Vec<u8>,
}

impl ScriptTables {
    fn add(&mut self, event: Event) -> Result<(), IndexError> {
        if event.script != self.script {
            self.end()?;
            self.script = event.script;
        }
        match event.kind {
            EventKind::Pay => {
                self.of.received += u128::from(event.value);
                self.unspent += 1;
            }
            EventKind::Spend => {
                self.of.sent += u128::from(event.value);
                // A child may stand before its parent, so that this falls below nothing on the way.
                self.unspent -= 1;
            }
            EventKind::Replace => {}
        }
        if self.last != Some(event.txnum) {
            self.last = Some(event.txnum);
            if let Some((chunk, row)) = self.txnums.push(event.txnum) {
                self.history.put(&chunk_key(self.script, chunk), &row)?;
            }
        }
        Ok(())
    }

    /// Writes what is left of a script.
    fn end(&mut self) -> Result<(), IndexError> {
        let mut of = std::mem::take(&mut self.of);
        self.last = None;
        of.tx_count = self.txnums.length();
        if of.tx_count == 0 {
            return Ok(());
        }
        let short = || IndexError::damaged("a script spends more outputs than it has");
        of.unspent_count = std::mem::take(&mut self.unspent).try_into().map_err(|_| short())?;
        if let Some((chunk, row)) = self.txnums.last() {
            self.history.put(&chunk_key(self.script, chunk), &row)?;
        }
        self.row.clear();
        of.put(&mut self.row, self.txnums.inline());
        self.txnums.clear();
        self.totals.put(&self.script.0, &self.row)
    }
}
