//! A node that says something else than it should: what another one answers, altered.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use testkit::Connection;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// Path and body of a request, and status and body of what the node answered to it.
pub struct Talk<'a> {
    pub path: &'a str,
    pub asked: &'a [u8],
    pub status: u16,
    pub answer: Vec<u8>,
}

type Alter = dyn Fn(&mut Talk<'_>) + Send + Sync;

/// Stands before a node. Dropping it ends it.
pub struct Proxy {
    address: SocketAddr,
    alter: Arc<Mutex<Arc<Alter>>>,
    serving: AbortHandle,
}

impl Proxy {
    /// Alters what the node at `url` answers.
    pub async fn start(url: &str, alter: impl Fn(&mut Talk<'_>) + Send + Sync + 'static) -> Proxy {
        let behind: SocketAddr = url.trim_start_matches("http://").parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let alter: Arc<Alter> = Arc::new(alter);
        let alter = Arc::new(Mutex::new(alter));
        let shared = Arc::clone(&alter);
        let serving = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, behind, Arc::clone(&shared)));
            }
        });
        Proxy { address, alter, serving: serving.abort_handle() }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Alters answers in another way from now on.
    pub fn set(&self, alter: impl Fn(&mut Talk<'_>) + Send + Sync + 'static) {
        *self.alter.lock().unwrap() = Arc::new(alter);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(
    mut client: TcpStream,
    behind: SocketAddr,
    alter: Arc<Mutex<Arc<Alter>>>,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut node = Connection::open(behind).await?;
    let mut buffer = Vec::new();
    loop {
        let end = loop {
            if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            if client.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        };
        let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        let length: usize = length.unwrap_or(0);
        while buffer.len() < end + length {
            if client.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        }
        let asked: Vec<u8> = buffer[end..end + length].to_vec();
        buffer.drain(..end + length);
        let mut words = head.split(' ');
        let (verb, path) = (words.next().unwrap_or("POST"), words.next().unwrap_or("/"));
        node.request(verb, path, &[], &asked).await?;
        let said = node.answer().await?;
        let mut talk = Talk { path, asked: &asked, status: said.status, answer: said.body };
        let altering = Arc::clone(&*alter.lock().unwrap());
        altering(&mut talk);
        let head = format!(
            "HTTP/1.1 {} Said\r\nContent-Length: {}\r\n\r\n",
            talk.status,
            talk.answer.len()
        );
        client.write_all(&[head.as_bytes(), &talk.answer].concat()).await?;
    }
}
