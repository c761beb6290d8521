//! An explorer on loopback, with indexes of its own that follow recorded nodes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use explorer::{ChainService, Explorer, Settings};
use index::utxo::{HashKey, Index, Store, SyncOptions};
use index::{ChainIndex, Memory, Standing};
use listen::{Drain, Limits};
use meter::{Admin, Clock, KeyOptions, Meter, PlanConfig, Plans, Service};
use node::{NodeConfig, Pool, PoolConfig};
use replay::{Phase, Replay, ReplayOptions};
use serde_json::Value;
use tempfile::TempDir;
use testkit::{Answer, Connection};

/// What an explorer of a test is made of.
pub struct Plan {
    /// Chains whose recorded nodes are followed.
    pub followed: Vec<&'static str>,
    /// Another node of a chain, by its address.
    pub at: Vec<(&'static str, String)>,
    /// Chains that are configured and have no index.
    pub bare: Vec<&'static str>,
    /// An empty index that is so many blocks behind is loaded in bulk.
    pub bulk_from: u32,
    pub settings: Settings,
    pub plans: Plans,
    pub plan: &'static str,
    pub options: KeyOptions,
    pub clock: Clock,
}

/// An index that follows a recorded node.
pub struct Followed {
    pub slug: &'static str,
    /// None: the node is no recorded one, or gone.
    pub node: Option<Replay>,
    url: String,
    bulk_from: u32,
    /// None while it is restarted.
    running: Option<(Arc<Index>, Arc<Pool>)>,
    dir: TempDir,
}

/// A running explorer.
pub struct Rig {
    pub url: String,
    pub address: SocketAddr,
    pub key: String,
    pub key_id: String,
    pub admin: Admin,
    pub meter: Arc<Meter>,
    pub explorer: Arc<Explorer>,
    pub followed: Vec<Followed>,
    bare: Vec<&'static str>,
    settings: Settings,
    drain: Drain,
    _dir: TempDir,
}

/// A plan with these numbers, under the name that a rig's account has.
pub fn plans(
    rps: u32,
    daily: Option<u64>,
    monthly: Option<u64>,
    concurrency: Option<u32>,
) -> Plans {
    let config = PlanConfig {
        requests_per_second: rps,
        daily,
        monthly,
        batch_size: None,
        concurrency,
        chains: None,
        price_usd: None,
    };
    Plans::with([("wide".to_owned(), config)]).unwrap()
}

/// The network that a chain was recorded on.
fn network(slug: &str) -> &'static str {
    match slug {
        "dcr" => "simnet",
        "eth" => "dev",
        _ => "regtest",
    }
}

impl Plan {
    /// An explorer of these chains that no test comes to the end of.
    pub fn of(followed: &[&'static str]) -> Plan {
        Plan {
            followed: followed.to_vec(),
            at: Vec::new(),
            bare: Vec::new(),
            bulk_from: 100_000,
            settings: Settings::default(),
            plans: plans(100_000, None, None, Some(10_000)),
            plan: "wide",
            options: KeyOptions::default(),
            clock: Clock::system(),
        }
    }

    /// An explorer of one chain, on a node that is not a recorded one.
    pub fn at(slug: &'static str, url: String) -> Plan {
        Plan { at: vec![(slug, url)], ..Plan::of(&[]) }
    }

    pub async fn start(self) -> Rig {
        let dir = TempDir::new().unwrap();
        let services = [Service::Gateway, Service::Explorer];
        let meter =
            Meter::open(dir.path(), &services, self.plans.clone(), self.clock.clone()).unwrap();
        let admin = Admin::open(dir.path(), self.plans, self.clock).unwrap();
        admin.add_account("tester", Some(self.plan), Some(self.plan)).unwrap();
        let key = admin.add_key("tester", self.options).unwrap();
        let mut followed = Vec::new();
        for slug in self.followed {
            followed.push(Followed::start(slug, self.bulk_from).await);
        }
        let others = self.at.into_iter();
        followed.extend(others.map(|(slug, url)| Followed::at(slug, url, None, self.bulk_from)));
        let explorer = Explorer::new(Arc::clone(&meter), Vec::new(), self.settings.clone());
        let explorer = Arc::new(explorer);
        let listener = listen::bind("explorer", "127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let drain = Drain::new();
        let service = Arc::clone(&explorer);
        tokio::spawn(listen::run(listener, None, Limits::default(), service, drain.clone()));
        let rig = Rig {
            url: format!("http://{address}"),
            address,
            key: key.key.reveal().to_owned(),
            key_id: key.id,
            admin,
            meter,
            explorer,
            followed,
            bare: self.bare,
            settings: self.settings,
            drain,
            _dir: dir,
        };
        rig.publish();
        for followed in rig.followed.iter().filter(|followed| followed.node.is_some()) {
            followed.in_sync(Phase::A).await;
        }
        rig
    }
}

impl Followed {
    async fn start(slug: &'static str, bulk_from: u32) -> Followed {
        let node = Replay::start(slug, ReplayOptions::default()).await.unwrap();
        Followed::at(slug, node.url(), Some(node), bulk_from)
    }

    fn at(slug: &'static str, url: String, node: Option<Replay>, bulk_from: u32) -> Followed {
        let dir = TempDir::new().unwrap();
        let mut followed = Followed { slug, node, url, bulk_from, running: None, dir };
        followed.follow();
        followed
    }

    fn follow(&mut self) {
        let chain = chain::find(self.slug).unwrap();
        let network = chain.network(network(self.slug)).unwrap();
        let key = HashKey::new([7; 16]);
        let memory = Memory::default();
        let store = Store::open_with_key(self.dir.path(), chain, network, &memory, key).unwrap();
        let nodes = vec![NodeConfig::new(self.url.as_str())];
        let config = PoolConfig { nodes, ..PoolConfig::default() };
        let pool = Pool::new(chain, network, config).unwrap();
        pool.start();
        let options = SyncOptions {
            poll: Duration::from_millis(50),
            bulk_from: self.bulk_from,
            least_free_bytes: 0,
            ..SyncOptions::default()
        };
        let index = Index::start(store, Arc::clone(&pool), options);
        self.running = Some((index, pool));
    }

    /// The index.
    pub fn index(&self) -> &Arc<Index> {
        &self.running.as_ref().unwrap().0
    }

    fn chain_index(&self) -> ChainIndex {
        ChainIndex::Utxo(Arc::clone(self.index()))
    }

    /// Shows another phase, and waits until the index has it.
    pub async fn turn(&self, phase: Phase) {
        self.node.as_ref().unwrap().set_phase(phase);
        self.in_sync(phase).await;
    }

    /// Waits until the index is at the tip of a phase.
    pub async fn in_sync(&self, phase: Phase) {
        let expected = testkit::expected(self.slug, phase);
        self.stands(|standing| standing.in_sync && expected["tip"] == standing.height).await;
    }

    /// Waits until the index stands so with its node.
    pub async fn stands(&self, so: impl Fn(&Standing) -> bool) {
        for _ in 0..4800 {
            if so(&self.index().standing()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("{} stands otherwise: {:?}", self.slug, self.index().standing());
    }
}

impl Rig {
    fn publish(&self) {
        let service = |slug: &str, index| {
            let chain = chain::find(slug).unwrap();
            ChainService { chain, network: chain.network(network(slug)).unwrap(), index }
        };
        let running = self.followed.iter().filter(|one| one.running.is_some());
        let mut services: Vec<ChainService> =
            running.map(|one| service(one.slug, Some(one.chain_index()))).collect();
        services.extend(self.bare.iter().map(|slug| service(slug, None)));
        self.explorer.reload(services, self.settings.clone());
    }

    /// Ends the first index and starts it again on its folder.
    pub async fn restart(&mut self) {
        let (index, pool) = self.followed[0].running.take().unwrap();
        self.publish();
        index.stop().await;
        pool.stop();
        // The rows are closed with their last reader.
        while Arc::strong_count(&index) > 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        drop(index);
        self.followed[0].follow();
        self.publish();
    }

    /// A connection that stays.
    pub async fn client(&self) -> Client {
        let connection = Connection::open(self.address).await.unwrap();
        Client { connection, key: self.key.clone() }
    }

    /// Gets a target with the key, on a connection of its own.
    pub async fn get(&self, target: &str) -> Answer {
        self.get_with(target, &[("X-API-Key", &self.key)]).await
    }

    /// Gets a target with these headers alone.
    pub async fn get_with(&self, target: &str, headers: &[(&str, &str)]) -> Answer {
        testkit::get(&format!("{}{target}", self.url), headers).await.unwrap()
    }

    /// Sends a head as it is, with the key, and reads all that comes.
    pub async fn raw(&self, request_line: &[u8]) -> String {
        let rest = format!("\r\nHost: x\r\nX-API-Key: {}\r\nConnection: close\r\n\r\n", self.key);
        let bytes = [request_line, rest.as_bytes()].concat();
        let answer = testkit::exchange(self.address, &bytes).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Units of today on both services.
    pub fn units_today(&self) -> (u64, u64) {
        let usage = self.admin.usage("tester", None).unwrap();
        (usage.gateway.today, usage.explorer.today)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let drain = self.drain.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { drain.end(Default::default(), Default::default()).await });
        }
    }
}

/// A connection with a key.
pub struct Client {
    connection: Connection,
    key: String,
}

impl Client {
    pub async fn get(&mut self, target: &str) -> Answer {
        let headers = [("X-API-Key", self.key.as_str())];
        self.connection.request("GET", target, &headers, b"").await.unwrap();
        self.connection.answer().await.unwrap()
    }

    /// The body of a 200.
    pub async fn ok(&mut self, target: &str) -> Value {
        let answer = self.get(target).await;
        assert_eq!(answer.status, 200, "{target}: {}", answer.text());
        json(&answer)
    }

    /// Asserts a refusal.
    pub async fn refused(&mut self, target: &str, status: u16, expected: &str) {
        let answer = self.get(target).await;
        assert_eq!((answer.status, reason(&answer).as_str()), (status, expected), "{target}");
    }
}

/// The body.
pub fn json(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_else(|_| panic!("{}", answer.text()))
}

/// The reason of a refusal.
pub fn reason(answer: &Answer) -> String {
    let body = json(answer);
    let error = body["error"].as_object().unwrap_or_else(|| panic!("{}", answer.text()));
    let names: Vec<&str> = error.keys().map(String::as_str).collect();
    assert_eq!((names, body.as_object().unwrap().len()), (vec!["message", "reason"], 1));
    assert!(!error["message"].as_str().unwrap().is_empty());
    error["reason"].as_str().unwrap().to_owned()
}

/// Asserts status and reason, and the headers that every refusal has.
#[track_caller]
pub fn refused(answer: &Answer, status: u16, expected: &str) {
    assert_eq!((answer.status, reason(answer).as_str()), (status, expected), "{}", answer.text());
    assert!(answer.header("x-request-id").is_some());
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("retry-after").is_some(), matches!(status, 429 | 503));
}
