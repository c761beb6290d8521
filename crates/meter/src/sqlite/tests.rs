//! The verbs of the store on a real file, and files that are no store, or one of former times.

use super::*;
use crate::store::exercises::{at, new_account, new_key};
use crate::store::{AccountChange, exercises};

fn open() -> (tempfile::TempDir, Sqlite) {
    let dir = tempfile::tempdir().unwrap();
    let store = open_in(dir.path()).unwrap();
    (dir, store)
}

fn open_in(dir: &Path) -> Result<Sqlite, OpenError> {
    Sqlite::open(&Folder::open(dir)?)
}

fn database(dir: &Path) -> std::path::PathBuf {
    Folder::database_in(dir)
}

#[test]
fn changes_after_a_version_are_those_since_and_no_others() {
    exercises::changes_after_a_version_are_those_since_and_no_others(&open().1);
}

#[test]
fn names_are_unique_and_found() {
    exercises::names_are_unique_and_found(&open().1);
}

#[test]
fn keys_change_and_are_replaced() {
    exercises::keys_change_and_are_replaced(&open().1);
}

#[test]
fn usage_rows_are_overwritten_and_summed() {
    exercises::usage_rows_are_overwritten_and_summed(&open().1);
}

#[test]
fn foreign_newer_and_damaged_files_are_refused_with_clear_text() {
    let dir = tempfile::tempdir().unwrap();
    let text = |dir: &Path| open_in(dir).unwrap_err().to_string();
    let folder = |name: &str| {
        let folder = dir.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        folder
    };

    let garbage = folder("garbage");
    std::fs::write(database(&garbage), "not a database at all, but long enough to look like one")
        .unwrap();
    assert!(text(&garbage).contains("no SQLite file"), "{}", text(&garbage));
    assert!(std::fs::read(database(&garbage)).unwrap().starts_with(b"not a database"));

    let other = folder("other");
    Connection::open(database(&other)).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    assert!(text(&other).contains("another program"), "{}", text(&other));

    // As later programs say it, and as the first ones did.
    for raise in ["PRAGMA user_version = 99", "UPDATE meta SET value = 99 WHERE name = 'schema'"] {
        let newer = tempfile::tempdir().unwrap();
        drop(open_in(newer.path()).unwrap());
        Connection::open(database(newer.path())).unwrap().execute_batch(raise).unwrap();
        let text = text(newer.path());
        assert!(text.contains("schema 99") && text.contains("newer Portolan"), "{text}");
    }
}

#[test]
fn two_processes_may_make_the_same_store() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| open_in(dir.path()).unwrap().identity().unwrap()))
            .collect();
        let ids: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] == pair[1]));
    });
}

/// Makes a file as a program of schema 1 or 2 left it, with an account, a key and two usage rows.
fn former(dir: &Path, schema: i64) {
    let mut file = Connection::open(database(dir)).unwrap();
    let transaction = file.transaction().unwrap();
    transaction.execute_batch(include_str!("schema.sql")).unwrap();
    transaction.pragma_update(None, "application_id", 0x5054_4c4e).unwrap();
    let rows = "INSERT INTO meta VALUES ('schema', 1), ('version', 3), ('identity', 42);
        INSERT INTO accounts VALUES (7, 'one', 'Pro', 'none', 1, 5, 2);
        INSERT INTO keys VALUES (9, 7, zeroblob(32), 'ptl_abcdefgh', NULL, 9, NULL, 1, '', 6, 3);
        INSERT INTO usage VALUES (7, 9, 'gateway', 'btc', 24, 5), (7, 9, 'gateway', 'xmr', 25, 6);";
    transaction.execute_batch(rows).unwrap();
    if schema == 2 {
        seal::begin(&transaction).unwrap();
        transaction.execute_batch("UPDATE meta SET value = 2 WHERE name = 'schema'").unwrap();
    }
    transaction.commit().unwrap();
}

#[test]
fn a_store_of_a_former_schema_is_brought_up_with_all_it_holds() {
    for schema in [1, 2] {
        let dir = tempfile::tempdir().unwrap();
        former(dir.path(), schema);
        for _ in 0..2 {
            let store = open_in(dir.path()).unwrap();
            let all = store.changes_after(0).unwrap();
            assert_eq!(all.damaged, Vec::<String>::new());
            assert_eq!((all.version, store.identity().unwrap()), (3, 42));
            let (account, key) = (&all.accounts[0], &all.keys[0]);
            assert_eq!((account.id, account.name.as_str(), account.suspended), (7, "one", true));
            assert_eq!((key.id, key.daily_cap, key.revoked), (9, Some(9), true));
            let usage = store.usage(7, 0).unwrap();
            let units: Vec<_> = usage.iter().map(|row| (row.replica, row.row.units)).collect();
            assert_eq!(units, [(Replica::FIRST, 5), (Replica::FIRST, 6)]);
            let number = |question: &str| {
                store.reader().query_row(question, [], |row| row.get::<_, i64>(0)).unwrap()
            };
            assert_eq!(number("PRAGMA user_version"), 3);
            assert_eq!(number("SELECT value FROM meta WHERE name = 'schema'"), 3);
        }
    }
}

#[test]
fn a_damaged_row_is_told_and_not_sealed_anew() {
    let (_dir, store) = open();
    let account = store.add_account(&new_account("one")).unwrap();
    let key = store.add_key(&new_key(account.id)).unwrap();
    let flip = "UPDATE keys SET revoked = 1; UPDATE accounts SET gateway_plan = 'Gree'";
    store.write(|writer| Ok(writer.execute_batch(flip)?)).unwrap();
    let all = store.changes_after(0).unwrap();
    assert_eq!((all.accounts.len(), all.keys.len()), (0, 0));
    assert_eq!(all.damaged, ["row 1 of accounts", "row 1 of keys"]);
    let told = |error: StoreError| error.to_string().contains("row 1 of");
    assert!(store.change_key(key.id, &KeyChange::Cap(None)).is_err_and(told));
    assert!(store.replace_key(key.id, at(9), &new_key(account.id)).is_err_and(told));
    let change = AccountChange { suspended: Some(true), ..AccountChange::default() };
    assert!(store.change_account(account.id, &change).is_err_and(told));
}
