//! Every mischief is seen by a client as what it is called.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use testkit::{Chaos, Connection, Mischief};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Answers each connection's first bytes with 1000 bytes, and closes.
async fn thousand() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut asked = [0; 1024];
                let _ = stream.read(&mut asked).await;
                let _ = stream.write_all(&[b'a'; 1000]).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    address
}

async fn exchange(chaos: &Chaos) -> std::io::Result<Vec<u8>> {
    testkit::exchange(chaos.address(), b"x").await
}

#[tokio::test]
async fn bytes_pass_are_cut_or_reset() {
    let chaos = Chaos::start(thousand().await, Mischief::Pass).await.unwrap();
    assert_eq!(exchange(&chaos).await.unwrap().len(), 1000);
    for size in [0, 1, 999] {
        chaos.set(Mischief::CloseAfter(size));
        assert_eq!(exchange(&chaos).await.unwrap().len(), size as usize);
        chaos.set(Mischief::ResetAfter(size));
        assert_eq!(exchange(&chaos).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
    for wait in [Mischief::Delay(Duration::from_millis(20)), Mischief::Throttle(10_000)] {
        chaos.set(wait);
        assert_eq!(exchange(&chaos).await.unwrap().len(), 1000);
    }
    assert_eq!(chaos.connections(), 9);
}

#[tokio::test]
async fn connections_are_refused_or_never_answered() {
    let chaos = Chaos::start(thousand().await, Mischief::Refuse).await.unwrap();
    assert!(exchange(&chaos).await.is_err());
    chaos.set(Mischief::Hang);
    let waited = tokio::time::timeout(Duration::from_millis(300), exchange(&chaos)).await;
    assert!(waited.is_err());
}

#[tokio::test]
async fn a_head_is_as_large_as_asked() {
    let chaos = Chaos::start(thousand().await, Mischief::OversizeHead(100_000)).await.unwrap();
    let bytes = exchange(&chaos).await.unwrap();
    assert_eq!(bytes.len(), 100_002);
    let mut connection = Connection::open(chaos.address()).await.unwrap();
    connection.request("POST", "/", &[], b"").await.unwrap();
    assert_eq!(connection.answer().await.unwrap().body, b"{}");
}
