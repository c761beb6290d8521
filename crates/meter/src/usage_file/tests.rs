//! B13: the file grows in place, survives, and refuses or repairs what is damaged.

use std::fs;

use super::header::{FORMAT, MARK};
use super::*;

fn name(key: u64, hour: u32) -> RowName {
    RowName { hour, account: 3, key, chain: ChainName::new("btc").unwrap() }
}

fn open(path: &Path) -> Result<UsageFile, OpenError> {
    UsageFile::open(path, Service::Gateway, 42)
}

fn live(file: &UsageFile) -> Vec<LiveRow> {
    file.rows()
        .filter_map(|(_, slot)| match slot {
            Slot::Row(row) => Some(row),
            _ => None,
        })
        .collect()
}

#[test]
fn rows_survive_reopening_and_growth_moves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("u.map");
    let file = open(&path).unwrap();
    assert_eq!(file.len(), 0);
    file.grow().unwrap();
    file.begin(9, name(1, 100));
    let word: *const AtomicU64 = file.units(9).unwrap();
    for _ in 0..5 {
        file.grow().unwrap();
    }
    assert_eq!(word, std::ptr::from_ref(file.units(9).unwrap()));
    let last = (file.len() - 1) as u32;
    file.begin(last, name(2, 101));
    assert!(file.add(9, &name(1, 100), 5));
    assert!(file.add(last, &name(2, 101), 7));
    file.settle(last, 10);
    file.settle(last, 10);
    file.take_back(last, &name(2, 101), 1);
    drop(file);
    let row = |key, hour, units, unsettled| LiveRow { name: name(key, hour), units, unsettled };
    let expected = [row(1, 100, 5, true), row(2, 101, 16, false)];
    assert_eq!(live(&open(&path).unwrap()), expected);
    assert_eq!(live(&UsageFile::look(&path, Service::Gateway, 42).unwrap().unwrap()), expected);
}

#[test]
fn a_slot_that_became_another_row_takes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = open(&dir.path().join("u.map")).unwrap();
    file.grow().unwrap();
    file.begin(0, name(1, 100));
    assert!(!file.add(0, &name(1, 101), 5));
    assert!(!file.add(0, &name(2, 100), 5));
    assert!(!file.add(u32::MAX, &name(1, 100), 5));
    file.settle(0, 4);
    assert!(!file.end(0, 3));
    assert!(file.end(0, 4));
    assert_eq!(file.read(0), Slot::Free);
    assert!(!file.add(0, &name(1, 100), 5));
    file.take_back(0, &name(1, 100), 5);
    assert_eq!(live(&file), []);
}

#[test]
fn the_file_has_an_end() {
    let dir = tempfile::tempdir().unwrap();
    let file = open(&dir.path().join("u.map")).unwrap();
    for _ in 0..MOST_SEGMENTS {
        file.grow().unwrap();
    }
    assert_eq!(file.grow().unwrap_err().kind(), io::ErrorKind::StorageFull);
}

#[test]
fn foreign_files_are_refused_with_clear_text() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("u.map");
    drop(open(&path).unwrap());
    let whole = fs::read(&path).unwrap();
    let text =
        |service, identity| UsageFile::open(&path, service, identity).unwrap_err().to_string();
    assert!(text(Service::Explorer, 42).contains("other service"));
    assert!(text(Service::Gateway, 43).contains("another store"));
    for (place, value, says) in [
        (0, 0_u64, "no usage file"),
        (0, MARK.swap_bytes(), "byte order"),
        (1, FORMAT + 1, "newer Portolan"),
        (3, 7, "damaged"),
        (5, 0, "damaged"),
        (6, 0, "damaged"),
    ] {
        let mut bytes = whole.clone();
        bytes[place * 8..place * 8 + 8].copy_from_slice(&value.to_ne_bytes());
        fs::write(&path, bytes).unwrap();
        let text = text(Service::Gateway, 42);
        assert!(text.contains(says) && text.contains("Move the file away"), "{text}");
    }
    fs::write(&path, b"short").unwrap();
    assert!(text(Service::Gateway, 42).contains("cut short"));
    let long = File::create(&path).unwrap();
    fs::write(&path, &whole).unwrap();
    long.set_len(1 << 40).unwrap();
    assert!(text(Service::Gateway, 42).contains("longer"));
}

#[test]
fn an_empty_file_is_begun_and_a_cut_segment_filled_up() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("u.map");
    fs::write(&path, b"").unwrap();
    let file = open(&path).unwrap();
    file.grow().unwrap();
    file.begin(0, name(1, 100));
    file.begin(4000, name(2, 100));
    drop(file);
    let cut = File::options().write(true).open(&path).unwrap();
    cut.set_len(HEADER_BYTES + 100 * 64 + 3).unwrap();
    let file = open(&path).unwrap();
    assert_eq!(file.len(), SEGMENT_SLOTS);
    assert_eq!(live(&file).len(), 1);
}

#[test]
fn damaged_slots_are_told_apart_from_rows() {
    let dir = tempfile::tempdir().unwrap();
    let file = open(&dir.path().join("u.map")).unwrap();
    file.grow().unwrap();
    for (slot, word, value) in [
        (0, ACCOUNT, 9),
        (1, KEY, 9),
        (2, CHAIN, u64::MAX),
        (3, HOUR, u64::MAX),
        (4, UNITS, coded(ABSURD_UNITS)),
        (6, UNITS, coded(5) + 1),
        (5, CHECK, 1),
    ] {
        file.begin(slot, name(1, 100));
        file.store(slot, word, value);
        assert_eq!(file.read(slot), Slot::Damaged);
    }
}

#[test]
fn no_flipped_bit_of_units_is_taken_for_units() {
    let dir = tempfile::tempdir().unwrap();
    let file = open(&dir.path().join("u.map")).unwrap();
    file.grow().unwrap();
    for units in [0, 1, 5, 299_999, ABSURD_UNITS - 1] {
        for bit in 0..64 {
            file.begin(0, name(1, 100));
            assert!(file.add(0, &name(1, 100), units));
            if bit % 2 == 0 {
                file.settle(0, 0);
            }
            let word = file.units(0).unwrap().load(Ordering::Acquire);
            file.store(0, UNITS, word ^ 1 << bit);
            assert_eq!(file.read(0), Slot::Damaged, "bit {bit} of {units}");
        }
    }
}

/// Makes the file at a path one of a former format, with these words of units.
fn make_former(path: &Path, format: u64, units: &[u64]) {
    let rows: Vec<_> = (0..).zip(units).map(|(key, units)| (name(key, 100), *units)).collect();
    make_former_of(path, format, 42, &rows);
}

/// Makes the file at a path one of format 2 with these rows: units, and whether they are unsettled.
pub(crate) fn make_unnumbered(path: &Path, identity: u64, rows: &[(RowName, u64, bool)]) {
    let word = |units, unsettled| coded(units) + if unsettled { UNSETTLED } else { 0 };
    let rows = rows.iter().map(|(name, units, unsettled)| (*name, word(*units, *unsettled)));
    make_former_of(path, 2, identity, &rows.collect::<Vec<_>>());
}

fn make_former_of(path: &Path, format: u64, identity: u64, rows: &[(RowName, u64)]) {
    let file = UsageFile::open(path, Service::Gateway, identity).unwrap();
    file.grow().unwrap();
    for (slot, (name, units)) in (0..).zip(rows) {
        file.begin(slot, *name);
        file.store(slot, UNITS, *units);
    }
    drop(file);
    let mut bytes = fs::read(path).unwrap();
    let mut header = header::former(format, Service::Gateway, identity);
    header.push(0);
    for (place, word) in header.iter().enumerate() {
        bytes[place * 8..place * 8 + 8].copy_from_slice(&word.to_ne_bytes());
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_file_of_a_former_format_is_read_once_and_keeps_its_rows() {
    let plain = [7, 1 << 63 | 9, 1 << 62];
    let coded = [coded(7), coded(9) + UNSETTLED, 1];
    for (format, units) in [(1, plain), (2, coded)] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("u.map");
        make_former(&path, format, &units);
        let former = fs::read(&path).unwrap();
        let looked = UsageFile::look(&path, Service::Gateway, 42).unwrap().unwrap();
        assert_eq!((live(&looked).len(), looked.replica()), (2, Replica::FIRST));
        assert!(fs::read(&path).unwrap() == former);
        for _ in 0..2 {
            let file = open(&path).unwrap();
            // Rows that were recorded before there were replicas go on.
            assert_eq!((file.len(), file.replica()), (SEGMENT_SLOTS, Replica::FIRST));
            let row = |key, units, unsettled| LiveRow { name: name(key, 100), units, unsettled };
            assert_eq!(live(&file), [row(0, 7, false), row(1, 9, true)]);
            assert_eq!(file.rows().filter(|(_, slot)| *slot == Slot::Damaged).count(), 1);
        }
    }
}

/// Has the next attempt to make a file find no room.
pub(crate) fn fill(path: &Path) {
    std::os::unix::fs::symlink("/dev/full", path.with_extension("new")).unwrap();
}

#[test]
fn a_file_of_a_former_format_waits_for_room_and_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("u.map");
    make_former(&path, 1, &[7, 1 << 63 | 9, 1 << 62]);
    let former = fs::read(&path).unwrap();
    fill(&path);
    let file = open(&path).unwrap();
    assert!(file.waits());
    assert_eq!((file.len(), file.replica()), (SEGMENT_SLOTS, Replica::FIRST));
    let row = |key, units, unsettled| LiveRow { name: name(key, 100), units, unsettled };
    assert_eq!(live(&file), [row(0, 7, false), row(1, 9, true)]);
    file.settle(1, 4);
    for _ in 0..2 {
        std::thread::sleep(absent::TRY_AGAIN);
        fill(&path);
        // Tried once, and not again at once.
        for _ in 0..2 {
            assert!(has_no_room(&file.renew().unwrap_err()));
            assert!(fs::read(&path).unwrap() == former);
            assert!(!path.with_extension("new").exists());
        }
    }
    std::thread::sleep(absent::TRY_AGAIN);
    file.sync().unwrap();
    file.renew().unwrap();
    assert!(!file.waits());
    assert!(file.add(0, &name(0, 100), 1));
    file.grow().unwrap();
    let expected = [row(0, 8, false), row(1, 13, false)];
    assert_eq!((live(&file), file.len()), (expected.to_vec(), 2 * SEGMENT_SLOTS));
    drop(file);
    let file = open(&path).unwrap();
    assert_eq!((live(&file), file.replica()), (expected.to_vec(), Replica::FIRST));
}

#[test]
fn a_file_that_waits_replaces_no_other_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("u.map");
    make_former(&path, 2, &[coded(7)]);
    fill(&path);
    let file = open(&path).unwrap();
    std::thread::sleep(absent::TRY_AGAIN);
    fs::remove_file(&path).unwrap();
    drop(open(&path).unwrap());
    let other = fs::read(&path).unwrap();
    assert_eq!(file.renew().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert!(file.waits() && fs::read(&path).unwrap() == other);
    // Nor one of a former format that counts for another store.
    std::thread::sleep(absent::TRY_AGAIN);
    fs::remove_file(&path).unwrap();
    make_unnumbered(&path, 43, &[(name(1, 100), 5, false)]);
    let other = fs::read(&path).unwrap();
    assert_eq!(file.renew().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert!(file.waits() && fs::read(&path).unwrap() == other);
    // Taken away, it is written all the same.
    std::thread::sleep(absent::TRY_AGAIN);
    fs::remove_file(&path).unwrap();
    file.renew().unwrap();
    assert_eq!(live(&open(&path).unwrap())[0].units, 7);
}

#[test]
fn a_file_keeps_its_number_and_a_new_one_has_another() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("u.map");
    let number = open(&path).unwrap().replica();
    assert_ne!(number, Replica::FIRST);
    assert_eq!(open(&path).unwrap().replica(), number);
    fs::remove_file(&path).unwrap();
    assert_ne!(open(&path).unwrap().replica(), number);
}
