//! A store in a folder of its own, fed with raw blocks.

use std::collections::BTreeMap;

use chain::utxo::Block;
use chain::{Chain, Hash32, NetworkKind};
use index::utxo::{HashKey, Store, Tip, TransactionView, View};
use index::{IndexError, Memory, Tier};
use tempfile::TempDir;

/// Every row, by table and key.
pub type Dump = BTreeMap<(&'static str, Vec<u8>), Vec<u8>>;

/// The same key for every store, so that rows can be compared.
pub fn key() -> HashKey {
    HashKey::new(*b"sixteen bytes ok")
}

pub fn chain(slug: &str) -> &'static Chain {
    chain::find(slug).unwrap()
}

/// A store and its folder.
pub struct Rig {
    pub store: Store,
    pub dir: TempDir,
}

impl Rig {
    /// Without a block.
    pub fn new(slug: &str) -> Rig {
        Rig::in_folder(slug, tempfile::tempdir().unwrap())
    }

    /// What a folder holds.
    pub fn in_folder(slug: &str, dir: TempDir) -> Rig {
        let chain = chain(slug);
        let mut networks = chain.networks.iter();
        let network = networks.find(|network| network.kind == NetworkKind::Regtest).unwrap();
        let memory = Memory::new(8 << 20, 8 << 20);
        let store = Store::open_with_key(dir.path(), chain, network, &memory, key()).unwrap();
        Rig { store, dir }
    }

    /// With the genesis block that forged blocks grow on.
    pub fn forged(slug: &str) -> Rig {
        let mut rig = Rig::new(slug);
        rig.connect(&testkit::genesis(rig.store.chain()).unwrap());
        rig
    }

    pub fn try_connect(&mut self, raw: &[u8]) -> Result<Tip, IndexError> {
        let format = *self.store.format();
        self.store.connect(&Block::decode(raw, &format).unwrap())
    }

    pub fn connect(&mut self, raw: &[u8]) -> Tip {
        self.try_connect(raw).unwrap()
    }

    pub fn connect_all(&mut self, raw: &[Vec<u8>]) {
        for raw in raw {
            self.connect(raw);
        }
    }

    pub fn disconnect(&mut self) {
        self.store.disconnect().unwrap();
    }

    /// Takes back all blocks above a height.
    pub fn cut(&mut self, height: u32) {
        while self.store.tip().unwrap().height > height {
            self.disconnect();
        }
    }

    pub fn view(&self) -> View {
        View::of(&self.store).unwrap()
    }

    pub fn dump(&self) -> Dump {
        let mut dump = Dump::new();
        self.store
            .rows(|table, key, value| drop(dump.insert((table, key.to_vec()), value.to_vec())))
            .unwrap();
        dump
    }

    /// Connects the block, takes it back, holds the rows against those before, connects it again.
    pub fn connect_proved(&mut self, raw: &[u8]) {
        let before = self.dump();
        self.connect(raw);
        let after = self.dump();
        self.disconnect();
        assert_same(&self.dump(), &before);
        self.connect(raw);
        assert_same(&self.dump(), &after);
        assert_eq!(self.store.verify(|_| ()).unwrap().faults, Vec::<String>::new());
    }

    /// Number and sum of the rows of unspent outputs.
    pub fn unspent(&self) -> (u64, u128) {
        let (mut count, mut sum) = (0, 0);
        self.store
            .rows(|table, key, _| {
                if table == "unspent_by_script" {
                    count += 1;
                    sum += u128::from(!u64::from_be_bytes(key[10..18].try_into().unwrap()));
                }
            })
            .unwrap();
        (count, sum)
    }

    /// Received, sent, number of transactions and of unspent outputs of a script.
    pub fn totals(&self, script: &[u8]) -> Option<(u128, u128, u64, u64)> {
        let totals = self.view().address(script, Tier::Any).unwrap()?;
        assert_eq!(totals.unconfirmed, None);
        Some((totals.received, totals.sent, totals.tx_count, totals.unspent_count))
    }

    /// The ids and heights of a script's transactions, newest first, read in pages of that size.
    pub fn history(&self, script: &[u8], page: u64) -> Vec<(Hash32, u32)> {
        let (view, mut all) = (self.view(), Vec::new());
        while let Some(part) = view.history(script, all.len() as u64, page).unwrap() {
            assert_eq!(Some(part.tx_count), self.totals(script).map(|totals| totals.2));
            if part.transactions.is_empty() {
                assert_eq!(all.len() as u64, part.tx_count);
                break;
            }
            all.extend(part.transactions.iter().map(|one| (one.record.txid, height(one))));
        }
        all
    }

    /// Transaction, place, value and height of the unspent outputs of a script, largest first.
    pub fn list(&self, script: &[u8]) -> Vec<(Hash32, u32, u64, u32)> {
        let Some(list) = self.view().unspent(script, usize::MAX).unwrap() else { return vec![] };
        assert_eq!(list.count, list.items.len() as u64);
        list.items.iter().map(|item| (item.txid, item.vout, item.value, item.height)).collect()
    }

    pub fn transaction(&self, txid: &Hash32) -> Option<TransactionView> {
        self.view().transaction(txid).unwrap()
    }
}

/// Height of a confirmed transaction.
pub fn height(view: &TransactionView) -> u32 {
    match view.inclusion {
        index::utxo::Inclusion::Block { height, .. } => height,
        _ => panic!("nothing waits here"),
    }
}

/// Says which row differs.
pub fn assert_same(a: &Dump, b: &Dump) {
    for (row, value) in a {
        assert_eq!(Some(value), b.get(row), "{row:x?}");
    }
    for row in b.keys() {
        assert!(a.contains_key(row), "{row:x?}");
    }
}
