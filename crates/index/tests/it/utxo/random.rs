//! Random chains with random reorganisations: as a fresh index of the same blocks, and as a model
//! that knows only outputs and sums.

use std::collections::{BTreeMap, BTreeSet};

use chain::Hash32;
use chain::utxo::OutPoint;
use proptest::prelude::*;
use testkit::{Draft, Forge, ForgedTransaction, key_hash_script};

use crate::utxo::rig::{Rig, assert_same, chain};

const SCRIPTS: u64 = 6;

fn script(number: u64) -> Vec<u8> {
    if number == SCRIPTS { vec![0x6a] } else { key_hash_script(number) }
}

#[derive(Clone, Debug)]
enum Step {
    /// A block; the numbers say what is in it.
    Mine(Vec<u64>),
    /// The coinbase of an earlier block again.
    Twin(u64),
    /// So many blocks are taken back.
    Back(usize),
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => prop::collection::vec(any::<u64>(), 0..8).prop_map(Step::Mine),
        2 => any::<u64>().prop_map(Step::Twin),
        3 => (1usize..7).prop_map(Step::Back),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..40)
}

/// What the chain adds up to, kept without an index.
#[derive(Clone, Default)]
struct Model {
    unspent: BTreeMap<(Hash32, u32), (u64, u64, u32)>,
    totals: BTreeMap<u64, (u128, u128)>,
    histories: BTreeMap<u64, Vec<(Hash32, u32)>>,
    coinbases: Vec<Made>,
}

/// A transaction as the model sees it.
#[derive(Clone)]
struct Made {
    forged: ForgedTransaction,
    inputs: Vec<OutPoint>,
    outputs: Vec<(u64, u64)>,
}

impl Model {
    fn block(&mut self, height: u32, block: &[Made]) {
        for made in block {
            for (vout, (value, to)) in (0u32..).zip(&made.outputs) {
                if *to == SCRIPTS {
                    continue;
                }
                let id = (made.forged.txid, vout);
                if self.unspent.insert(id, (*value, *to, height)).is_none() {
                    self.totals.entry(*to).or_default().0 += u128::from(*value);
                }
            }
        }
        for made in block {
            let mut touched: BTreeSet<u64> =
                made.outputs.iter().map(|(_, to)| *to).filter(|to| *to < SCRIPTS).collect();
            for previous in &made.inputs {
                let (value, of, _) = self.unspent.remove(&(previous.txid, previous.vout)).unwrap();
                self.totals.entry(of).or_default().1 += u128::from(value);
                touched.insert(of);
            }
            for script in touched {
                self.histories.entry(script).or_default().push((made.forged.txid, height));
            }
        }
    }
}

/// A chain of forged blocks, with what can be taken back.
struct Walk {
    rig: Rig,
    slug: &'static str,
    blocks: Vec<(Forge, Model, Vec<u8>)>,
    forge: Forge,
    model: Model,
    branches: u32,
}

impl Walk {
    fn new(slug: &'static str) -> Walk {
        let (rig, forge) = (Rig::forged(slug), Forge::new(chain(slug)));
        Walk { rig, slug, blocks: Vec::new(), forge, model: Model::default(), branches: 0 }
    }

    fn step(mut self, step: &Step) -> Walk {
        match step {
            Step::Mine(numbers) => self.mine(numbers),
            Step::Twin(number) => self.twin(*number),
            Step::Back(count) => self.back(*count),
            Step::Reopen => {
                let Rig { store, dir } = self.rig;
                drop(store);
                self.rig = Rig::in_folder(self.slug, dir);
            }
        }
        self
    }

    fn mine(&mut self, numbers: &[u64]) {
        let mut free: Vec<(OutPoint, u64)> = self
            .model
            .unspent
            .iter()
            .map(|((txid, vout), (value, _, _))| (OutPoint { txid: *txid, vout: *vout }, *value))
            .collect();
        let mut made = Vec::new();
        for number in numbers {
            let mut number = *number;
            let mut draw = |below: u64| {
                let drawn = number % below;
                number = (number / below) ^ number.rotate_left(23);
                drawn
            };
            let mut draft = Draft::new().lock_time(draw(1 << 30) as u32);
            let (mut inputs, mut value_in) = (Vec::new(), 0u64);
            for _ in 0..=draw(3) {
                if free.is_empty() {
                    break;
                }
                let (previous, value) = free.swap_remove(draw(free.len() as u64) as usize);
                draft = draft.spend(previous);
                inputs.push(previous);
                value_in += value;
            }
            if inputs.is_empty() {
                continue;
            }
            let mut outputs = Vec::new();
            for _ in 0..=draw(5) {
                let value = draw(value_in / 4 + 1);
                let to = draw(SCRIPTS + 1);
                draft = draft.pay(value, &script(to));
                outputs.push((value, to));
            }
            let forged = draft.finish();
            for (vout, (value, to)) in (0u32..).zip(&outputs) {
                if *to < SCRIPTS {
                    free.push((forged.output(vout), *value));
                }
            }
            made.push(Made { forged, inputs, outputs });
        }
        if matches!(self.slug, "bch" | "xec") {
            made.sort_by_key(|made| made.forged.txid);
        }
        let (value, to) = (1_000_000, u64::from(self.forge.height()) % SCRIPTS);
        let coinbase = self.forge.coinbase().pay(value, &script(to)).pay(0, &script(SCRIPTS));
        let outputs = vec![(value, to), (0, SCRIPTS)];
        let coinbase = Made { forged: coinbase.finish(), inputs: Vec::new(), outputs };
        self.connect(coinbase, made);
    }

    fn twin(&mut self, number: u64) {
        let earlier = &self.model.coinbases;
        if let Some(place) = (number as usize).checked_rem(earlier.len()) {
            self.connect(earlier[place].clone(), Vec::new());
        }
    }

    fn connect(&mut self, coinbase: Made, others: Vec<Made>) {
        let before = (self.forge.clone(), self.model.clone());
        let forged: Vec<ForgedTransaction> =
            others.iter().map(|made| made.forged.clone()).collect();
        let block = self.forge.mine_with(coinbase.forged.clone(), &forged);
        let mut all = vec![coinbase.clone()];
        all.extend(others);
        self.model.block(block.height, &all);
        self.model.coinbases.push(coinbase);
        self.rig.connect(&block.raw);
        self.blocks.push((before.0, before.1, block.raw.to_vec()));
    }

    fn back(&mut self, count: usize) {
        for _ in 0..count.min(self.blocks.len()) {
            let (forge, model, _) = self.blocks.pop().unwrap();
            self.branches += 1;
            (self.forge, self.model) = (forge.branch(self.branches), model);
            self.rig.disconnect();
        }
    }

    fn hold(&self) {
        let mut fresh = Rig::forged(self.slug);
        self.blocks.iter().for_each(|(_, _, raw)| {
            fresh.connect(raw);
        });
        assert_same(&self.rig.dump(), &fresh.dump());
        assert_eq!(self.rig.store.verify(|_| ()).unwrap().faults, Vec::<String>::new());
        let values = || self.model.unspent.values();
        let sum = values().map(|(value, _, _)| u128::from(*value)).sum();
        assert_eq!(self.rig.unspent(), (values().count() as u64, sum));
        for number in 0..SCRIPTS {
            let history = self.model.histories.get(&number).cloned().unwrap_or_default();
            let unspent = values().filter(|(_, of, _)| *of == number).count() as u64;
            let totals = self.model.totals.get(&number).copied();
            let totals = totals.map(|(in_, out)| (in_, out, history.len() as u64, unspent));
            assert_eq!(self.rig.totals(&script(number)), totals);
            let newest: Vec<(Hash32, u32)> = history.into_iter().rev().collect();
            assert_eq!(self.rig.history(&script(number), 7), newest);
            let mut list: Vec<(Hash32, u32, u64, u32)> = self
                .model
                .unspent
                .iter()
                .filter(|(_, (_, of, _))| *of == number)
                .map(|((txid, vout), (value, _, height))| (*txid, *vout, *value, *height))
                .collect();
            let mut found = self.rig.list(&script(number));
            assert!(found.is_sorted_by_key(|one| (std::cmp::Reverse(one.2), one.3)));
            list.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, list);
        }
    }
}

fn walk(slug: &'static str, steps: &[Step]) {
    steps.iter().fold(Walk::new(slug), Walk::step).hold();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn in_spending_order(steps in steps()) {
        walk("btc", &steps);
    }

    #[test]
    fn in_order_of_ids(steps in steps()) {
        walk("bch", &steps);
    }
}
