//! The unspent outputs of a load: a table in memory, and sorted files beyond it.
//!
//! An input whose output is not in the table is asked for; `settle` answers at the end of the segment by merging
//! the questions with the files. Leaves telling who may have a twin to `twins`. Invariant: an
//! output is in exactly one place.

use super::coin::{COIN_BYTES, Coin, CoinName, PackedCoin};
use super::folder::Folder;
use super::manifest::{FileEntry, Manifest};
use super::merged::Merged;
use super::prepared::{Made, Prepared};
use super::run::{RunFile, RunReader, find};
use super::run_writer::RunWriter;
use crate::IndexError;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// Bytes of a question in a file: name, txnum u40, place of the input u24.
pub(super) const ASKED_BYTES: usize = 12 + 8;
/// Bytes of memory of a place in the table: a coin and a mark.
const PLACE_BYTES: usize = COIN_BYTES + 1;
/// So many parts of the table are sorted one after the other when it spills.
const PARTS: u8 = 16;

/// A name is a hash already.
#[derive(Default)]
struct NameHasher(u64);

impl Hasher for NameHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_le_bytes(*first);
        }
    }
}

/// The unspent outputs.
pub(super) struct Coins {
    dir: Folder,
    table: Table,
    most: usize,
    /// Sorted files of outputs beyond the table.
    spilled: Vec<FileEntry>,
    /// Outputs in those files that a later twin replaced: name and txnum.
    gone: HashSet<(CoinName, u64)>,
    /// What was asked for and not found, in memory and in sorted files.
    asked: RunWriter<ASKED_BYTES>,
}

type Table = HashMap<CoinName, PackedCoin, BuildHasherDefault<NameHasher>>;

/// How many coins a table of so many bytes holds: it has a power of two of places, of which seven
/// of eight are taken before it doubles.
fn most_in(bytes: usize) -> usize {
    let places = (bytes / PLACE_BYTES).max(1);
    let places = 1 << places.ilog2();
    (places / 8 * 7).max(1)
}

impl Coins {
    pub(super) fn open(
        dir: &Folder,
        table_bytes: usize,
        manifest: &Manifest,
    ) -> Result<Coins, IndexError> {
        let mut table = Table::default();
        if let Some(dump) = &manifest.table {
            let mut reader = RunReader::<COIN_BYTES>::open(dir, dump)?;
            while let Some(item) = reader.next()? {
                let (name, coin) = parts(&item);
                table.insert(name, coin);
            }
        }
        Ok(Coins {
            dir: dir.to_owned(),
            table,
            most: most_in(table_bytes),
            spilled: manifest.spilled.clone(),
            gone: HashSet::new(),
            asked: RunWriter::new(dir, "asked", 16 << 20, manifest.next_file),
        })
    }

    /// Looks at every place that the block is about to use, one independent of the other, so that
    /// the memory of many is waited for at once and not of each in turn. Tells whether all that it
    /// spends may be there.
    pub(super) fn touch(&self, block: &Prepared) -> bool {
        let spent = block.spent.iter().filter(|spent| self.table.contains_key(&spent.name));
        let made = block.made.iter().filter(|made| self.table.contains_key(&made.name));
        let (spent, _) = std::hint::black_box((spent.count(), made.count()));
        if spent == block.spent.len() || !self.spilled.is_empty() {
            return true;
        }
        let own: HashSet<&CoinName> = block.made.iter().map(|made| &made.name).collect();
        let mut spent = block.spent.iter().map(|spent| &spent.name);
        spent.all(|name| self.table.contains_key(name) || own.contains(name))
    }

    /// Adds an output of the transaction at `txnum`, and tells whether it replaces an unspent one.
    /// One that may have an earlier twin is looked for in the files too.
    pub(super) fn create(
        &mut self,
        made: &Made,
        txnum: u64,
        may_be_twin: bool,
    ) -> Result<bool, IndexError> {
        if self.table.len() >= self.most {
            self.spill()?;
        }
        let name = made.name;
        let place = match self.table.entry(name) {
            Entry::Occupied(mut earlier) => {
                *earlier.get_mut() = made.coin;
                earlier.get_mut().put_txnum(txnum);
                return Ok(true);
            }
            Entry::Vacant(place) => place,
        };
        place.insert(made.coin).put_txnum(txnum);
        if may_be_twin {
            for file in &self.spilled {
                for item in find::<COIN_BYTES>(&self.dir, file, &name)? {
                    let earlier = parts(&item).1.txnum();
                    if self.gone.insert((name, earlier)) {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    /// Takes an output out, if the table has it.
    pub(super) fn spend(&mut self, name: &CoinName) -> Option<PackedCoin> {
        self.table.remove(name)
    }

    /// Bytes that the table takes in a file.
    pub(super) fn table_bytes(&self) -> u64 {
        self.table.len() as u64 * COIN_BYTES as u64
    }

    /// Place and value of an output that stays unspent, wherever it is.
    pub(super) fn look(&self, name: &CoinName, height: u32) -> Result<(u64, u64), IndexError> {
        if let Some(coin) = self.table.get(name) {
            return Ok((coin.txnum(), coin.value()));
        }
        for file in &self.spilled {
            for item in find::<COIN_BYTES>(&self.dir, file, name)? {
                let coin = parts(&item).1;
                if !self.gone.contains(&(*name, coin.txnum())) {
                    return Ok((coin.txnum(), coin.value()));
                }
            }
        }
        let problem = "it spends an output that is not in the index".into();
        Err(IndexError::Block { height, problem })
    }

    /// Whether inputs wait for an answer.
    pub(super) fn has_questions(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Notes that an input's output is not in the table.
    pub(super) fn ask(
        &mut self,
        name: CoinName,
        txnum: u64,
        place: u32,
        height: u32,
    ) -> Result<(), IndexError> {
        if self.spilled.is_empty() {
            let problem = "it spends an output that is not in the index".into();
            return Err(IndexError::Block { height, problem });
        }
        let mut item = [0; ASKED_BYTES];
        item[..12].copy_from_slice(&name);
        item[12..17].copy_from_slice(&txnum.to_be_bytes()[3..]);
        item[17..].copy_from_slice(&place.to_be_bytes()[1..]);
        self.asked.push(item)
    }

    /// Moves the older half of the table into a sorted file: young outputs are spent soonest.
    fn spill(&mut self) -> Result<(), IndexError> {
        let step = (self.table.len() / 1024).max(1);
        let mut sample: Vec<u64> =
            self.table.values().step_by(step).map(PackedCoin::txnum).collect();
        sample.sort_unstable();
        let last = sample.get(sample.len() / 2).copied().unwrap_or(u64::MAX);
        let mut file = RunFile::create(&self.dir, "coins", self.serial())?;
        for part in 0..PARTS {
            let chosen = self.table.iter().filter(|(name, coin)| {
                name[0] / (u8::MAX / PARTS + 1) == part && coin.txnum() <= last
            });
            let mut chosen: Vec<_> = chosen.map(|(name, coin)| joined(name, coin)).collect();
            chosen.sort_unstable();
            chosen.iter().try_for_each(|item| file.push(item))?;
        }
        self.table.retain(|_, coin| coin.txnum() > last);
        self.spilled.push(file.finish()?);
        Ok(())
    }

    /// A number that no other file of outputs has.
    fn serial(&self) -> u64 {
        let highest = self.spilled.iter().map(|file| file.serial).max();
        highest.map_or(1, |highest| highest + 1)
    }

    /// Puts the questions to the files, in the order of names, and tells each answer; what was
    /// answered leaves the files.
    pub(super) fn answer(
        &mut self,
        mut told: impl FnMut(&[u8; ASKED_BYTES], PackedCoin) -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        let questions = self.asked.finish()?;
        if questions.is_empty() && self.gone.is_empty() {
            return Ok(());
        }
        let lost = || IndexError::damaged("a block spends an output that is not there");
        let mut left = RunFile::create(&self.dir, "coins", self.serial())?;
        let mut asked = Merged::<ASKED_BYTES>::open(&self.dir, &questions)?;
        let mut coins = self.beyond()?;
        let mut question = asked.next()?;
        while let Some(item) = coins.next()? {
            let (name, coin) = parts(&item);
            match question {
                Some(asking) if asking[..12] < name[..] => return Err(lost()),
                Some(asking) if asking[..12] == name[..] => {
                    told(&asking, coin)?;
                    question = asked.next()?;
                }
                _ => left.push(&item)?,
            }
        }
        if question.is_some() {
            return Err(lost());
        }
        self.spilled = vec![left.finish()?];
        self.gone.clear();
        Ok(())
    }

    /// The outputs of the files.
    fn beyond(&self) -> Result<Beyond<'_>, IndexError> {
        let coins = Merged::open(&self.dir, &self.spilled)?;
        Ok(Beyond { coins, gone: &self.gone, last: None })
    }

    /// Writes the table into a file of the manifest.
    pub(super) fn dump(&mut self, manifest: &mut Manifest) -> Result<(), IndexError> {
        // The manifest still has the height of the last dump.
        let mut file = RunFile::create(&self.dir, "table", u64::from(manifest.next_height) + 1)?;
        for (name, coin) in &self.table {
            file.push(&joined(name, coin))?;
        }
        manifest.table = Some(file.finish()?);
        manifest.spilled.clone_from(&self.spilled);
        Ok(())
    }

    /// Tells every unspent output, in no order, and forgets the table.
    pub(super) fn each(
        &mut self,
        mut told: impl FnMut(Coin) -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        let mut coins = self.beyond()?;
        while let Some(item) = coins.next()? {
            let (name, coin) = parts(&item);
            if self.table.contains_key(&name) {
                return Err(twice());
            }
            told(coin.unpack())?;
        }
        for coin in self.table.values() {
            told(coin.unpack())?;
        }
        self.table = Table::default();
        Ok(())
    }
}

/// The outputs of the files in the order of their names, without those that were replaced.
struct Beyond<'a> {
    coins: Merged<COIN_BYTES>,
    gone: &'a HashSet<(CoinName, u64)>,
    last: Option<CoinName>,
}

impl Beyond<'_> {
    fn next(&mut self) -> Result<Option<[u8; COIN_BYTES]>, IndexError> {
        while let Some(item) = self.coins.next()? {
            let (name, coin) = parts(&item);
            if !self.gone.is_empty() && self.gone.contains(&(name, coin.txnum())) {
                continue;
            }
            if self.last.replace(name) == Some(name) {
                return Err(twice());
            }
            return Ok(Some(item));
        }
        Ok(None)
    }
}

fn twice() -> IndexError {
    IndexError::damaged("an output was made twice while unspent")
}

fn joined(name: &CoinName, coin: &PackedCoin) -> [u8; COIN_BYTES] {
    let mut item = [0; COIN_BYTES];
    item[..12].copy_from_slice(name);
    item[12..].copy_from_slice(&coin.0);
    item
}

/// Name and coin of an item.
fn parts(item: &[u8; COIN_BYTES]) -> (CoinName, PackedCoin) {
    let (name, coin) = item.split_first_chunk().expect("an item begins with 12 bytes of name");
    (*name, PackedCoin(coin.try_into().expect("27 bytes follow")))
}
