//! The verbs of a store, for whichever database fills them. Each asks for a store of its own.

use super::{
    Account, AccountChange, AccountRef, ChainName, Key, KeyChange, NewAccount, NewKey, RowName,
    Store, StoreError, Total, UsageRow,
};
use crate::secret::ApiKey;
use crate::{Replica, Scopes, Service, Utc};

pub(crate) fn at(secs: u64) -> Utc {
    Utc::from_secs(secs)
}

pub(crate) fn new_account(name: &str) -> NewAccount {
    NewAccount {
        name: name.into(),
        gateway_plan: "Free".into(),
        explorer_plan: "none".into(),
        created_at: at(5),
    }
}

pub(crate) fn new_key(account: u64) -> NewKey {
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

pub(crate) fn changes_after_a_version_are_those_since_and_no_others(store: &dyn Store) {
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

pub(crate) fn names_are_unique_and_found(store: &dyn Store) {
    let one = store.add_account(&new_account("one")).unwrap();
    assert_eq!(
        store.add_account(&new_account("one")).unwrap_err(),
        StoreError::NameTaken("one".into())
    );
    assert_eq!(store.account(&AccountRef::Name("one".into())).unwrap(), Some(one.clone()));
    assert_eq!(store.account(&AccountRef::Id(one.id)).unwrap(), Some(one));
    assert_eq!(store.account(&AccountRef::Name("two".into())).unwrap(), None);
}

pub(crate) fn keys_change_and_are_replaced(store: &dyn Store) {
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

pub(crate) fn usage_rows_are_overwritten_and_summed(store: &dyn Store) {
    let name =
        |key, chain, hour| RowName { hour, account: 1, key, chain: ChainName::new(chain).unwrap() };
    let row = |key, chain, hour, units| UsageRow { name: name(key, chain, hour), units };
    let record =
        |service, replica, rows: &[UsageRow]| store.record(service, replica, rows).unwrap();
    let (one, other) = (Replica::FIRST, Replica::from_number(u64::MAX));
    assert_eq!(store.last_hour(Service::Gateway).unwrap(), None);
    let rows = [row(1, "btc", 24, 5), row(1, "xmr", 24, 7), row(2, "btc", 47, 1)];
    record(Service::Gateway, one, &rows);
    record(Service::Gateway, one, &[row(1, "btc", 24, 6), row(1, "btc", 48, 9)]);
    record(Service::Explorer, one, &[row(1, "btc", 24, 100)]);
    let totals = || {
        let mut totals = store.totals(Service::Gateway, 24..48).unwrap();
        totals.sort_unstable_by_key(|total| total.key);
        totals
    };
    let total = |key, units| Total { account: 1, key, units };
    assert_eq!(totals(), [total(1, 13), total(2, 1)]);
    // Another replica has rows of its own beside them.
    record(Service::Gateway, other, &[row(1, "btc", 24, 50), row(3, "btc", 24, 3)]);
    record(Service::Gateway, other, &[row(1, "btc", 24, 40)]);
    assert_eq!(totals(), [total(1, 53), total(2, 1), total(3, 3)]);
    let recorded =
        |replica, hour| store.recorded(Service::Gateway, replica, name(1, "btc", hour)).unwrap();
    assert_eq!((recorded(one, 24), recorded(other, 24)), (6, 40));
    assert_eq!(recorded(one, 25), 0);
    assert_eq!(store.last_hour(Service::Gateway).unwrap(), Some(48));
    let usage = store.usage(1, 24).unwrap();
    let sum = |replica| {
        let of = usage.iter().filter(|row| row.replica == replica);
        of.map(|row| row.row.units).sum::<u64>()
    };
    assert_eq!((sum(one), sum(other)), (6 + 7 + 1 + 9 + 100, 43));
    assert_eq!(store.usage(1, 47).unwrap().len(), 2);
    assert_eq!(store.usage(2, 0).unwrap().len(), 0);
}
