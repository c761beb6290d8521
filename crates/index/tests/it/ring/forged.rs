//! Chains that no recording has: public amounts, types that are not known, blocks that do not fit.

use bytes::Bytes;
use chain::ring::{Hash, LAST_VERSION};
use index::ring::{RawBlock, Store, View};
use index::{IndexError, Tier};

use crate::ring::forge::{Draft, Forge, key, opaque_hash};
use crate::ring::rig::{assert_same, connected, open, rows};

/// Public amounts first, then hidden ones that spend both kinds.
pub fn mixed() -> Forge {
    let mut forge = Forge::new();
    forge.mine_as(1, &[10, 20, 10], &[]);
    let first = Draft::open(&[(10, &[0, 1])], 100, &[7, 7, 3]);
    forge.mine_as(1, &[7, 600_000], &[first.bytes()]);
    let second = Draft::open(&[(7, &[0, 2]), (20, &[0])], 200, &[10, 9]);
    let third = Draft::hidden(&[&[0, 1]], 300, 2);
    forge.mine_as(2, &[500, 600, 700], &[second.bytes()]);
    let mut across = Draft::hidden(&[&[0, 2]], 400, 3);
    across.inputs.push((7, vec![1, 2], key(450)));
    forge.mine(&[third, across]);
    forge.mine(&[]);
    forge
}

fn ring(view: &View, draft: &Draft) -> Vec<Vec<(u32, chain::ring::Key)>> {
    let bytes = draft.bytes();
    let transaction = chain::ring::Transaction::decode(&bytes).unwrap();
    let rings = view.rings(&transaction.inputs, Tier::Any).unwrap();
    let member = |it: index::ring::RingMember| (it.height, it.public_key.unwrap());
    rings.into_iter().map(|ring| ring.into_iter().map(member).collect()).collect()
}

#[test]
fn outputs_of_public_amounts_are_found_by_amount_and_place() {
    let (dir, forge) = (tempfile::tempdir().unwrap(), mixed());
    let store = connected(dir.path(), &forge.blocks);
    let view = View::of(&store).unwrap();
    // Of amount 7: two of the transaction of block 2 behind that of its coinbase.
    let asked = Draft::open(&[(7, &[0, 1, 2]), (10, &[0, 1, 2]), (11, &[0]), (7, &[3])], 1, &[]);
    let found = ring(&view, &asked);
    assert_eq!(found[0].iter().map(|(height, _)| *height).collect::<Vec<_>>(), [2, 2, 2]);
    assert_eq!(found[0][1].1, key(100 ^ 1 << 40));
    assert_eq!(found[1].iter().map(|(height, _)| *height).collect::<Vec<_>>(), [1, 1, 3]);
    // What was never made is left out.
    assert_eq!((found[2].len(), found[3].len()), (0, 0));
    // Coinbases of version 2 are counted with the hidden ones, the first at 0.
    let hidden = ring(&view, &Draft::hidden(&[&[0, 1, 2, 3, 8, 9, 1 << 50]], 1, 1));
    assert_eq!(hidden[0].iter().map(|it| it.0).collect::<Vec<_>>(), [3, 3, 3, 4, 4, 5]);
    assert_eq!(view.transaction_count(), 4);
}

#[test]
fn public_amounts_are_taken_back_too() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let forge = mixed();
    let mut store = open(dir.path());
    let mut before = vec![rows(&store)];
    for block in &forge.blocks {
        store.connect(block).unwrap();
        before.push(rows(&store));
    }
    for height in (1..forge.blocks.len()).rev() {
        store.disconnect().unwrap();
        assert!(rows(&store) == before[height], "height {height}");
    }
    // The same places are given anew, to others.
    let mut branch = forge.branch(0, 9);
    branch.mine_as(1, &[7, 7, 7, 10], &[]);
    branch.mine(&[Draft::open(&[(7, &[0, 1, 2])], 100, &[10]), Draft::hidden(&[&[0]], 300, 1)]);
    branch.blocks[1..].iter().for_each(|block| store.connect(block).unwrap());
    assert_same(&store, &connected(other.path(), &branch.blocks));
}

#[test]
fn a_type_that_is_not_known_is_kept_without_its_hash_being_worked_out() {
    let dir = tempfile::tempdir().unwrap();
    let mut forge = Forge::new();
    forge.mine(&[]);
    forge.version = LAST_VERSION + 1;
    let later = Draft { rct_type: 7, ..Draft::hidden(&[&[0]], 5, 2) };
    let bytes = later.bytes();
    // Its weight cannot be worked out either.
    forge.mine_as(2, &[1], std::slice::from_ref(&bytes));
    let mut store = connected(dir.path(), &forge.blocks[..2]);
    let unweighed = store.connect(&forge.blocks[2]);
    assert!(matches!(unweighed, Err(IndexError::Block { height: 2, .. })), "{unweighed:?}");
    let weighed = RawBlock { weight: Some(4321), ..forge.blocks[2].clone() };
    store.connect(&weighed).unwrap();
    let view = View::of(&store).unwrap();
    let found = view.transaction(&opaque_hash(&bytes)).unwrap().unwrap();
    let transaction = found.record.decode().unwrap();
    assert_eq!((transaction.rct_type(), transaction.fee()), (Some(7), None));
    assert_eq!(found.record.size, bytes.len() as u64);
    assert_eq!(view.block(2, Tier::Any).unwrap().unwrap().size, 4321);
    // Its outputs are counted like all others.
    let hidden = ring(&view, &Draft::hidden(&[&[1, 2, 3]], 1, 1));
    assert_eq!(hidden[0].iter().map(|it| it.0).collect::<Vec<_>>(), [2, 2, 2]);
    store.disconnect().unwrap();
}

fn problem(store: &mut Store, raw: &RawBlock) -> String {
    let before = rows(store);
    let error = store.connect(raw).unwrap_err();
    assert!(rows(store) == before, "{error}");
    match error {
        IndexError::Block { problem, .. } => problem,
        other => other.to_string(),
    }
}

#[test]
fn blocks_that_do_not_fit_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let forge = mixed();
    let mut store = connected(dir.path(), &forge.blocks);
    let next = |draft: &[Draft]| {
        let mut forge = forge.clone();
        forge.mine(draft);
        forge.blocks.pop().unwrap()
    };
    let spend = Draft::hidden(&[&[0]], 9000, 2);
    let good = next(std::slice::from_ref(&spend));
    let has = |problem: String, words: &str| assert!(problem.contains(words), "{problem}");
    let cut = RawBlock { block: good.block.slice(..good.block.len() - 1), ..good.clone() };
    has(problem(&mut store, &cut), "");
    let short = RawBlock { transactions: vec![], ..good.clone() };
    has(problem(&mut store, &short), "another number of transactions");
    let other = Draft::hidden(&[&[1]], 9000, 2).bytes();
    let swapped = RawBlock { transactions: vec![other], ..good.clone() };
    has(problem(&mut store, &swapped), "has another hash");
    let broken = RawBlock { transactions: vec![Bytes::from(vec![2; 50])], ..good.clone() };
    has(problem(&mut store, &broken), "cannot be read");
    let double = next(&[spend.clone(), Draft::hidden(&[&[0]], 9000, 1)]);
    has(problem(&mut store, &double), "spent already");
    let again = next(&[Draft::hidden(&[&[0]], 300, 1)]);
    has(problem(&mut store, &again), "spent already");
    let places = RawBlock { output_indices: Some(vec![1, 2, 3]), ..good.clone() };
    has(problem(&mut store, &places), "other places");
    has(problem(&mut store, &forge.blocks[3]), "another height");
    let mut stranger = forge.branch(3, 5);
    stranger.mine(&[]);
    stranger.mine(&[]);
    stranger.mine(&[]);
    let stranger = stranger.blocks.pop().unwrap();
    has(problem(&mut store, &stranger), "does not follow");
    let mut output = spend.bytes().to_vec();
    let tag = output.iter().position(|byte| *byte == 3).unwrap();
    output[tag] = 9;
    let unknown = RawBlock { transactions: vec![output.into()], ..good.clone() };
    has(problem(&mut store, &unknown), "cannot be read");
    store.connect(&good).unwrap();
}

#[test]
fn the_first_block_is_that_of_the_network() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    let mut forge = Forge::new();
    forge.mine(&[]);
    assert!(store.connect(&forge.blocks[1]).is_err());
    let mut raw = forge.blocks[0].block.to_vec();
    raw[2] = 7;
    let other = RawBlock { block: raw.into(), ..RawBlock::default() };
    assert!(problem(&mut store, &other).contains("first block of this network"));
    store.connect(&forge.blocks[0]).unwrap();
    assert_ne!(store.tip().unwrap().hash, Hash::ZERO);
}
