//! A gateway on loopback with a store of its own.

use std::sync::Arc;

use gateway::{ChainService, Gateway, Remember, Settings};
use listen::{Drain, Limits};
use meter::{Admin, Clock, KeyOptions, Meter, PlanConfig, Plans, Service};
use node::{NodeConfig, Pool, PoolConfig};
use serde_json::Value;
use tempfile::TempDir;
use testkit::{Answer, Connection};

/// What a gateway of a test is made of.
pub struct Plan {
    pub chains: Vec<(&'static str, PoolConfig)>,
    pub settings: Settings,
    pub plans: Plans,
    pub plan: &'static str,
    pub options: KeyOptions,
    pub clock: Clock,
    pub remember: Remember,
}

/// A running gateway.
pub struct Rig {
    pub url: String,
    pub address: std::net::SocketAddr,
    pub key: String,
    pub key_id: String,
    pub admin: Admin,
    pub gateway: Arc<Gateway>,
    meter: Arc<Meter>,
    pub pools: Vec<Arc<Pool>>,
    drain: Drain,
    _dir: TempDir,
}

/// The network that a chain was recorded on.
pub fn network(slug: &str) -> &'static str {
    match slug {
        "dcr" => "simnet",
        "eth" => "dev",
        _ => "regtest",
    }
}

/// Nodes at `urls`, with a short wait for everything that a test would wait for.
pub fn nodes(urls: &[&str]) -> PoolConfig {
    PoolConfig {
        nodes: urls.iter().map(|url| NodeConfig::new(*url)).collect(),
        ..PoolConfig::default()
    }
}

/// A plan without quotas that no test reaches the end of.
pub fn wide() -> Plans {
    Plans::with([(
        "wide".to_owned(),
        PlanConfig {
            requests_per_second: 100_000,
            daily: None,
            monthly: None,
            batch_size: Some(1000),
            concurrency: Some(10_000),
            chains: None,
            price_usd: None,
        },
    )])
    .unwrap()
}

impl Plan {
    pub fn one(slug: &'static str, pool: PoolConfig) -> Plan {
        Plan {
            chains: vec![(slug, pool)],
            settings: Settings::default(),
            plans: wide(),
            plan: "wide",
            options: KeyOptions::default(),
            clock: Clock::system(),
            remember: Remember::Nothing,
        }
    }

    pub async fn start(self) -> Rig {
        let dir = TempDir::new().unwrap();
        let (services, plans) = ([Service::Gateway], self.plans.clone());
        let meter = Meter::open(dir.path(), &services, plans, self.clock.clone()).unwrap();
        let admin = Admin::open(dir.path(), self.plans, self.clock).unwrap();
        admin.add_account("tester", Some(self.plan), None).unwrap();
        let key = admin.add_key("tester", self.options).unwrap();
        let (mut services, mut pools) = (Vec::new(), Vec::new());
        for (slug, config) in self.chains {
            let chain = chain::find(slug).unwrap();
            let network = chain.network(network(slug)).unwrap();
            let pool = Pool::new(chain, network, config).unwrap();
            let offered = Arc::new(chain.methods().offered(None, &[]).unwrap());
            pools.push(Arc::clone(&pool));
            services.push(ChainService { chain, network, pool, offered, remember: self.remember });
        }
        let gateway = Arc::new(Gateway::new(Arc::clone(&meter), services, self.settings));
        let listener = listen::bind("gateway", "127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let drain = Drain::new();
        tokio::spawn(listen::run(
            listener,
            None,
            Limits::default(),
            Arc::clone(&gateway),
            drain.clone(),
        ));
        Rig {
            url: format!("http://{address}"),
            address,
            key: key.key.reveal().to_owned(),
            key_id: key.id,
            admin,
            gateway,
            meter,
            pools,
            drain,
            _dir: dir,
        }
    }
}

impl Rig {
    /// Posts `body` to `chain` with the key.
    pub async fn ask(&self, chain: &str, body: &str) -> Answer {
        self.ask_with(chain, &[("X-API-Key", &self.key)], body).await
    }

    /// Posts `body` to `chain` with these headers alone.
    pub async fn ask_with(&self, chain: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        testkit::post(&format!("{}/v1/rpc/{chain}", self.url), headers, body.as_bytes())
            .await
            .unwrap()
    }

    /// The meter that the gateway asks.
    pub fn gateway_meter(&self) -> &Meter {
        &self.meter
    }

    /// The key of another account, on the same plan.
    pub fn stranger(&self) -> String {
        self.admin.add_account("stranger", Some("wide"), None).unwrap();
        let key = self.admin.add_key("stranger", KeyOptions::default()).unwrap();
        key.key.reveal().to_owned()
    }

    /// A connection that stays.
    pub async fn connect(&self) -> Connection {
        Connection::open(self.address).await.unwrap()
    }

    /// Units of today, as the store counts them.
    pub fn units_today(&self) -> u64 {
        let usage = serde_json::to_value(self.admin.usage("tester", None).unwrap()).unwrap();
        usage["gateway"]["today"].as_u64().unwrap()
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

/// One request on a connection that stays.
pub async fn call(connection: &mut Connection, rig: &Rig, chain: &str, body: &[u8]) -> Answer {
    let target = format!("/v1/rpc/{chain}");
    connection.request("POST", &target, &[("X-API-Key", &rig.key)], body).await.unwrap();
    connection.answer().await.unwrap()
}

/// The reason of a refusal.
pub fn reason(answer: &Answer) -> String {
    let body: Value =
        serde_json::from_slice(&answer.body).unwrap_or_else(|_| panic!("{}", answer.text()));
    body["error"]["data"]["reason"]
        .as_str()
        .unwrap_or_else(|| panic!("{}", answer.text()))
        .to_owned()
}

/// Asserts status and reason.
#[track_caller]
pub fn refused(answer: &Answer, status: u16, expected: &str) {
    assert_eq!((answer.status, reason(answer).as_str()), (status, expected), "{}", answer.text());
    assert!(answer.header("x-request-id").is_some());
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("retry-after").is_some(), matches!(status, 429 | 503));
    assert_eq!(answer.header("x-ratelimit-limit"), None);
}
