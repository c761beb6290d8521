//! `[serve] workers`: whichever thread a client comes to, he is answered and charged once.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use replay::{Replay, ReplayOptions};
use tokio::runtime::Runtime;

use crate::program::{Folder, LONG, wait};

const CLIENTS: usize = 50;
const TIP: &str = r#"{"method":"getblockcount","id":1}"#;

/// Says all it has to say, shuts its sending side, and gives the answer.
fn said_and_shut(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn clients_that_shut_their_sending_side_are_answered_and_charged_on_every_worker() {
    let runtime = Runtime::new().unwrap();
    let node = runtime.block_on(Replay::start("btc", ReplayOptions::default())).unwrap();
    let folder = Folder::with(&format!(
        "[serve]\ndrain_grace_secs = 0\nworkers = 3\n[gateway]\nlisten = \"127.0.0.1:0\"\n\
         [nodes]\nqueue_wait_ms = 60000\n[plan.wide]\nrequests_per_second = 1000\nconcurrency = 1000\n\
         [chain.btc]\nnetwork = \"regtest\"\nnodes = [{{ url = \"{}\", slots = 4 }}]\n",
        node.url()
    ));
    let mut serving = folder.start(&["serve"]);
    let gateway = serving.address("the gateway listens");
    let explorer = serving.address("the explorer listens");
    folder.json(&["account", "add", "shop", "--gateway-plan", "wide", "--explorer-plan", "wide"]);
    let key = folder.json(&["key", "add", "shop"])["key"].as_str().unwrap().to_owned();
    let head = |verb: &str, path: &str, length: usize| {
        format!(
            "{verb} {path} HTTP/1.1\r\nhost: h\r\nx-api-key: {key}\r\ncontent-length: {length}\r\n\r\n"
        )
    };
    let call = head("POST", "/v1/rpc/btc", TIP.len()) + TIP;
    let question = head("GET", "/api/v1/btc/status", 0);
    wait("the index", || said_and_shut(explorer, &question).contains("200 OK").then_some(()));
    let before = folder.json(&["usage", "shop"])["explorer"]["today"].as_u64().unwrap();
    std::thread::scope(|scope| {
        for (address, request) in [(gateway, &call), (explorer, &question)] {
            for _ in 0..CLIENTS {
                scope.spawn(move || {
                    let answer = said_and_shut(address, request);
                    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
                });
            }
        }
    });
    serving.signal("TERM");
    assert!(serving.wait().success());
    let usage = folder.json(&["usage", "shop"]);
    assert_eq!(usage["gateway"]["today"], CLIENTS);
    assert_eq!(usage["explorer"]["today"], before + CLIENTS as u64);
}
