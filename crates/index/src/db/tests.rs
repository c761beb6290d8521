use std::ops::ControlFlow;

use super::*;

static TABLES: [TableSpec; 2] = [
    TableSpec { name: "plain", prefix: 0, by_key: true, queue: false, dense: false },
    TableSpec { name: "by_prefix", prefix: 2, by_key: false, queue: true, dense: true },
];
const PLAIN: Table = Table(0);
const BY_PREFIX: Table = Table(1);

fn keys(reader: Reader<'_>, prefix: &[u8]) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let visit = |key: &[u8], _: &[u8]| {
        keys.push(key.to_vec());
        ControlFlow::Continue(())
    };
    reader.scan(BY_PREFIX, prefix, prefix, visit).unwrap();
    keys
}

#[test]
fn a_snapshot_stays_while_the_store_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let db = Arc::new(Db::open(dir.path(), &TABLES, &Memory::default()).unwrap());
    let mut batch = Batch::new(&db);
    batch.put(PLAIN, b"a", b"1");
    batch.put(BY_PREFIX, b"aax", b"");
    batch.put(BY_PREFIX, b"aay", b"");
    batch.put(BY_PREFIX, b"abx", b"");
    db.commit(batch).unwrap();
    let snapshot = db.snapshot();
    let sum = db.sum();
    let mut batch = Batch::new(&db);
    batch.put(PLAIN, b"a", b"2");
    batch.delete(BY_PREFIX, b"aax");
    db.commit(batch).unwrap();
    let old = snapshot.reader(Tier::Any);
    assert_eq!(old.get(PLAIN, b"a").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(db.latest().get(PLAIN, b"a").unwrap().as_deref(), Some(&b"2"[..]));
    assert_eq!(keys(old, b"aa"), [b"aax", b"aay"]);
    assert_eq!(keys(db.latest(), b"aa"), [b"aay"]);
    assert_eq!(keys(db.latest(), b""), [b"aay", b"abx"]);
    assert_ne!(db.sum(), sum);
    let mut batch = Batch::new(&db);
    batch.put(PLAIN, b"a", b"1");
    batch.put(BY_PREFIX, b"aax", b"");
    db.commit(batch).unwrap();
    assert_eq!(db.sum(), sum);
}

#[test]
fn sorted_files_are_taken_in_and_a_second_opening_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(&dir.path().join("db"), &TABLES, &Memory::default()).unwrap();
    let mut file = db.sorted_file(BY_PREFIX, &dir.path().join("1.sst")).unwrap();
    file.put(b"aaa", b"1").unwrap();
    file.put(b"aab", b"2").unwrap();
    assert!(file.put(b"aaa", b"3").is_err());
    let path = file.finish().unwrap().unwrap();
    db.ingest(BY_PREFIX, vec![path]).unwrap();
    assert_eq!(keys(db.latest(), b"aa"), [b"aaa", b"aab"]);
    let empty = db.sorted_file(PLAIN, &dir.path().join("2.sst")).unwrap();
    assert_eq!(empty.finish().unwrap(), None);
    let again = Db::open(&dir.path().join("db"), &TABLES, &Memory::default());
    assert!(matches!(again.err(), Some(IndexError::InUse { .. })));
    db.checkpoint(&dir.path().join("copy")).unwrap();
    let copy = Db::open(&dir.path().join("copy"), &TABLES, &Memory::default()).unwrap();
    assert_eq!(keys(copy.latest(), b"aa"), [b"aaa", b"aab"]);
}
