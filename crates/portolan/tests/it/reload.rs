//! SIGHUP: a configuration is taken whole or not at all.

use rcgen::{CertificateParams, KeyPair};

use crate::program::stage::Stage;
use crate::program::{Running, call, wait};

const TIP: &str = r#"{"method":"getblockcount","id":1}"#;

/// The rate that the account is told.
fn rate(stage: &Stage, serving: &Running) -> String {
    let answer = call(serving.address("the gateway listens"), "btc", &stage.key, TIP);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.header("x-ratelimit-limit").unwrap().to_owned()
}

/// Sends SIGHUP and waits until the log has told of it so many times in all.
fn hang_up(serving: &Running, told: &str, times: usize) -> String {
    serving.signal("HUP");
    wait(told, || {
        let log = serving.log();
        (log.matches(told).count() >= times).then_some(log)
    })
}

const KEPT: &str = "kept the old configuration";
const TAKEN: &str = "took the new configuration";
const FAST: &str = "[plan.Free]\nrequests_per_second = 77\n";

#[test]
fn a_network_that_does_not_fit_the_index_is_refused_and_nothing_of_its_file_is_taken() {
    let stage = Stage::new();
    let mut serving = stage.serve();
    let ltc = format!("[chain.ltc]\nnodes = [{{ url = \"{}/ltc\" }}]\n", stage.node.url());
    stage.configure("testnet", &format!("{FAST}{ltc}"));
    let log = hang_up(&serving, KEPT, 1);
    assert!(log.contains("holds an index of btc regtest"), "{log}");
    assert!(log.contains("not an index of btc testnet"), "{log}");
    assert_eq!(rate(&stage, &serving), "5");
    let gateway = serving.address("the gateway listens");
    assert_eq!(call(gateway, "ltc", &stage.key, TIP).status, 404);
    stage.in_sync(&serving);
    stage.configure("regtest", FAST);
    hang_up(&serving, TAKEN, 1);
    assert_eq!(rate(&stage, &serving), "77");
    stage.in_sync(&serving);
    serving.signal("TERM");
    assert!(serving.wait().success());
}

#[test]
fn a_configuration_that_is_gone_is_told_as_gone_and_what_runs_goes_on() {
    let stage = Stage::new();
    let file = stage.folder.path().join("portolan.toml");
    let default = || stage.folder.command(&["serve"]);
    let named = || stage.folder.command(&["-c", "portolan.toml", "serve"]);
    for start in [&default as &dyn Fn() -> std::process::Command, &named] {
        stage.configure("regtest", "");
        let mut serving = stage.folder.start_command(start());
        stage.in_sync(&serving);
        std::fs::remove_file(&file).unwrap();
        let log = hang_up(&serving, KEPT, 1);
        assert!(log.contains(&format!("{} is gone", file.display())), "{log}");
        assert!(!log.contains("no chain"), "{log}");
        assert_eq!(rate(&stage, &serving), "5");
        stage.in_sync(&serving);
        // It may come back.
        stage.configure("regtest", FAST);
        hang_up(&serving, TAKEN, 1);
        assert_eq!(rate(&stage, &serving), "77");
        serving.signal("TERM");
        assert!(serving.wait().success());
    }
}

#[test]
fn an_index_that_was_dropped_is_closed_and_can_be_had_again() {
    let stage = Stage::new();
    let mut serving = stage.serve();
    for round in 0..3 {
        stage.configure(
            "regtest",
            "explorer = false\n[chain.ltc]\nnodes = [{ url = \"http://127.0.0.1:1\" }]\n",
        );
        hang_up(&serving, TAKEN, 2 * round + 1);
        wait("the chain to be gone", || (stage.status(&serving).status == 404).then_some(()));
        stage.configure("regtest", "");
        hang_up(&serving, TAKEN, 2 * round + 2);
        stage.in_sync(&serving);
    }
    let log = serving.log();
    assert!(!log.contains("cannot be opened"), "{log}");
    serving.signal("TERM");
    assert!(serving.wait().success());
}

#[test]
fn an_index_that_was_rebuilt_takes_its_place_once_the_old_one_has_ended() {
    let stage = Stage::new();
    let mut serving = stage.serve();
    assert_eq!(stage.folder.json(&["index", "rebuild", "btc"])["in_place"], false);
    stage.configure(
        "regtest",
        "explorer = false\n[chain.ltc]\nnodes = [{ url = \"http://127.0.0.1:1\" }]\n",
    );
    hang_up(&serving, TAKEN, 1);
    stage.configure("regtest", "");
    let log = hang_up(&serving, TAKEN, 2);
    assert!(log.contains("took the index that was rebuilt"), "{log}");
    assert!(!stage.folder.path().join("data/btc.new").exists());
    stage.in_sync(&serving);
    serving.signal("TERM");
    assert!(serving.wait().success());
}

#[test]
fn what_takes_a_restart_is_held_against_what_runs() {
    let stage = Stage::new();
    let mut serving = stage.serve();
    let told = "takes a restart";
    stage.configure("regtest", "[log]\nlevel = \"warn\"\n");
    assert_eq!(hang_up(&serving, TAKEN, 1).matches(told).count(), 1);
    // The same file again: what runs is still other than that.
    assert_eq!(hang_up(&serving, TAKEN, 2).matches(told).count(), 2);
    // Back to what runs.
    stage.configure("regtest", "");
    assert_eq!(hang_up(&serving, TAKEN, 3).matches(told).count(), 2);
    serving.signal("TERM");
    assert!(serving.wait().success());
}

/// Writes a certificate that ends on the first of January of a year.
fn certify(stage: &Stage, until: i32) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["localhost".into()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = rcgen::date_time_ymd(until, 1, 1);
    let cert = params.self_signed(&key).unwrap();
    std::fs::write(stage.folder.path().join("cert.pem"), cert.pem()).unwrap();
    std::fs::write(stage.folder.path().join("key.pem"), key.serialize_pem()).unwrap();
}

#[test]
fn a_certificate_past_its_end_is_never_taken_in_silence() {
    let stage = Stage::new();
    certify(&stage, 2999);
    let with_tls = || {
        let mut command = stage.folder.command(&["serve"]);
        command.env("PORTOLAN__METRICS__TLS_CERT", "cert.pem");
        command.env("PORTOLAN__METRICS__TLS_KEY", "key.pem");
        command
    };
    let mut serving = stage.folder.start_command(with_tls());
    serving.address("the gateway listens");
    certify(&stage, 2021);
    stage.configure("regtest", FAST);
    let log = hang_up(&serving, KEPT, 1);
    assert!(log.contains("metrics: certificate") && log.contains("held until Jan  1"), "{log}");
    assert_eq!(rate(&stage, &serving), "5");
    serving.signal("TERM");
    assert!(serving.wait().success());
    let mut serving = stage.folder.start_command(with_tls());
    let log = serving.wait_for_log("the gateway listens");
    assert!(log.contains("WARN") && log.contains("held until"), "{log}");
    serving.signal("TERM");
    assert!(serving.wait().success());
}
