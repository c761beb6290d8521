//! A pool is woken by what its nodes publish, and by nothing worse.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use node::{NodeConfig, Pool, PoolConfig};
use testkit::{Monerod, free_port};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch::Receiver;

use crate::scripted::*;

/// A node that is not there with a publisher that may be.
fn config(zmq: impl Into<String>) -> NodeConfig {
    NodeConfig { zmq: Some(zmq.into()), ..NodeConfig::new("http://127.0.0.1:1/") }
}

fn listening(slug: &str, zmq: impl Into<String>) -> (Arc<Pool>, Receiver<u64>) {
    let pool = pool(slug, "regtest", vec![config(zmq)]);
    pool.start();
    let woken = pool.woken();
    (pool, woken)
}

async fn wake(woken: &mut Receiver<u64>) {
    tokio::time::timeout(Duration::from_secs(20), woken.changed()).await.unwrap().unwrap();
}

/// monerod publishes other topics, by the same library as the nodes of the Core family.
#[tokio::test]
async fn real_publisher_takes_our_hand_and_sends_nothing_unasked() {
    let monerod = Monerod::start(None).await.unwrap();
    let (_pool, mut woken) = listening("ltc", monerod.zmq());
    wake(&mut woken).await;
    monerod.mine(3).await.unwrap();
    assert!(tokio::time::timeout(millis(500), woken.changed()).await.is_err());
}

#[tokio::test]
async fn publisher_that_comes_later_is_found_and_found_again() {
    let port = free_port().unwrap();
    let (_pool, mut woken) = listening("btc", format!("tcp://127.0.0.1:{port}"));
    tokio::time::sleep(millis(150)).await;
    let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    for _ in 0..3 {
        let mut peer = listener.accept().await.unwrap().0;
        publish(&mut peer, b"\x00\x09hashblock").await;
        wake(&mut woken).await;
    }
}

/// Shakes hands and says `words`.
async fn publish(peer: &mut tokio::net::TcpStream, words: &[u8]) {
    let mut greeting = [0; 64];
    peer.read_exact(&mut greeting).await.unwrap();
    peer.write_all(&greeting).await.unwrap();
    peer.write_all(b"\x04\x19\x05READY\x0bSocket-Type\0\0\0\x03PUB").await.unwrap();
    // Its READY and its two subscriptions.
    peer.read_exact(&mut [0; 27 + 12 + 9]).await.unwrap();
    peer.write_all(words).await.unwrap();
}

#[tokio::test]
async fn message_of_many_parts_wakes_at_its_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (_pool, mut woken) = listening("btc", format!("tcp://{}", listener.local_addr().unwrap()));
    let mut peer = listener.accept().await.unwrap().0;
    publish(&mut peer, b"").await;
    wake(&mut woken).await;
    peer.write_all(b"\x04\x07\x04PING\0\0\x01\x09hashblock\x01\x01h").await.unwrap();
    assert!(tokio::time::timeout(millis(100), woken.changed()).await.is_err());
    peer.write_all(b"\x00\x04\x01\0\0\0").await.unwrap();
    wake(&mut woken).await;
    assert_eq!(*woken.borrow(), 2);
}

#[tokio::test]
async fn only_a_block_tells_of_another_tip() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (pool, mut woken) = listening("btc", format!("tcp://{}", listener.local_addr().unwrap()));
    let mut peer = listener.accept().await.unwrap().0;
    publish(&mut peer, b"").await;
    wake(&mut woken).await;
    let before = pool.tip_changes();
    peer.write_all(b"\x01\x06hashtx\x01\x01h\x00\x04\x01\0\0\0").await.unwrap();
    wake(&mut woken).await;
    assert_eq!(pool.tip_changes(), before);
    peer.write_all(b"\x01\x09hashblock\x01\x01h\x00\x04\x02\0\0\0").await.unwrap();
    wake(&mut woken).await;
    assert_ne!(pool.tip_changes(), before);
}

#[tokio::test]
async fn garbage_wakes_nobody_and_is_not_hammered() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let serving = tokio::spawn(async move {
        loop {
            let mut peer = listener.accept().await.unwrap().0;
            let nth = counted.fetch_add(1, Ordering::SeqCst);
            let huge = [&[6][..], &[0x7f; 8]].concat();
            match nth % 3 {
                0 => peer.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap(),
                1 => peer.write_all(&[0xff; 100]).await.unwrap(),
                _ => peer.write_all(&huge).await.unwrap(),
            }
        }
    });
    let (pool, woken) = listening("btc", format!("tcp://{at}"));
    until("it was tried three times", || count.load(Ordering::SeqCst) >= 3).await;
    assert!(!woken.has_changed().unwrap());
    pool.stop();
    tokio::time::sleep(millis(50)).await;
    let after = count.load(Ordering::SeqCst);
    tokio::time::sleep(millis(1000)).await;
    assert_eq!(count.load(Ordering::SeqCst), after, "stopped");
    serving.abort();
}

#[tokio::test]
async fn listening_follows_the_configuration() {
    let mut listeners = Vec::new();
    for _ in 0..2 {
        listeners.push(TcpListener::bind("127.0.0.1:0").await.unwrap());
    }
    let at = |n: usize| format!("tcp://{}", listeners[n].local_addr().unwrap());
    let (pool, mut woken) = listening("btc", at(0));
    let mut first = listeners[0].accept().await.unwrap().0;
    publish(&mut first, b"").await;
    wake(&mut woken).await;
    pool.reload(PoolConfig { nodes: vec![config(at(1))], ..PoolConfig::default() }).unwrap();
    assert_eq!(first.read(&mut [0; 1]).await.unwrap(), 0, "the old one is left");
    let mut second = listeners[1].accept().await.unwrap().0;
    publish(&mut second, b"").await;
    wake(&mut woken).await;
    let bad = PoolConfig { nodes: vec![config("ipc:///x")], ..PoolConfig::default() };
    let problem = pool.reload(bad).unwrap_err().to_string();
    assert_eq!(problem, "node 0: zmq must be tcp://host:port");
    drop(pool);
    assert_eq!(second.read(&mut [0; 1]).await.unwrap(), 0, "it ends with its pool");
}
