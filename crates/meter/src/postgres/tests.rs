//! The verbs of the store on a real PostgreSQL, its schema, and who may count.

use std::sync::{Arc, Mutex, Weak};

use testkit::Postgres as Server;

use super::*;
use crate::store::exercises;
use crate::store::exercises::{at, new_account, new_key};

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
    assert!(error.contains("schema 3") && error.contains("newer Portolan"), "{error}");
}

#[test]
fn a_step_that_fails_leaves_everything_as_it_was() {
    let server = server();
    let address = make(&server, "failing");
    Postgres::open(address.clone()).unwrap().add_account(&new_account("one")).unwrap();
    let steps = [schema::STEPS[0], "DROP TABLE keys", "SELECT 1 / 0"];
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
fn one_process_at_a_time_counts_a_service_also_over_an_interruption() {
    let mut server = Server::start().unwrap();
    let address = make(&server, "held");
    let store = Postgres::open(address.clone()).unwrap();
    store.hold(Service::Gateway).unwrap();
    let other = Postgres::open(address.clone()).unwrap();
    let refused = other.hold(Service::Gateway).unwrap_err().to_string();
    assert!(refused.contains("gateway is counted"), "{refused}");
    assert!(refused.contains(&format!("portolan {} from 127.0.0.1", std::process::id())));
    other.hold(Service::Explorer).unwrap();

    // The server was away; nobody else has counted.
    let before = store.changed();
    server.stop();
    assert!(store.version().is_err());
    server.start_again().unwrap();
    store.version().unwrap();
    assert_eq!(store.changed(), before);
    assert!(other.hold(Service::Gateway).is_err());

    // Our connection was lost, and another was quicker.
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_locks
               WHERE locktype = 'advisory' AND objid = 1 AND granted";
    server.sql("held", cut).unwrap();
    other.hold(Service::Gateway).unwrap();
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
    Postgres::open(address).unwrap().hold(Service::Gateway).unwrap();
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
