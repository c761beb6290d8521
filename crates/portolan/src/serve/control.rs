//! The local control socket: what a command needs of a running server's indexes.
//!
//! One line of JSON each way. The socket lies in the store's folder, whose permissions guard it.
//! Invariant: nothing but a backup can be asked for.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream as ClientStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use index::ChainIndex;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

use crate::failure::Failure;

/// Longest line that is read, in bytes.
const LONGEST: u64 = 64 << 10;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    backup: String,
    to: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Told {
    error: Option<String>,
}

fn path(store: &Path) -> PathBuf {
    store.join("control.sock")
}

/// The indexes that can be asked for, replaced on a reload.
pub(crate) type Indexes = Arc<Mutex<Vec<ChainIndex>>>;

/// The socket of a running server; it goes with it.
pub(crate) struct Control {
    path: PathBuf,
    task: JoinHandle<()>,
}

impl Drop for Control {
    fn drop(&mut self) {
        self.task.abort();
        // A socket that is gone already is as good.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Listens in the folder of a store that this process has locked.
pub(crate) fn listen(store: &Path, indexes: Indexes) -> Result<Control, Failure> {
    let path = path(store);
    // What a killed server left; the store's lock says that none runs.
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path)?;
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, Arc::clone(&indexes)));
        }
    });
    Ok(Control { path, task })
}

async fn answer(stream: UnixStream, indexes: Indexes) {
    let (reader, mut writer) = stream.into_split();
    let mut line = String::new();
    let mut reader = tokio::io::BufReader::new(reader.take(LONGEST));
    if reader.read_line(&mut line).await.is_err() {
        return;
    }
    let error = match serde_json::from_str::<Ask>(&line) {
        Ok(ask) => back_up(ask, &indexes).await.err(),
        Err(_) => Some("not a request that can be read".to_owned()),
    };
    let told = serde_json::to_string(&Told { error }).unwrap_or_default() + "\n";
    // The asker may be gone; the copy stands all the same.
    let _ = writer.write_all(told.as_bytes()).await;
}

async fn back_up(ask: Ask, indexes: &Indexes) -> Result<(), String> {
    let index = {
        let indexes = indexes.lock().unwrap_or_else(PoisonError::into_inner);
        indexes.iter().find(|index| index.chain().slug == ask.backup).cloned()
    };
    let index = index.ok_or("the server keeps no index of this chain")?;
    let work = move || index.backup(&ask.to).map_err(|error| error.to_string());
    tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?
}

/// Asks the server that has the store open for a copy of an index.
pub(crate) fn ask_backup(store: &Path, slug: &str, to: &Path) -> Result<(), Failure> {
    let mut stream = ClientStream::connect(path(store)).map_err(|error| {
        Failure::new(format!("the index is in use, and its server cannot be asked: {error}"))
    })?;
    let ask = Ask { backup: slug.to_owned(), to: to.to_owned() };
    let line = serde_json::to_string(&ask).map_err(|error| Failure::new(error.to_string()))? + "\n";
    stream.write_all(line.as_bytes())?;
    let mut told = String::new();
    BufReader::new(stream).read_line(&mut told)?;
    let told: Told = serde_json::from_str(&told)
        .map_err(|_| Failure::new("the server gave no answer that can be read"))?;
    match told.error {
        None => Ok(()),
        Some(error) => Err(Failure::new(error)),
    }
}
