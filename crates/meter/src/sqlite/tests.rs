//! The verbs of the store on a real file.

use super::*;
use crate::secret::ApiKey;

fn at(secs: u64) -> Utc {
    Utc::from_secs(secs)
}

fn open() -> (tempfile::TempDir, Sqlite) {
    let dir = tempfile::tempdir().unwrap();
    let store = Sqlite::open(&dir.path().join("s.sqlite")).unwrap();
    (dir, store)
}

fn new_account(name: &str) -> NewAccount {
    NewAccount {
        name: name.into(),
        gateway_plan: "Free".into(),
        explorer_plan: "none".into(),
        created_at: at(5),
    }
}

fn new_key(account: u64) -> NewKey {
    let key = ApiKey::generate().unwrap();
    NewKey {
        account,
        digest: key.digest(),
        prefix: key.prefix().into(),
        label: None,
        daily_cap: Some(9),
        expires_at: None,
        scopes: Scopes { chains: vec!["btc".into()], ..Scopes::default() },
        created_at: at(6),
    }
}

#[test]
fn changes_after_a_version_are_those_since_and_no_others() {
    let (_dir, store) = open();
    let start = store.version().unwrap();
    let one = store.add_account(&new_account("one")).unwrap();
    let two = store.add_account(&new_account("two")).unwrap();
    let key = store.add_key(&new_key(two.id)).unwrap();
    let all = store.changes_after(start).unwrap();
    assert_eq!(all.accounts, [one.clone(), two.clone()]);
    assert_eq!(all.keys, std::slice::from_ref(&key));
    assert_eq!(all.version, start + 3);

    let suspend = AccountChange { suspended: Some(true), ..AccountChange::default() };
    let changed = store.change_account(one.id, &suspend).unwrap().unwrap();
    assert_eq!(changed, Account { suspended: true, ..one });
    let since = store.changes_after(all.version).unwrap();
    assert_eq!((since.accounts, since.keys.len()), (vec![changed], 0));
    assert_eq!(store.change_account(99, &suspend).unwrap(), None);
}

#[test]
fn names_are_unique_and_found() {
    let (_dir, store) = open();
    let one = store.add_account(&new_account("one")).unwrap();
    assert_eq!(
        store.add_account(&new_account("one")).unwrap_err(),
        StoreError::NameTaken("one".into())
    );
    assert_eq!(store.account(&AccountRef::Name("one".into())).unwrap(), Some(one.clone()));
    assert_eq!(store.account(&AccountRef::Id(one.id)).unwrap(), Some(one));
    assert_eq!(store.account(&AccountRef::Name("two".into())).unwrap(), None);
}

#[test]
fn keys_change_and_are_replaced() {
    let (_dir, store) = open();
    let account = store.add_account(&new_account("one")).unwrap().id;
    let key = store.add_key(&new_key(account)).unwrap();
    let lifted = store.change_key(key.id, &KeyChange::Cap(None)).unwrap().unwrap();
    assert_eq!(lifted, Key { daily_cap: None, ..key.clone() });
    let new = store.replace_key(key.id, at(100), &new_key(account)).unwrap();
    let old = store.key(key.id).unwrap().unwrap();
    assert_eq!(old.expires_at, Some(at(100)));
    store.replace_key(key.id, at(200), &new_key(account)).unwrap();
    assert_eq!(store.key(key.id).unwrap().unwrap().expires_at, Some(at(100)));
    assert!(store.change_key(new.id, &KeyChange::Revoke).unwrap().unwrap().revoked);
    assert_eq!(store.keys(account).unwrap().len(), 3);
    assert_eq!(store.change_key(99, &KeyChange::Revoke).unwrap(), None);
    assert!(store.add_key(&new_key(99)).is_err());
}

#[test]
fn usage_rows_are_overwritten_and_summed() {
    let (_dir, store) = open();
    let name =
        |key, chain, hour| RowName { hour, account: 1, key, chain: ChainName::new(chain).unwrap() };
    let row = |key, chain, hour, units| UsageRow { name: name(key, chain, hour), units };
    let rows = [row(1, "btc", 24, 5), row(1, "xmr", 24, 7), row(2, "btc", 47, 1)];
    store.record(Service::Gateway, &rows).unwrap();
    store.record(Service::Gateway, &[row(1, "btc", 24, 6), row(1, "btc", 48, 9)]).unwrap();
    store.record(Service::Explorer, &[row(1, "btc", 24, 100)]).unwrap();
    let totals = store.totals(Service::Gateway, 24..48).unwrap();
    let total = |key, units| Total { account: 1, key, units };
    assert_eq!(totals, [total(1, 13), total(2, 1)]);
    assert_eq!(store.recorded(Service::Gateway, name(1, "btc", 24)).unwrap(), 6);
    assert_eq!(store.recorded(Service::Gateway, name(1, "btc", 25)).unwrap(), 0);
    assert_eq!(store.last_hour(Service::Gateway).unwrap(), Some(48));
    assert_eq!(store.usage(1, 47).unwrap().len(), 2);
    assert_eq!(store.usage(2, 0).unwrap().len(), 0);
}

#[test]
fn foreign_newer_and_damaged_files_are_refused_with_clear_text() {
    let dir = tempfile::tempdir().unwrap();
    let text = |path: &Path| Sqlite::open(path).unwrap_err().to_string();

    let garbage = dir.path().join("garbage");
    std::fs::write(&garbage, "not a database at all, but long enough to look like one").unwrap();
    assert!(text(&garbage).contains("no SQLite file"), "{}", text(&garbage));
    assert!(std::fs::read(&garbage).unwrap().starts_with(b"not a database"));

    let other = dir.path().join("other");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    assert!(text(&other).contains("another program"), "{}", text(&other));

    let newer = dir.path().join("newer");
    drop(Sqlite::open(&newer).unwrap());
    let raise = "UPDATE meta SET value = 99 WHERE name = 'schema'";
    Connection::open(&newer).unwrap().execute_batch(raise).unwrap();
    assert!(text(&newer).contains("newer Portolan"), "{}", text(&newer));
}

#[test]
fn two_processes_may_make_the_same_store() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.sqlite");
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| Sqlite::open(&path).unwrap().identity().unwrap()))
            .collect();
        let ids: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] == pair[1]));
    });
}

#[test]
fn a_store_of_the_first_schema_is_brought_up_with_all_it_holds() {
    let (dir, store) = open();
    let account = store.add_account(&new_account("one")).unwrap();
    let key = store.add_key(&new_key(account.id)).unwrap();
    drop(store);
    let path = dir.path().join("s.sqlite");
    let former = "ALTER TABLE accounts DROP COLUMN seal; ALTER TABLE keys DROP COLUMN seal;
                  UPDATE meta SET value = 1 WHERE name = 'schema'";
    Connection::open(&path).unwrap().execute_batch(former).unwrap();
    for _ in 0..2 {
        let all = Sqlite::open(&path).unwrap().changes_after(0).unwrap();
        assert_eq!((all.accounts, all.keys), (vec![account.clone()], vec![key.clone()]));
        assert_eq!(all.damaged, Vec::<String>::new());
    }
}

#[test]
fn a_damaged_row_is_told_and_not_sealed_anew() {
    let (_dir, store) = open();
    let account = store.add_account(&new_account("one")).unwrap();
    let key = store.add_key(&new_key(account.id)).unwrap();
    let flip = "UPDATE keys SET revoked = 1; UPDATE accounts SET gateway_plan = 'Gree'";
    store.writer().execute_batch(flip).unwrap();
    let all = store.changes_after(0).unwrap();
    assert_eq!((all.accounts.len(), all.keys.len()), (0, 0));
    assert_eq!(all.damaged, ["row 1 of accounts", "row 1 of keys"]);
    let told = |error: StoreError| error.to_string().contains("row 1 of");
    assert!(store.change_key(key.id, &KeyChange::Cap(None)).is_err_and(told));
    assert!(store.replace_key(key.id, at(9), &new_key(account.id)).is_err_and(told));
    let change = AccountChange { suspended: Some(true), ..AccountChange::default() };
    assert!(store.change_account(account.id, &change).is_err_and(told));
}
