//! Both sides from a node that serves the file, in a process of its own beside.
//!
//! The load is that of the program: `Index::start` until it has a view. Alone, the same blocks are
//! asked for in the same way, and decoded on all cores while the next ones come.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use index::utxo::{Index, SyncOptions};
use node::{Node, NodeConfig, Pool, PoolConfig, Tried, Weight};
use testkit::{StubNode, StubOptions};

use crate::measure::{Clock, Run};
use crate::{Loaded, Setting, decode, failed};

/// Names the file to the process that serves it.
pub const SERVE: &str = "LOAD_SERVE";
/// As the sync asks.
const BATCH_BLOCKS: u32 = 100;

/// Serves the file until it is killed, and prints its URL.
pub async fn serve(slug: &str, file: &Path) -> std::io::Result<()> {
    let node = StubNode::serve_file(slug, file, StubOptions::default()).await?;
    println!("{}", node.url());
    std::future::pending().await
}

/// The process that serves.
pub struct Served {
    child: Child,
    url: String,
}

impl Served {
    pub fn start() -> std::io::Result<Served> {
        let program = std::env::current_exe()?;
        let mut child = Command::new(program).env(SERVE, "1").stdout(Stdio::piped()).spawn()?;
        let mut url = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut url)?;
        }
        Ok(Served { child, url: url.trim().to_owned() })
    }

    async fn pool(&self, setting: &Setting) -> std::io::Result<Arc<Pool>> {
        let nodes = vec![NodeConfig::new(&self.url)];
        let config = PoolConfig { nodes, ..PoolConfig::default() };
        let pool = Pool::new(setting.chain, setting.network, config).map_err(failed)?;
        pool.start();
        pool.probed().await;
        Ok(pool)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn fetch(node: &Arc<Node>, first: u32) -> std::io::Result<Vec<Bytes>> {
    let heights = first..first + BATCH_BLOCKS;
    let calls: Vec<_> = heights.map(|height| ("getblockhash", format!("[{height}]"))).collect();
    let answers = node.call_batch(&calls, Weight::Internal).await.map_err(failed)?;
    let hashes = answers.into_iter().map_while(Result::ok);
    let block = |hash: Box<serde_json::value::RawValue>| async move {
        node.raw_block(hash.get().trim_matches('"')).await.map_err(failed)
    };
    stream::iter(hashes).map(block).buffered(SyncOptions::default().window).try_collect().await
}

/// Fetching and decoding alone.
pub async fn floor(setting: &Setting, served: &Served) -> std::io::Result<Run> {
    let pool = served.pool(setting).await?;
    let node = pool.pick(&Tried::new()).map_err(failed)?;
    let (clock, mut count, mut transactions, mut bytes) = (Clock::start(), 0, 0, 0);
    let mut batch = fetch(&node, 0).await?;
    while !batch.is_empty() {
        count += batch.len() as u64;
        bytes += batch.iter().map(|raw| raw.len() as u64).sum::<u64>();
        let format = setting.format;
        let decoding = tokio::task::spawn_blocking(move || decode(&batch, &format));
        let (decoded, next) = tokio::join!(decoding, fetch(&node, count as u32));
        transactions += decoded?;
        batch = next?;
    }
    let run = clock.stop(count, transactions, bytes);
    pool.stop();
    Ok(run)
}

/// A whole first load.
pub async fn load(setting: &Setting, served: &Served, dir: &Path) -> std::io::Result<Loaded> {
    let pool = served.pool(setting).await?;
    let store = setting.store(dir)?;
    let options = SyncOptions { load: setting.options.clone(), ..SyncOptions::default() };
    let clock = Clock::start();
    let index = Index::start(store, Arc::clone(&pool), options);
    let view = loop {
        if let Some(view) = index.view() {
            break view;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let count = u64::from(view.height()) + 1;
    let last = view.block(view.height(), index::Tier::Any).map_err(failed)?;
    let transactions = last.map_or(0, |row| row.first_txnum + u64::from(row.tx_count));
    let run = clock.stop(count, transactions, std::fs::metadata(&setting.file)?.len());
    index.stop().await;
    pool.stop();
    let store = index.store().lock().map_err(|error| failed(error.to_string()))?;
    Ok(Loaded { run, last_step: None, sizes: store.sizes() })
}
