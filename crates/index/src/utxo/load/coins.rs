//! The unspent outputs of a load: a table in memory, and sorted files beyond it.
//!
//! Outputs are named by a keyed hash, so that nobody can make two of one name. An input whose
//! output is not in the table is asked for; `settle` answers at the end of the segment by merging
//! the questions with the files. Outputs of coinbases stay in the table, so that a twin (BIP 30)
//! meets its earlier one there. Invariant: an output is in exactly one place.

use std::collections::HashMap;
use std::fs::File;
use std::hash::{BuildHasherDefault, Hasher};
use std::path::{Path, PathBuf};

use chain::Hash32;
use siphasher::sip128::{Hasher128, SipHasher24};

use super::manifest::{FileEntry, Manifest};
use super::runs::{RunReader, RunWriter, merge_keys};
use crate::IndexError;
use crate::utxo::script_id::{HashKey, ScriptId};

/// The first 12 bytes of the keyed hash of an output's place.
pub(super) type CoinName = [u8; 12];

/// Bytes of a coin in a file: name, txnum u40, vout u24, value u64, script id, marks.
pub(super) const COIN_BYTES: usize = 12 + 27;
/// Bytes of a question in a file: name, txnum u40, place of the input u24.
pub(super) const ASKED_BYTES: usize = 12 + 8;
/// Bytes of memory that a coin takes in the table, estimated from its load.
const TABLE_BYTES: usize = 64;

/// Gives outputs their names.
pub(super) struct Namer(SipHasher24);

impl Namer {
    pub(super) fn new(key: &HashKey) -> Namer {
        Namer(SipHasher24::new_with_key(key.bytes()))
    }

    pub(super) fn name(&self, txid: &Hash32, vout: u32) -> CoinName {
        let mut hasher = self.0;
        hasher.write(txid.wire());
        hasher.write(&vout.to_be_bytes());
        *hasher.finish128().as_bytes().first_chunk().expect("the hash has 16 bytes")
    }
}

/// An unspent output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Coin {
    pub(super) txnum: u64,
    pub(super) vout: u32,
    pub(super) value: u64,
    pub(super) script: ScriptId,
    pub(super) coinbase: bool,
    pub(super) token: bool,
}

impl Coin {
    pub(super) fn bytes(&self) -> [u8; 27] {
        let mut out = [0; 27];
        out[..5].copy_from_slice(&self.txnum.to_be_bytes()[3..]);
        out[5..8].copy_from_slice(&self.vout.to_be_bytes()[1..]);
        out[8..16].copy_from_slice(&self.value.to_be_bytes());
        out[16..26].copy_from_slice(&self.script.0);
        out[26] = u8::from(self.coinbase) | u8::from(self.token) << 1;
        out
    }

    pub(super) fn read(bytes: &[u8; 27]) -> Coin {
        let mut word = [0; 8];
        word[3..].copy_from_slice(&bytes[..5]);
        let txnum = u64::from_be_bytes(word);
        let vout = u32::from_be_bytes([0, bytes[5], bytes[6], bytes[7]]);
        word.copy_from_slice(&bytes[8..16]);
        let mut script = [0; 10];
        script.copy_from_slice(&bytes[16..26]);
        Coin {
            txnum,
            vout,
            value: u64::from_be_bytes(word),
            script: ScriptId(script),
            coinbase: bytes[26] & 1 != 0,
            token: bytes[26] & 2 != 0,
        }
    }
}

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
    dir: PathBuf,
    table: HashMap<CoinName, [u8; 27], BuildHasherDefault<NameHasher>>,
    most: usize,
    /// Sorted files of outputs beyond the table.
    pub(super) spilled: Vec<FileEntry>,
    /// What was asked for and not found, in memory and in sorted files.
    pub(super) asked: RunWriter<ASKED_BYTES>,
}

impl Coins {
    pub(super) fn open(
        dir: &Path,
        _key: HashKey,
        table_bytes: usize,
        manifest: &Manifest,
    ) -> Result<Coins, IndexError> {
        let mut coins = Coins {
            dir: dir.to_owned(),
            table: HashMap::default(),
            most: (table_bytes / TABLE_BYTES).max(1),
            spilled: manifest.spilled.clone(),
            asked: RunWriter::new(dir, "asked", 64 << 20, manifest.next_file),
        };
        if let Some(dump) = &manifest.table {
            let mut reader = RunReader::<COIN_BYTES>::open(dir, dump)?;
            while let Some(item) = reader.next()? {
                let (name, coin) = item.split_at(12);
                let (Ok(name), Ok(coin)) = (name.try_into(), coin.try_into()) else { continue };
                coins.table.insert(name, coin);
            }
        }
        Ok(coins)
    }

    /// Adds an output, and gives the one that it replaces.
    pub(super) fn create(
        &mut self,
        name: CoinName,
        coin: Coin,
    ) -> Result<Option<Coin>, IndexError> {
        if self.table.len() >= self.most {
            self.spill()?;
        }
        let before = self.table.insert(name, coin.bytes());
        Ok(before.map(|before| Coin::read(&before)))
    }

    /// Takes an output out, if the table has it.
    pub(super) fn spend(&mut self, name: CoinName) -> Option<Coin> {
        self.table.remove(&name).map(|coin| Coin::read(&coin))
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

    /// Moves the table into a sorted file, but for the outputs of coinbases.
    fn spill(&mut self) -> Result<(), IndexError> {
        let mut run = RunWriter::<COIN_BYTES>::new(&self.dir, "coins", usize::MAX, self.serial());
        let mut kept = HashMap::default();
        for (name, coin) in self.table.drain() {
            if Coin::read(&coin).coinbase {
                kept.insert(name, coin);
            } else {
                run.push(joined(&name, &coin))?;
            }
        }
        self.table = kept;
        // Where coinbases alone fill the table it may grow.
        self.most = self.most.max(self.table.len() * 2);
        self.spilled.extend(run.finish()?);
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
        mut told: impl FnMut(&[u8; ASKED_BYTES], Coin) -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        let questions = self.asked.finish()?;
        if questions.is_empty() {
            return Ok(());
        }
        let mut left = RunWriter::<COIN_BYTES>::unsorted(&self.dir, "coins", self.serial())?;
        let mut asked = merge_keys::<ASKED_BYTES>(&self.dir, &questions)?;
        let mut coins = merge_keys::<COIN_BYTES>(&self.dir, &self.spilled)?;
        let mut question = asked.next()?;
        while let Some(coin) = coins.next()? {
            let unknown = question.is_some_and(|question| question[..12] < coin[..12]);
            if unknown {
                return Err(IndexError::damaged("a block spends an output that is not there"));
            }
            match question {
                Some(asking) if asking[..12] == coin[..12] => {
                    let bytes = coin.last_chunk().expect("a coin has 39 bytes");
                    told(&asking, Coin::read(bytes))?;
                    question = asked.next()?;
                }
                _ => left.push(coin)?,
            }
        }
        if question.is_some() {
            return Err(IndexError::damaged("a block spends an output that is not there"));
        }
        drop((asked, coins));
        self.spilled = left.finish()?;
        Ok(())
    }

    /// Writes the table into a file of the manifest.
    pub(super) fn dump(&mut self, manifest: &mut Manifest) -> Result<(), IndexError> {
        let serial = manifest.next_height as u64 + 1_000_000_000 + manifest.next_file;
        let mut run = RunWriter::<COIN_BYTES>::unsorted(&self.dir, "table", serial)?;
        for (name, coin) in &self.table {
            run.push(joined(name, coin))?;
        }
        manifest.table = run.finish()?.pop();
        manifest.spilled.clone_from(&self.spilled);
        Ok(())
    }

    /// Tells every unspent output, in no order.
    pub(super) fn each(
        &mut self,
        mut told: impl FnMut(Coin) -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        let mut coins = merge_keys::<COIN_BYTES>(&self.dir, &self.spilled)?;
        let mut last = None;
        while let Some(coin) = coins.next()? {
            let name = *coin.first_chunk::<12>().expect("a coin has 39 bytes");
            if last == Some(name) || self.table.contains_key(&name) {
                return Err(IndexError::damaged("an output was made twice while unspent"));
            }
            last = Some(name);
            told(Coin::read(coin.last_chunk().expect("a coin has 39 bytes")))?;
        }
        for coin in self.table.values() {
            told(Coin::read(coin))?;
        }
        self.table = HashMap::default();
        Ok(())
    }
}

fn joined(name: &CoinName, coin: &[u8; 27]) -> [u8; COIN_BYTES] {
    let mut item = [0; COIN_BYTES];
    item[..12].copy_from_slice(name);
    item[12..].copy_from_slice(coin);
    item
}

/// Syncs a file that is complete.
pub(super) fn sync(file: &File, path: &Path) -> Result<(), IndexError> {
    file.sync_data().map_err(|error| super::file_error(path, &error))
}
