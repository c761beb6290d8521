//! `portolan serve --only`: of what is not asked for nothing is built.

use std::net::TcpListener;

use replay::{Replay, ReplayOptions};
use tokio::runtime::Runtime;

use crate::program::{Folder, ask, call, http, wait};

const TIP: &str = r#"{"method":"getblockcount","id":1}"#;

/// A configuration in which `other` could not listen: its certificate is not there.
fn config(node: &str, other: &str) -> String {
    format!(
        "[serve]\ndrain_grace_secs = 0\n[metrics]\nlisten = \"127.0.0.1:0\"\n\
         [{other}]\ntls_cert = \"absent.pem\"\ntls_key = \"absent.key\"\n\
         [chain.btc]\nnetwork = \"regtest\"\nnodes = [{{ url = \"{node}\" }}]\n"
    )
}

#[test]
fn a_service_that_is_not_asked_for_is_neither_bound_nor_built() {
    let runtime = Runtime::new().unwrap();
    let node = runtime.block_on(Replay::start("btc", ReplayOptions::default())).unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = taken.local_addr().unwrap().to_string();
    for (asked, other) in [("gateway", "explorer"), ("explorer", "gateway")] {
        let folder = Folder::with(&config(&node.url(), other));
        let mut command = folder.command(&["serve", "--only", asked]);
        for (who, address) in [(asked, "127.0.0.1:0".to_owned()), (other, busy.clone())] {
            command.env(format!("PORTOLAN__{}__LISTEN", who.to_uppercase()), address);
        }
        let mut serving = folder.start_command(command);
        let address = serving.address(&format!("the {asked} listens"));
        let metrics = serving.address("metrics and health listen");
        let plan = format!("--{asked}-plan");
        folder.json(&["account", "add", "shop", &plan, "Pro"]);
        let key = folder.json(&["key", "add", "shop"])["key"].as_str().unwrap().to_owned();
        wait("the first answer", || {
            let answer = match asked {
                "gateway" => call(address, "btc", &key, TIP),
                _ => ask(address, "/api/v1/btc/status", &key),
            };
            (answer.status == 200).then_some(())
        });
        let page = http(metrics, "GET", "/metrics", "", "").unwrap().body;
        assert!(page.contains(&format!("portolan_{asked}_answers_total")), "{page}");
        assert!(!page.contains(&format!("portolan_{other}_")), "{page}");
        assert_eq!(folder.path().join("data/btc").exists(), asked == "explorer");
        serving.signal("HUP");
        let log = serving.wait_for_log("took the new configuration");
        assert!(!log.contains(&format!("the {other} listens")), "{log}");
        serving.signal("TERM");
        assert!(serving.wait().success());
    }
}
