//! An explorer on loopback with one index of rings.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use explorer::{ChainService, Explorer, Settings};
use index::ring::{Index, Store, SyncOptions, View};
use index::{ChainIndex, Memory};
use listen::{Drain, Limits};
use meter::{Admin, Clock, KeyOptions, Meter, PlanConfig, Plans, Service};
use node::{NodeConfig, Pool, PoolConfig};
use replay::{Phase, Replay, ReplayOptions};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::Answer;

/// A running explorer.
pub struct Rig {
    pub index: Arc<Index>,
    pub key: String,
    pub address: SocketAddr,

    pub explorer: Arc<Explorer>,
    pool: Arc<Pool>,
    drain: Drain,
    /// Of the rows, and of accounts.
    dirs: Option<[TempDir; 2]>,
}

/// A recorded node.
pub async fn node(phase: Phase) -> Replay {
    let node = Replay::start("xmr", ReplayOptions::default()).await.unwrap();
    node.set_phase(phase);
    node
}

/// A file beside the recording of the node.
pub fn file(name: &str) -> Value {
    let folder = "../replay/recordings/xmr";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The items of a list.
pub fn items(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

/// A text.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

impl Rig {
    /// Starts an explorer whose index follows that node.
    pub async fn start(url: String) -> Rig {
        Rig::with(url, Settings::default()).await
    }

    /// The same with other settings.
    pub async fn with(url: String, settings: Settings) -> Rig {
        Rig::on(TempDir::new().unwrap(), url, settings).await
    }

    /// The same on an index that is in a folder already.
    pub async fn on(rows: TempDir, url: String, settings: Settings) -> Rig {
        let dir = TempDir::new().unwrap();
        let wide = PlanConfig {
            requests_per_second: 100_000,
            daily: None,
            monthly: None,
            batch_size: None,
            concurrency: Some(10_000),
            chains: None,
            price_usd: None,
        };
        let plans = Plans::with([("wide".to_owned(), wide)]).unwrap();
        let services = [Service::Gateway, Service::Explorer];
        let meter = Meter::open(dir.path(), &services, plans.clone(), Clock::system()).unwrap();
        let admin = Admin::open(dir.path(), plans, Clock::system()).unwrap();
        admin.add_account("tester", Some("wide"), Some("wide")).unwrap();
        let key = admin.add_key("tester", KeyOptions::default()).unwrap();
        let chain = chain::find("xmr").unwrap();
        let network = chain.network("regtest").unwrap();
        let memory = Memory::new(8 << 20, 8 << 20);
        let store = Store::open(rows.path(), chain, network, &memory).unwrap();
        let probe_interval = Duration::from_millis(100);
        let nodes = vec![NodeConfig::new(url)];
        let config = PoolConfig { nodes, probe_interval, ..PoolConfig::default() };
        let pool = Pool::new(chain, network, config).unwrap();
        pool.start();
        let options = SyncOptions {
            poll: Duration::from_millis(50),
            least_free_bytes: 0,
            // In one batch: a debug build sums all rows at each.
            bulk_from: 100,
            ..SyncOptions::default()
        };
        let index = Index::start(store, Arc::clone(&pool), options);
        let served = Some(ChainIndex::Ring(Arc::clone(&index)));
        let services = vec![ChainService { chain, network, index: served }];
        let explorer = Arc::new(Explorer::new(meter, services, settings));
        let listener = listen::bind("explorer", "127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let drain = Drain::new();
        let serving = Arc::clone(&explorer);
        tokio::spawn(listen::run(listener, None, Limits::default(), serving, drain.clone()));
        let key = key.key.reveal().to_owned();
        Rig { index, key, address, explorer, pool, drain, dirs: Some([rows, dir]) }
    }

    /// An explorer that is in sync with a recorded node, and the node.
    pub async fn recorded(phase: Phase) -> (Replay, Rig) {
        let node = node(phase).await;
        let rig = Rig::start(node.url()).await;
        rig.in_sync_at(tip(phase)).await;
        (node, rig)
    }

    /// Ends it, and gives the folder of its rows back.
    pub async fn end(mut self) -> TempDir {
        let [rows, _] = self.dirs.take().unwrap();
        self.explorer.reload(Vec::new(), Settings::default());
        self.index.stop().await;
        let held = Arc::downgrade(&self.index);
        drop(self);
        // The rows are closed with their last reader.
        for _ in 0..3000 {
            if held.strong_count() == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        rows
    }

    /// Waits until a view is as it should be.
    pub async fn until(&self, what: &str, holds: impl Fn(&View) -> bool) {
        for _ in 0..3000 {
            if self.index.view().is_some_and(|view| holds(&view)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{what}: {:?}", self.index.standing());
    }

    /// Waits until the index is at the node's best block of that height, with its mempool.
    pub async fn in_sync_at(&self, height: u32) {
        self.until("in sync", |view| {
            let standing = self.index.standing();
            standing.in_sync && view.height() == height && view.mempool().is_some()
        })
        .await;
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/api/v1/xmr/{path}", self.address)
    }

    /// Gets a path behind the chain.
    pub async fn get(&self, path: &str) -> Answer {
        let headers = [("X-API-Key", self.key.as_str())];
        testkit::get(&self.url(path), &headers).await.unwrap()
    }

    /// Posts a body to a path behind the chain.
    pub async fn post(&self, path: &str, body: &[u8]) -> Answer {
        let headers = [("X-API-Key", self.key.as_str())];
        testkit::post(&self.url(path), &headers, body).await.unwrap()
    }

    /// The body of a 200, which holds no null.
    pub async fn ok(&self, path: &str) -> Value {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        body(&answer)
    }

    /// Asserts a refusal.
    pub async fn refused(&self, path: &str, status: u16, reason: &str) {
        refused(&self.get(path).await, status, reason, path);
    }

    /// What a check of outputs finds.
    pub async fn check(&self, hash: &str, address: &str, kind: &str, key: &str) -> Answer {
        let body = json!({"address": address, "kind": kind, "key": key}).to_string();
        self.post(&format!("tx/{hash}/outputs/check"), body.as_bytes()).await
    }
}

/// Height of the tip of a phase.
pub fn tip(phase: Phase) -> u32 {
    match phase {
        Phase::A => 170,
        Phase::Popped => 167,
        Phase::B => 172,
    }
}

/// The body of an answer, which holds no null.
pub fn body(answer: &Answer) -> Value {
    let body = serde_json::from_slice(&answer.body).unwrap_or_else(|_| panic!("{}", answer.text()));
    assert!(!has_null(&body), "{body}");
    body
}

/// Asserts a refusal.
#[track_caller]
pub fn refused(answer: &Answer, status: u16, reason: &str, what: &str) {
    let body = body(answer);
    let found = (answer.status, body["error"]["reason"].as_str().unwrap_or_default());
    assert_eq!(found, (status, reason), "{what}: {}", answer.text());
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{what}");
}

impl Drop for Rig {
    fn drop(&mut self) {
        let (drain, index, pool) = (self.drain.clone(), Arc::clone(&self.index), self.pool.clone());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                drain.end(Default::default(), Default::default()).await;
                index.stop().await;
                pool.stop();
            });
        }
    }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(members) => members.values().any(has_null),
        _ => false,
    }
}
