//! A node that sends one answer too many: nobody is handed another's.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::rig::{Plan, call, nodes, reason, refused};

/// What the node says again after an answer, unasked.
type Echo = fn(&str) -> String;

/// A node that answers each request in turn, and sends another answer some time after each third.
async fn babbling(stray: Echo) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let strays = Arc::<AtomicUsize>::default();
    let count = strays.clone();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            tokio::spawn(babble(stream, stray, count.clone()));
        }
    });
    (address, strays)
}

async fn babble(mut stream: TcpStream, stray: Echo, strays: Arc<AtomicUsize>) {
    let mut pending = Vec::new();
    for round in 0_u64.. {
        let Some(body) = request(&mut stream, &mut pending).await else { return };
        let answer = answer_to(&body);
        if stream.write_all(&http(&answer)).await.is_err() {
            return;
        }
        if round % 3 == 2 {
            // From at once to 4 ms after the answer.
            let wait =
                Duration::from_micros([0, 200, 500, 1000, 2000, 4000][round as usize / 3 % 6]);
            tokio::time::sleep(wait).await;
            strays.fetch_add(1, Ordering::SeqCst);
            if stream.write_all(&http(&stray(&answer))).await.is_err() {
                return;
            }
        }
    }
}

/// The body of the next request.
pub async fn request(stream: &mut TcpStream, pending: &mut Vec<u8>) -> Option<String> {
    loop {
        let text = String::from_utf8_lossy(pending).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let (_, length) = head.split_once("content-length: ").unwrap();
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            if body.len() >= length {
                pending.drain(..text.len() - body.len() + length);
                return Some(body[..length].to_owned());
            }
        }
        let mut buffer = [0; 8192];
        let read = stream.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
        pending.extend_from_slice(&buffer[..read]);
    }
}

/// The result of each call is its id, so that a mix-up shows.
fn answer_to(body: &str) -> String {
    let one = |call: &Value| format!(r#"{{"result":{0},"error":null,"id":{0}}}"#, call["id"]);
    match serde_json::from_str(body).unwrap() {
        Value::Array(calls) => {
            format!("[{}]\n", calls.iter().map(one).collect::<Vec<_>>().join(","))
        }
        single => one(&single) + "\n",
    }
}

/// An answer on the wire.
pub fn http(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// The same again, as a node or a proxy that repeats itself sends it.
fn again(answer: &str) -> String {
    answer.to_owned()
}

/// Large enough to come in many pieces, with its id at the end.
fn swollen(answer: &str) -> String {
    let id = answer.trim_end().trim_end_matches('}').rsplit(':').next().unwrap();
    format!(r#"{{"result":"{}","error":null,"id":{id}}}"#, "0".repeat(300_000))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_is_handed_an_answer_that_was_sent_to_another() {
    for (stray, batches) in [(again as Echo, false), (again, true), (swollen, false)] {
        let (address, strays) = babbling(stray).await;
        let mut pool = nodes(&[&format!("http://{address}")]);
        pool.probe_interval = Duration::from_secs(3600);
        let rig = Arc::new(Plan::one("btc", pool).start().await);
        let mut clients = tokio::task::JoinSet::new();
        for client in 1..9 {
            let rig = rig.clone();
            clients.spawn(async move {
                let mut right = 0;
                let mut connection = rig.connect().await;
                for round in 0..60 {
                    let id = format!("{client}000{round}");
                    let one = |id: &str| format!(r#"{{"id":{id},"method":"getblockcount"}}"#);
                    let body = match batches {
                        true => format!("[{},{}]", one(&id), one(&format!("{id}9"))),
                        false => one(&id),
                    };
                    let target = "/v1/rpc/btc";
                    let headers = [("X-API-Key", rig.key.as_str())];
                    connection.request("POST", target, &headers, body.as_bytes()).await.unwrap();
                    let Ok(answer) = connection.answer().await else {
                        // Told off at its end: reset.
                        connection = rig.connect().await;
                        continue;
                    };
                    if answer.status == 200 {
                        assert_eq!(answer.text(), answer_to(&body));
                        right += 1;
                    } else {
                        assert_eq!((answer.status, reason(&answer).as_str()), (502, "NODE_ERROR"));
                    }
                    tokio::time::sleep(Duration::from_micros(300 * (round % 7))).await;
                }
                right
            });
        }
        let right: usize = clients.join_all().await.into_iter().sum();
        assert!(right > 240, "{right} of 480 with {} strays", strays.load(Ordering::SeqCst));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_to_another_call_is_the_nodes_error_and_costs_nothing() {
    // Answers with the id of the call before.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut pending = Vec::new();
                while let Some(body) = request(&mut stream, &mut pending).await {
                    let late = answer_to(&body.replace("\"id\":5", "\"id\":4"));
                    let _ = stream.write_all(&http(&late)).await;
                }
            });
        }
    });
    let mut pool = nodes(&[&format!("http://{address}")]);
    pool.probe_interval = Duration::from_secs(3600);
    let rig = Plan::one("btc", pool).start().await;
    let mut connection = rig.connect().await;
    let one = r#"{"id":5,"method":"getblockcount"}"#;
    for body in [one, &format!("[{one}]")] {
        let answer = call(&mut connection, &rig, "btc", body.as_bytes()).await;
        refused(&answer, 502, "NODE_ERROR");
        assert_eq!(rig.units_today(), 0);
        let idle: usize =
            rig.pools[0].nodes().iter().map(|node| node.state().idle_connections).sum();
        assert_eq!(idle, 0, "the connection is closed");
    }
    let right = call(&mut connection, &rig, "btc", one.replace('5', "6").as_bytes()).await;
    assert_eq!(right.status, 200);
}
