#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use chain::account::{Address, Hash, RewardForks, U256};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::Memory;
use crate::account::changes::{creation_of, read_tx};
use crate::account::facts::{Log, Operation, OperationKind, Status, Transaction};
use crate::account::schema::TxPlace;
use crate::account::verify::tests::{block_facts, finish, transaction, transfer};

/// What a transaction is made of; addresses are few, so that they meet.
#[derive(Clone, Debug)]
struct TxSeed {
    from: u8,
    to: Option<u8>,
    status: u8,
    transfers: Vec<(u8, u8)>,
    operations: Vec<(u8, u8, u8)>,
}

#[derive(Clone, Debug)]
enum Step {
    /// A block more, which is taken back once before.
    Extend(Vec<TxSeed>),
    /// Others in the place of the last ones.
    Replace(usize, Vec<Vec<TxSeed>>),
    /// So many blocks of the past.
    Prepend(usize),
    /// The traces of some block that has none yet.
    Trace(usize),
}

fn seeds() -> impl Strategy<Value = Vec<TxSeed>> {
    let who = || 1u8..7;
    let seed = (who(), option::of(who()), 0u8..3, vec((who(), who()), 0..3));
    let seed = (seed, vec((0u8..4, who(), who()), 0..4));
    let seed = seed.prop_map(|((from, to, status, transfers), operations)| {
        let operations = if status == 1 { Vec::new() } else { operations };
        TxSeed { from, to, status, transfers, operations }
    });
    vec(seed, 0..4)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => seeds().prop_map(Step::Extend),
        2 => (1usize..5, vec(seeds(), 0..4)).prop_map(|(depth, more)| Step::Replace(depth, more)),
        2 => (1usize..4).prop_map(Step::Prepend),
        4 => any::<usize>().prop_map(Step::Trace),
    ];
    vec(step, 1..14)
}

/// A block with what its traces tell.
#[derive(Clone)]
struct Made {
    block: Block,
    traces: Vec<Traced>,
    is_traced: bool,
}

/// A chain, of which an index holds what is not below `base`.
struct World {
    chain: Vec<Made>,
    base: usize,
    made: u64,
}

fn word(n: u64) -> Hash {
    let mut hash = [0xaa; 32];
    hash[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    Hash(hash)
}

impl World {
    fn tx(&mut self, seed: &TxSeed) -> (Transaction, Vec<Log>, Traced) {
        self.made += 1;
        let address = |n: u8| Address([n; 20]);
        let mut tx = transaction(0, address(seed.from), seed.to.map(address));
        tx.hash = word(self.made);
        tx.status = [Status::Success, Status::Failed, Status::Unknown][usize::from(seed.status)];
        let creates = seed.to.is_none() && tx.status != Status::Failed;
        tx.created = creates.then(|| address(seed.from ^ 0x40));
        let logs = seed.transfers.iter().filter(|_| tx.status == Status::Success);
        let logs = logs.map(|(from, to)| transfer(9, *from, *to)).collect();
        let kinds = [
            OperationKind::Call,
            OperationKind::Create,
            OperationKind::Create2,
            OperationKind::SelfDestruct,
        ];
        let operation = |(kind, from, to): &(u8, u8, u8)| Operation {
            kind: kinds[usize::from(*kind)],
            from: address(*from),
            to: address(*to),
            value: U256::from(*kind),
        };
        let operations: Vec<_> = seed.operations.iter().map(operation).collect();
        // Of an unknown one the trace decides.
        let failed = seed.status == 1 || (seed.status == 2 && operations.is_empty());
        (tx, logs, Traced { failed, operations })
    }

    fn grow(&mut self, seeds: &[TxSeed]) {
        let made: Vec<_> = seeds.iter().map(|seed| self.tx(seed)).collect();
        let height = self.chain.len() as u32;
        let mut facts = block_facts(height, made.len() as u32);
        self.made += 1;
        facts.hash = word(self.made);
        facts.parent = self.chain.last().map_or(word(0), |made| made.block.facts.hash);
        let traces = made.iter().map(|(.., traced)| traced.clone()).collect();
        let txs = made.into_iter().map(|(tx, logs, _)| (tx, logs)).collect();
        // A block without transactions is traced as it is.
        let is_traced = seeds.is_empty();
        self.chain.push(Made { block: finish(facts, txs), traces, is_traced });
    }

    fn held(&self) -> &[Made] {
        &self.chain[self.base..]
    }
}

fn open(dir: &TempDir) -> Store {
    let eth = chain::find("eth").unwrap();
    let dev = eth.network("dev").unwrap();
    let memory = Memory::new(8 << 20, 8 << 20);
    let mut store = Store::open(&dir.path().join("eth"), eth, dev, &memory).unwrap();
    // Receipts without a status are possible up to there.
    let forks = RewardForks { byzantium: 1000, constantinople: 1000, merge: None };
    store.go_by(Some(forks)).unwrap();
    store
}

fn blocks(made: &[Made]) -> Vec<Block> {
    made.iter().map(|made| made.block.clone()).collect()
}

fn trace(store: &mut Store, made: &Made) {
    let facts = &made.block.facts;
    let traced = (facts.height, facts.hash, made.traces.clone());
    // Of a block that is not ours nothing is taken.
    let foreign = (facts.height, word(0), made.traces.clone());
    assert_eq!(store.trace(&[foreign, traced]).unwrap(), 1);
}

/// Every row but that of where the index began.
fn rows(store: &Store) -> Vec<String> {
    let rows = store.dump().unwrap().into_iter();
    rows.filter(|row| !row.contains(&const_hex::encode(META_BEGUN_AT))).collect()
}

/// An index of the same that was never anything else.
fn fresh(world: &World) -> Vec<String> {
    let dir = TempDir::new().unwrap();
    let mut store = open(&dir);
    store.replace(None, &blocks(world.held())).unwrap();
    let traced = world.held().iter().filter(|made| made.is_traced && !made.traces.is_empty());
    traced.for_each(|made| trace(&mut store, made));
    rows(&store)
}

fn take(world: &mut World, store: &mut Store, step: &Step) {
    match step {
        Step::Extend(seeds) => {
            world.grow(seeds);
            let (before, tip) = (rows(store), store.tip().unwrap());
            let block = &world.chain.last().unwrap().block;
            store.extend(block).unwrap();
            store.replace(Some(tip.height), &[]).unwrap();
            assert_eq!(rows(store), before, "taken back");
            store.extend(block).unwrap();
        }
        Step::Replace(depth, others) => {
            let fork = world.chain.len().saturating_sub(1 + depth).max(world.base);
            world.chain.truncate(fork + 1);
            others.iter().for_each(|seeds| world.grow(seeds));
            store.replace(Some(fork as u32), &blocks(&world.chain[fork + 1..])).unwrap();
        }
        Step::Prepend(count) => {
            let base = world.base.saturating_sub(*count);
            let mut below = blocks(&world.chain[base..world.base]);
            below.reverse();
            store.prepend(&below).unwrap();
            world.base = base;
        }
        Step::Trace(pick) => {
            let base = world.base;
            let untraced = world.chain[base..].iter_mut().filter(|made| !made.is_traced);
            let mut untraced: Vec<&mut Made> = untraced.collect();
            if let Some(place) = pick.checked_rem(untraced.len()) {
                trace(store, untraced[place]);
                untraced[place].is_traced = true;
            }
        }
    }
}

/// Of several incarnations of a contract the latest is told, and the one before it if that is taken
/// back.
#[test]
fn the_latest_creation_of_a_contract_is_told() {
    let mut world = World { chain: Vec::new(), base: 0, made: 0 };
    let creates = |from| TxSeed {
        from,
        to: None,
        status: 0,
        transfers: Vec::new(),
        operations: vec![(2, from, 0x55)],
    };
    let dir = TempDir::new().unwrap();
    let mut store = open(&dir);
    let contract = Address([0x55; 20]);
    let told = |store: &Store| {
        creation_of(store.reader(), &contract).unwrap().map(|it| (it.height, it.creator.0[0]))
    };
    // Nothing, a creation, another one in one block with a third.
    for seeds in [vec![], vec![creates(1)], vec![creates(2), creates(3)]] {
        world.grow(&seeds);
        let made = world.chain.last().unwrap();
        store.extend(&made.block).unwrap();
        if !seeds.is_empty() {
            trace(&mut store, made);
        }
    }
    assert_eq!(told(&store), Some((2, 3)));
    store.replace(Some(1), &[]).unwrap();
    assert_eq!(told(&store), Some((1, 1)));
    store.replace(Some(0), &[]).unwrap();
    assert_eq!(told(&store), None);
}

/// One whose receipt does not tell that it failed has created nothing once its trace does.
#[test]
fn a_creation_that_a_trace_calls_failed_has_created_nothing() {
    let mut world = World { chain: Vec::new(), base: 0, made: 0 };
    let seed =
        TxSeed { from: 1, to: None, status: 2, transfers: Vec::new(), operations: Vec::new() };
    world.grow(&[seed]);
    let dir = TempDir::new().unwrap();
    let mut store = open(&dir);
    store.replace(None, &blocks(world.held())).unwrap();
    let place = TxPlace { height: 0, index: 0 };
    let read = |store: &Store| read_tx(store.reader(), place).unwrap().unwrap();
    assert_eq!(read(&store).status, Status::Unknown);
    assert!(read(&store).created.is_some());
    trace(&mut store, &world.chain[0]);
    assert_eq!((read(&store).status, read(&store).created), (Status::Failed, None));
    assert_eq!(store.verify(|_| ()).unwrap().faults, Vec::<String>::new());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Blocks and traces in any order, reorganisations between them: every row is as in an index
    /// that was never anything else, and the audit finds nothing.
    #[test]
    fn however_it_grew_an_index_has_the_rows_of_a_fresh_one(
        first in vec(seeds(), 7..9), walk in steps(),
    ) {
        let mut world = World { chain: Vec::new(), base: 0, made: 0 };
        first.iter().for_each(|seeds| world.grow(seeds));
        world.base = 5;
        let dir = TempDir::new().unwrap();
        let mut store = open(&dir);
        store.replace(None, &blocks(world.held())).unwrap();
        for step in &walk {
            take(&mut world, &mut store, step);
            prop_assert_eq!(rows(&store), fresh(&world));
        }
        prop_assert_eq!(store.verify(|_| ()).unwrap().faults, Vec::<String>::new());
    }
}
