//! The verbs of the store on a real PostgreSQL, its schema, and who may count.

use std::sync::{Arc, Mutex, Weak};

use testkit::Postgres as Server;

use super::*;
use crate::store::ChainName;
use crate::store::exercises;
use crate::store::exercises::{at, new_account, new_key};
use crate::store::lender::{Ask, Kind, Lent, PotName};

/// The server of all tests that leave it running; it ends with the last of them.
fn server() -> Arc<Server> {
    static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let server = Arc::new(Server::start().unwrap());
        *shared = Arc::downgrade(&server);
        server
    })
}

/// A database on a server.
fn address(server: &Server, database: &str) -> PostgresAddress {
    let password = server.password_file();
    PostgresAddress::new(&server.url(database), Some(&password), None).unwrap()
}

fn make(server: &Server, database: &str) -> PostgresAddress {
    server.make_database(database).unwrap();
    address(server, database)
}

#[test]
fn the_verbs_do_what_they_do_in_sqlite() {
    let server = server();
    let exercises: [fn(&dyn Store); 4] = [
        exercises::changes_after_a_version_are_those_since_and_no_others,
        exercises::names_are_unique_and_found,
        exercises::keys_change_and_are_replaced,
        exercises::usage_rows_are_overwritten_and_summed,
    ];
    for (place, exercise) in exercises.iter().enumerate() {
        exercise(&Postgres::open(make(&server, &format!("verbs{place}"))).unwrap());
    }
}

#[test]
fn many_that_start_at_once_make_one_store_and_steps_are_taken_once() {
    let server = server();
    let address = make(&server, "many");
    let identities: Vec<u64> = std::thread::scope(|scope| {
        let open = || Postgres::open(address.clone()).unwrap().identity().unwrap();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(identities.windows(2).all(|pair| pair[0] == pair[1]), "{identities:?}");

    // A later program with two steps more, several of it at once.
    let store = Postgres::open(address.clone()).unwrap();
    let account = store.add_account(&new_account("one")).unwrap();
    let later = [
        schema::STEPS[0],
        schema::STEPS[1],
        "ALTER TABLE accounts ADD COLUMN note TEXT NOT NULL DEFAULT 'none'",
        "UPDATE accounts SET note = note || '!'",
    ];
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let session = Session::new(address.clone()).unwrap();
                session.ask(LONG, async |client| schema::prepare(client, &later).await).unwrap();
            });
        }
    });
    assert_eq!(server.sql("many", "SELECT note FROM portolan.accounts").unwrap(), "none!");
    assert_eq!(store.account(&AccountRef::Id(account.id)).unwrap(), Some(account));
    let error = Postgres::open(address).unwrap_err().to_string();
    assert!(error.contains("schema 4") && error.contains("newer Portolan"), "{error}");
}

#[test]
fn a_step_that_fails_leaves_everything_as_it_was() {
    let server = server();
    let address = make(&server, "failing");
    Postgres::open(address.clone()).unwrap().add_account(&new_account("one")).unwrap();
    let steps = [schema::STEPS[0], schema::STEPS[1], "DROP TABLE keys", "SELECT 1 / 0"];
    let session = Session::new(address.clone()).unwrap();
    let failed = session.ask(LONG, async |client| schema::prepare(client, &steps).await);
    assert!(failed.unwrap_err().to_string().contains("division by zero"));
    let store = Postgres::open(address).unwrap();
    assert_eq!(store.accounts().unwrap().len(), 1);
    assert_eq!(store.keys(1).unwrap(), []);
}

#[test]
fn what_is_not_ours_is_refused_and_left_alone() {
    let server = server();
    let address = make(&server, "strange");
    let other = "CREATE SCHEMA portolan; CREATE TABLE portolan.map (a int)";
    server.sql("strange", other).unwrap();
    let error = Postgres::open(address).unwrap_err().to_string();
    assert!(error.contains("another program"), "{error}");
    assert_eq!(server.sql("strange", "SELECT count(*) FROM portolan.map").unwrap(), "0");

    let absent = Postgres::open(self::address(&server, "absent")).unwrap_err().to_string();
    assert!(absent.contains("does not exist"), "{absent}");
    let wrong = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(wrong.path(), "not the password\n").unwrap();
    let wrong = PostgresAddress::new(&server.url("strange"), Some(wrong.path()), None).unwrap();
    let error = Postgres::open(wrong).unwrap_err().to_string();
    assert!(error.contains("authentication failed"), "{error}");
    assert!(!error.contains("not the password"), "{error}");
}

#[test]
fn a_damaged_row_is_told_and_not_sealed_anew() {
    let server = server();
    let store = Postgres::open(make(&server, "damaged")).unwrap();
    let account = store.add_account(&new_account("one")).unwrap();
    let key = store.add_key(&new_key(account.id)).unwrap();
    let flip = "UPDATE portolan.keys SET revoked = true;
                UPDATE portolan.accounts SET gateway_plan = 'Gree'";
    server.sql("damaged", flip).unwrap();
    let all = store.changes_after(0).unwrap();
    assert_eq!((all.accounts.len(), all.keys.len()), (0, 0));
    assert_eq!(all.damaged, ["row 1 of accounts", "row 1 of keys"]);
    let told = |error: StoreError| error.to_string().contains("row 1 of");
    assert!(store.change_key(key.id, &KeyChange::Cap(None)).is_err_and(told));
    assert!(store.replace_key(key.id, at(9), &new_key(account.id)).is_err_and(told));
}

#[test]
fn a_replica_is_counted_once_and_a_copy_beside_nobody_also_over_an_interruption() {
    let mut server = Server::start().unwrap();
    let address = make(&server, "held");
    let open = || Postgres::open(address.clone()).unwrap();
    let [one, two] = [1, 2].map(Replica::from_number);
    let (store, other) = (open(), open());
    store.hold(Service::Gateway, one).unwrap();
    // Others beside it, but not in its place.
    other.hold(Service::Gateway, two).unwrap();
    other.hold(Service::Explorer, one).unwrap();
    let third = open();
    let refused = third.hold(Service::Gateway, one).unwrap_err().to_string();
    assert!(refused.contains("gateway is counted"), "{refused}");
    assert!(refused.contains(&format!("portolan {} from 127.0.0.1", std::process::id())));
    let refused = third.hold_alone(Service::Gateway).unwrap_err().to_string();
    assert!(refused.contains("store is being copied"), "{refused}");
    drop((other, third));
    let copying = open();
    copying.hold_alone(Service::Explorer).unwrap();
    assert!(store.hold(Service::Explorer, two).is_err());
    drop(copying);

    // The server was away; nobody else has counted.
    let before = store.changed();
    server.stop();
    assert!(store.version().is_err());
    server.start_again().unwrap();
    store.version().unwrap();
    assert_eq!(store.changed(), before);
    let other = open();
    assert!(other.hold(Service::Gateway, one).is_err());

    // Our connection was lost, and another was quicker.
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_locks
               WHERE locktype = 'advisory' AND objid = 1 AND granted AND objsubid = 1";
    server.sql("held", cut).unwrap();
    other.hold(Service::Gateway, one).unwrap();
    let mut lost = store.version();
    if !matches!(lost, Err(StoreError::Counted { .. })) {
        // The first one may only find out that its connection is gone.
        lost = store.version();
    }
    assert!(matches!(lost, Err(StoreError::Counted { .. })), "{lost:?}");
    assert_ne!(store.changed(), before);
    // For good, also when the other has gone.
    drop(other);
    assert!(matches!(store.version(), Err(StoreError::Counted { .. })));
    open().hold(Service::Gateway, one).unwrap();
}

#[test]
fn units_are_lent_up_to_the_cap_and_no_further_to_whoever_asks_at_once() {
    let server = server();
    let address = make(&server, "lent");
    let pot = |subject| PotName { kind: Kind::Day, subject, stamp: 20_000 };
    let ask = |pot, hold, at_hand, need| Ask { pot, cap: 1000, hold, left: 0, at_hand, need };
    let first = Postgres::open(address.clone()).unwrap();
    // What was used before anybody borrowed counts.
    let name = |hour| RowName { hour, account: 1, key: 9, chain: ChainName::new("btc").unwrap() };
    let rows = [480_000, 480_023, 480_024].map(|hour| UsageRow { name: name(hour), units: 50 });
    first.record(Service::Gateway, Replica::from_number(77), &rows).unwrap();
    let sums: Vec<u64> = std::thread::scope(|scope| {
        let borrow = |number: u64| {
            let (address, replica) = (address.clone(), Replica::from_number(number));
            scope.spawn(move || {
                let store = Postgres::open(address).unwrap();
                let (mut hold, mut dry) = (0, 0);
                while dry < 3 {
                    let asks = [ask(pot(1), hold, 40, 1), ask(pot(2), hold, 40, 1)];
                    let lent = store.lend(Service::Gateway, replica, 4, &asks).unwrap();
                    assert!(lent[0].mine >= hold && lent[0].mine + lent[0].others <= 1000);
                    dry = if lent[0].mine == hold { dry + 1 } else { 0 };
                    hold = lent[0].mine;
                }
                hold
            })
        };
        let threads: Vec<_> = (1..=4).map(borrow).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(sums.iter().sum::<u64>(), 900);
    // What one returns the others can have; what it has used it keeps.
    let lend = |number, ask| {
        first.lend(Service::Gateway, Replica::from_number(number), 4, &[ask]).unwrap()[0]
    };
    assert_eq!(lend(1, ask(pot(1), 0, 0, 0)), Lent { mine: 0, others: 1000 - sums[0] });
    assert_eq!(lend(2, ask(pot(1), sums[1], 0, 5000)).mine, sums[1] + sums[0]);
    assert_eq!(lend(3, ask(pot(1), 5000, 40, 1)).mine, 5000);
    // The day of a key, and a month.
    let key = PotName { kind: Kind::KeyDay, subject: 9, stamp: 20_000 };
    assert_eq!(lend(1, ask(key, 0, 0, 5000)), Lent { mine: 900, others: 100 });
    let month =
        PotName { kind: Kind::Month, subject: 1, stamp: Utc::from_secs(20_000 * 86_400).month() };
    assert_eq!(lend(1, ask(month, 0, 0, 5000)).others, 150);
}

#[test]
fn a_replica_that_begins_is_lent_what_it_has_used_and_old_stamps_are_forgotten() {
    let server = server();
    let store = Postgres::open(make(&server, "settled")).unwrap();
    let replica = Replica::from_number(3);
    let pot = |kind, subject, stamp| PotName { kind, subject, stamp };
    let asks = [
        pot(Kind::Month, 1, 657),
        pot(Kind::Day, 1, 20_000),
        pot(Kind::Day, 2, 20_000),
        pot(Kind::KeyDay, 9, 20_000),
    ];
    let asks = asks.map(|pot| Ask { pot, cap: 1000, hold: 0, left: 0, at_hand: 0, need: 100 });
    store.lend(Service::Gateway, replica, 1, &asks).unwrap();
    let name = RowName { hour: 480_001, account: 1, key: 9, chain: ChainName::new("btc").unwrap() };
    store.record(Service::Gateway, replica, &[UsageRow { name, units: 7 }]).unwrap();
    store.settle(Service::Gateway, replica).unwrap();
    let lent = "SELECT string_agg(kind || units, ',' ORDER BY kind, units) FROM portolan.leases";
    let lent = || server.sql("settled", lent).unwrap();
    assert_eq!(lent(), "day0,day7,key-day7,month7");
    let own = store.own_totals(Service::Gateway, replica, 480_000..480_024).unwrap();
    assert_eq!(own, [Total { account: 1, key: 9, units: 7 }]);
    assert_eq!(store.own_totals(Service::Gateway, Replica::FIRST, 0..480_024).unwrap(), []);
    store.tidy(Service::Gateway, 20_003).unwrap();
    assert_eq!(lent(), "day0,day7,key-day7,month7");
    store.tidy(Service::Gateway, 20_004).unwrap();
    assert_eq!(lent(), "month7");
}

#[test]
fn those_that_are_live_know_how_many_they_are_and_in_which_order() {
    let server = server();
    let address = make(&server, "live");
    let replicas = [5, 2, 9].map(Replica::from_number);
    let stores = replicas.map(|replica| {
        let store = Postgres::open(address.clone()).unwrap();
        store.hold(Service::Gateway, replica).unwrap();
        store
    });
    let beat = |place: usize, live| {
        let standing = stores[place].beat(Service::Gateway, replicas[place], live).unwrap();
        (standing.live, standing.place)
    };
    assert_eq!([beat(0, true), beat(1, true), beat(2, true)], [(1, 0), (2, 0), (3, 2)]);
    assert_eq!([beat(0, true), beat(1, true)], [(3, 1), (3, 0)]);
    beat(1, false);
    assert_eq!([beat(0, true), beat(2, true)], [(2, 0), (2, 1)]);
    // One that says nothing any more.
    let silent = "UPDATE portolan.replicas SET heard = heard - interval '1 minute'";
    server.sql("live", silent).unwrap();
    assert_eq!(beat(2, true), (1, 0));
}

#[test]
fn changes_ring_the_bell_of_others() {
    let server = server();
    let address = make(&server, "bell");
    let store = Postgres::open(address.clone()).unwrap();
    let (rung, rings) = std::sync::mpsc::channel();
    store.on_change(Bell::new(move || {
        let _ = rung.send(());
    }));
    let account = Postgres::open(address).unwrap().add_account(&new_account("one")).unwrap();
    rings.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
    assert_eq!(store.changes_after(1).unwrap().accounts, [account]);
}

#[test]
fn a_verb_may_be_asked_from_a_task() {
    let server = server();
    let address = make(&server, "task");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = Postgres::open(address).unwrap();
        assert_eq!(store.version().unwrap(), 1);
    });
}

#[test]
fn tls_is_spoken_to_a_server_whose_certificate_is_right() {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (certified.cert.pem(), certified.signing_key.serialize_pem());
    let server = Server::start_with_tls(&certificate, &key).unwrap();
    let ca = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(ca.path(), &certificate).unwrap();
    let password = server.password_file();
    let open = |host: &str, ca: Option<&std::path::Path>| {
        let url = server.url("postgres").replace("127.0.0.1", host) + "?sslmode=require";
        Postgres::open(PostgresAddress::new(&url, Some(&password), ca).unwrap())
    };
    let store = open("localhost", Some(ca.path())).unwrap();
    let encrypted = store.session.ask(SHORT, async |client| {
        let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        Ok(client.query_one(sql, &[]).await?.get::<_, bool>(0))
    });
    assert_eq!(encrypted, Ok(true));
    // Of an authority that is not trusted, and of another name.
    for (host, ca) in [("localhost", None), ("127.0.0.1", Some(ca.path()))] {
        let error = open(host, ca).unwrap_err().to_string();
        assert!(error.contains("TLS") || error.contains("certificate"), "{error}");
    }
}
