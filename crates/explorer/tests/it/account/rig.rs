//! An explorer on loopback with one index of accounts.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chain::account::RewardForks;
use explorer::{ChainService, Explorer, Settings};
use index::account::{Comparison, Incomparable, Index, Store, SyncOptions, View};
use index::{ChainIndex, Memory};
use listen::{Drain, Limits};
use meter::{Admin, Clock, KeyOptions, Meter, PlanConfig, Plans, Service};
use node::{NodeConfig, Pool, PoolConfig};
use serde_json::Value;
use tempfile::TempDir;
use testkit::Answer;

/// A running explorer.
pub struct Rig {
    pub index: Arc<Index>,
    pub key: String,
    pool: Arc<Pool>,
    explorer: Arc<Explorer>,
    url: String,
    drain: Drain,
    dir: TempDir,
}

/// Looks often, and starts with everything.
pub fn options() -> SyncOptions {
    SyncOptions {
        poll: Duration::from_millis(30),
        least_free_bytes: 0,
        first_blocks: 1000,
        history_from: 0,
        ..SyncOptions::default()
    }
}

fn service(index: Option<&Arc<Index>>) -> ChainService {
    let chain = chain::find("eth").unwrap();
    let network = chain.network("dev").unwrap();
    let index = index.map(|index| ChainIndex::Account(Arc::clone(index)));
    ChainService { chain, network, index }
}

/// An index in `dir` that follows these nodes.
pub fn follow(dir: &Path, urls: &[String], options: SyncOptions) -> (Arc<Index>, Arc<Pool>) {
    follow_on("dev", None, dir, urls, options)
}

/// The same on a network of that name, with rewards that fall at other heights than its own.
fn follow_on(
    network: &str,
    forks: Option<RewardForks>,
    dir: &Path,
    urls: &[String],
    options: SyncOptions,
) -> (Arc<Index>, Arc<Pool>) {
    let chain = chain::find("eth").unwrap();
    let network = chain.network(network).unwrap();
    let memory = Memory::new(8 << 20, 8 << 20);
    let mut store = Store::open(dir, chain, network, &memory).unwrap();
    store.go_by(forks).unwrap();
    let nodes = urls.iter().map(|url| NodeConfig::new(url.as_str())).collect();
    let probe_interval = Duration::from_millis(100);
    let config = PoolConfig { nodes, probe_interval, ..PoolConfig::default() };
    let pool = Pool::new(chain, network, config).unwrap();
    pool.start();
    (Index::start(store, Arc::clone(&pool), options), pool)
}

impl Rig {
    /// Starts an explorer whose index follows these nodes.
    pub async fn start(urls: &[String], options: SyncOptions) -> Rig {
        Rig::start_by("dev", None, urls, options).await
    }

    /// The same on a network of that name.
    pub async fn start_on(network: &str, urls: &[String], options: SyncOptions) -> Rig {
        Rig::start_by(network, None, urls, options).await
    }

    /// The same where rewards fall at other heights than the network's own.
    pub async fn start_by(
        network: &str,
        forks: Option<RewardForks>,
        urls: &[String],
        options: SyncOptions,
    ) -> Rig {
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
        let (index, pool) = follow_on(network, forks, &dir.path().join("eth"), urls, options);
        let services = vec![service(Some(&index))];
        let explorer = Arc::new(Explorer::new(meter, services, Settings::default()));
        let listener = listen::bind("explorer", "127.0.0.1:0".parse().unwrap()).unwrap();
        let address: SocketAddr = listener.local_addr().unwrap();
        let drain = Drain::new();
        let serving = Arc::clone(&explorer);
        tokio::spawn(listen::run(listener, None, Limits::default(), serving, drain.clone()));
        let (url, key) = (format!("http://{address}"), key.key.reveal().to_owned());
        Rig { index, key, pool, explorer, url, drain, dir }
    }

    /// Cuts the index off wherever it is, and starts it again on its folder.
    pub async fn restart(mut self, urls: &[String]) -> Rig {
        self.explorer.reload(vec![service(None)], Settings::default());
        self.index.stop().await;
        self.pool.stop();
        let dir = self.dir.path().join("eth");
        // The rows are closed with their last reader.
        let (held, bare) = (Arc::downgrade(&self.index), TempDir::new().unwrap());
        (self.index, self.pool) = follow(bare.path(), urls, options());
        self.index.stop().await;
        for _ in 0..1000 {
            if held.strong_count() == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        (self.index, self.pool) = follow(&dir, urls, options());
        self.explorer.reload(vec![service(Some(&self.index))], Settings::default());
        self
    }

    /// Waits until a view is as it should be.
    pub async fn until(&self, what: &str, holds: impl Fn(&View) -> bool) {
        for _ in 0..6000 {
            if self.index.view().is_some_and(|view| holds(&view)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{what}: {:?}", self.index.standing());
    }

    /// Waits until the tip is that block, and everything from genesis on is there and traced.
    pub async fn whole_at(&self, hash: &str) {
        self.until("whole", |view| {
            let coverage = view.coverage(index::Tier::Any).unwrap();
            view.tip().hash.to_string() == hash && coverage.complete && coverage.traces
        })
        .await;
        for _ in 0..3000 {
            if self.index.standing().in_sync {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("in sync: {:?}", self.index.standing());
    }

    /// What a node says of what the index holds, of all blocks or of some.
    pub async fn compare(&self, node: &str, all: bool) -> Result<Comparison, Incomparable> {
        let (chain, network) = (self.index.chain(), self.index.network());
        let memory = Memory::new(8 << 20, 8 << 20);
        let dir = self.dir.path().join("eth");
        let store = Store::open_read_only(&dir, chain, network, &memory).unwrap();
        let config = PoolConfig { nodes: vec![NodeConfig::new(node)], ..PoolConfig::default() };
        let pool = Pool::new(chain, network, config).unwrap();
        let node = pool.pick(&node::Tried::new()).unwrap();
        let compared = store.compare(&node, all, |_| ()).await;
        pool.stop();
        compared
    }

    /// Gets a path behind the chain.
    pub async fn get(&self, path: &str) -> Answer {
        let headers = [("X-API-Key", self.key.as_str())];
        testkit::get(&format!("{}/api/v1/eth/{path}", self.url), &headers).await.unwrap()
    }

    /// The body of a 200, which holds no null.
    pub async fn ok(&self, path: &str) -> Value {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert!(!has_null(&body), "{path}: {body}");
        body
    }

    /// Asserts a refusal.
    pub async fn refused(&self, path: &str, status: u16, reason: &str) {
        let answer = self.get(path).await;
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let found = (answer.status, body["error"]["reason"].as_str().unwrap_or_default());
        assert_eq!(found, (status, reason), "{path}: {}", answer.text());
    }

    /// Every transaction of a list that is paged by cursor, and how many pages there were.
    pub async fn walk(&self, path: &str, limit: usize) -> (Vec<Value>, usize) {
        let (mut all, mut pages, mut cursor) = (Vec::new(), 0, String::new());
        loop {
            let page = self.ok(&format!("{path}?limit={limit}{cursor}")).await;
            let txs = page["txs"].as_array().unwrap();
            assert!(txs.len() <= limit, "{path}");
            all.extend(txs.iter().cloned());
            pages += 1;
            assert_eq!(page["has_more"], page.get("next_cursor").is_some());
            match page.get("next_cursor").and_then(Value::as_u64) {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return (all, pages),
            }
        }
    }
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
