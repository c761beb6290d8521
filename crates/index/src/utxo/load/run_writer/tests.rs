#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::utxo::load::merged::Merged;
use crate::utxo::load::run::OpenFiles;

/// Items of 3 bytes in no order, some of them more than once.
fn items() -> Vec<[u8; 3]> {
    (0u32..3000)
        .map(|n| (n.wrapping_mul(n).wrapping_mul(7919) % 65_000).to_be_bytes())
        .map(|[_, a, b, c]| [c, b, a])
        .collect()
}

fn all(mut merged: Merged<3>) -> Vec<[u8; 3]> {
    std::iter::from_fn(|| merged.next().unwrap()).collect()
}

#[test]
fn the_parts_of_all_runs_hold_every_item_once_and_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let mut expected = items();
    expected.sort_unstable();
    for parts in [1, 4, 7] {
        let mut writer =
            RunWriter::<3>::new(&Folder::new(dir.path()), "items", 500, 0).in_parts(parts);
        items().into_iter().for_each(|item| writer.push(item).unwrap());
        let runs = writer.finish().unwrap();
        assert!(runs.len() > 10 * parts && runs.len().is_multiple_of(parts));
        let mut files = OpenFiles::default();
        let mut read = Vec::new();
        for part in 0..parts {
            let of_each_run = runs.iter().skip(part).step_by(parts);
            let items =
                all(Merged::open_parts(&Folder::new(dir.path()), of_each_run, &mut files).unwrap());
            assert!(items.iter().all(|item| usize::from(item[0]) * parts / 256 == part));
            read.extend(items);
        }
        assert_eq!(read, expected, "{parts} parts");
    }
}

#[test]
fn runs_begin_small_and_grow_up_to_what_they_may_be() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::<1024>::new(&Folder::new(dir.path()), "items", 16 << 20, 0);
    for _ in 0..(9 * FIRST_RUN) / 1024 {
        writer.push([7; 1024]).unwrap();
    }
    let sizes: Vec<_> = writer.finish().unwrap().iter().map(|run| run.items * 1024).collect();
    assert_eq!(sizes[0], FIRST_RUN as u64);
    assert!(sizes.iter().rev().skip(1).rev().is_sorted());
    assert!(sizes.iter().all(|size| *size <= 16 << 20), "{sizes:?}");
}
