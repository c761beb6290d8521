//! Everything that runs in a serving process, from its opening to its close.
//!
//! Puts store, nodes, services and listeners together. Leaves signals to its callers. Invariants: an
//! address or a store that cannot be had fails the opening, not the first request; of a service that
//! is not asked for nothing is built.

mod listeners;
mod reload;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use explorer::Explorer;
use gateway::Gateway;
use index::ChainIndex;
use listen::{Counted, Drain, Threads, Workers};
use meter::{Clock, Meter, Service};
use node::Pool;
use tokio::task::JoinHandle;

use super::chains::Chains;
use super::control;
use super::explorers::{Explorers, Wanted};
use super::health::Health;
use super::reserve;
use super::services::Services;
use crate::config::{Config, Listens};
use crate::failure::Failure;
use listeners::{Bound, Certificates};

/// How long answers may still take once nothing new is served: the longest time of a call at the
/// default limits (decision G17: 65 s with a grace of 5 s).
const FINISH: Duration = Duration::from_secs(60);

/// The explorer and its indexes.
struct Explored {
    explorer: Arc<Explorer>,
    indexes: Explorers,
    /// The same indexes for the control socket and the metrics.
    shared: control::Indexes,
    _control: control::Control,
}

/// A listener that runs.
struct Listening {
    who: Listens,
    address: SocketAddr,
    task: JoinHandle<()>,
}

/// A serving process: its store, its chains' nodes, its services and their listeners.
pub(crate) struct Server {
    /// What it was started with: some of it holds as long as it runs.
    started: Config,
    /// What was taken last.
    config: Config,
    services: Services,
    meter: Arc<Meter>,
    chains: Arc<Mutex<Chains>>,
    gateway: Option<Arc<Gateway>>,
    explored: Option<Explored>,
    certificates: Certificates,
    drain: Drain,
    /// Metrics and health are there until all else has ended.
    metrics_drain: Drain,
    listening: Vec<Listening>,
    /// What requests are served on.
    threads: Threads,
}

impl Server {
    /// Opens the store, starts to probe the nodes, and listens. None where it was told to stop before the
    /// store was there: one that is far away may keep it waiting.
    ///
    /// # Errors
    /// Something of this cannot be had.
    pub(crate) async fn open(
        config: Config,
        services: Services,
        stop: impl Future<Output = ()>,
    ) -> Result<Option<Server>, Failure> {
        let mut chains = Chains::default();
        let prepared = chains.prepare(&config)?;
        let sockets = listeners::bind(&config, &services)?;
        let threads = Threads::start(config.serve.workers())?;
        let meter = tokio::select! {
            meter = open_meter(&config, &services) => meter?,
            () = stop => return Ok(None),
        };
        let wanted = Wanted::of(&prepared);
        let on_gateway = chains.take(prepared);
        let gateway = services.has(Listens::Gateway).then(|| {
            Arc::new(Gateway::new(Arc::clone(&meter), on_gateway, config.gateway.settings()))
        });
        let explored = match services.has(Listens::Explorer) {
            true => Some(Explored::open(&config, &meter, wanted).await?),
            false => None,
        };
        let mut server = Server {
            services,
            meter,
            chains: Arc::new(Mutex::new(chains)),
            gateway,
            explored,
            certificates: Certificates::of(&sockets),
            drain: Drain::new(),
            metrics_drain: Drain::new(),
            listening: Vec::new(),
            threads,
            started: config.clone(),
            config,
        };
        sockets.into_iter().for_each(|bound| server.listen(bound));
        Ok(Some(server))
    }

    /// Lets the service of a listener answer what comes.
    fn listen(&mut self, bound: Bound) {
        let (who, address, drain) = (bound.who, bound.address, self.drain.clone());
        let workers = self.threads.workers().clone();
        let task = match who {
            Listens::Gateway => {
                self.gateway.clone().map(|gateway| bound.run(workers, gateway, drain))
            }
            Listens::Explorer => {
                let explorer = self.explored.as_ref().map(|explored| &explored.explorer);
                explorer.map(|explorer| bound.run(workers, Arc::clone(explorer), drain))
            }
            Listens::Metrics => {
                let (health, drain) = (Arc::new(self.health()), self.metrics_drain.clone());
                Some(bound.run(Workers::here(), health, drain))
            }
            Listens::Console => None,
        };
        let Some(task) = task else { return };
        match who {
            Listens::Metrics => tracing::info!(%address, "metrics and health listen"),
            _ => tracing::info!(%address, "the {} listens", who.name()),
        }
        self.listening.push(Listening { who, address, task });
    }

    fn health(&self) -> Health {
        let gateway = self.gateway.iter().map(|gateway| Arc::clone(gateway) as Arc<dyn Counted>);
        let explored = self.explored.as_ref();
        let explorer = explored.map(|it| Arc::clone(&it.explorer) as Arc<dyn Counted>);
        Health {
            meter: Arc::clone(&self.meter),
            services: gateway.chain(explorer).collect(),
            chains: Arc::clone(&self.chains),
            indexes: explored.map(|it| Arc::clone(&it.shared)).unwrap_or_default(),
            drain: self.drain.clone(),
        }
    }

    /// Where a service listens, if it runs.
    pub(crate) fn address(&self, who: Listens) -> Option<SocketAddr> {
        self.listening.iter().find(|one| one.who == who).map(|one| one.address)
    }

    /// Waits until every index is at its node's best block.
    pub(crate) async fn indexed(&self) {
        let indexes = self.explored.as_ref().map(|explored| explored.indexes.indexes());
        for index in indexes.into_iter().flatten() {
            while !index.standing().in_sync && !matches!(index, ChainIndex::Stopped(_)) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    /// Waits until every node was probed once.
    pub(crate) async fn probed(&self) {
        for pool in self.pools() {
            pool.probed().await;
        }
    }

    fn pools(&self) -> Vec<Arc<Pool>> {
        self.chains().pools().to_vec()
    }

    fn chains(&self) -> MutexGuard<'_, Chains> {
        self.chains.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drains: serves for `grace` more, lets answers in flight finish, saves the counters.
    pub(crate) async fn close(self, grace: Duration) {
        tracing::info!(grace_secs = grace.as_secs(), "draining");
        let pools = self.pools();
        let cut = self.drain.end(grace, FINISH).await;
        if cut > 0 {
            tracing::warn!(answers = cut, "cut off answers that did not finish");
        }
        let is_metrics = |one: &Listening| one.who == Listens::Metrics;
        let (metrics, services): (Vec<_>, Vec<_>) =
            self.listening.into_iter().partition(is_metrics);
        for one in services {
            // It ends by itself once drained; a panic in it was reported by the runtime.
            let _ = one.task.await;
        }
        let threads = self.threads;
        // What still ran on them lets go of indexes and meter.
        let _ = tokio::task::spawn_blocking(move || drop(threads)).await;
        self.metrics_drain.end(Duration::ZERO, Duration::from_secs(1)).await;
        for one in metrics {
            let _ = one.task.await;
        }
        for index in self.explored.iter().flat_map(|explored| explored.indexes.indexes()) {
            index.stop().await;
        }
        pools.iter().for_each(|pool| pool.stop());
        let meter = self.meter;
        // A connection that was cut off may hold the meter a moment longer, so its end is not
        // waited for.
        match tokio::task::spawn_blocking(move || meter.finish()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "usage stays in the usage files"),
            Err(error) => tracing::error!(%error, "usage stays in the usage files"),
        }
        tracing::info!("ended");
    }
}

/// Opens the store of accounts, keys and usage; where its disk is full, with the room that was kept
/// for that.
async fn open_meter(config: &Config, services: &Services) -> Result<Arc<Meter>, Failure> {
    let (store, plans) = (config.store.clone(), config.plans());
    let dir = store.dir.clone();
    let metered = [(Listens::Gateway, Service::Gateway), (Listens::Explorer, Service::Explorer)];
    let metered = metered.into_iter().filter(|(who, _)| services.has(*who));
    let metered: Vec<Service> = metered.map(|(_, service)| service).collect();
    let open = move || {
        if reserve::give_up(&dir) {
            let store = dir.display();
            tracing::error!(%store, "the store's disk is full; make room");
        }
        let opened = Meter::over(store.open_to_serve()?, &metered, plans, Clock::system());
        reserve::make(&dir);
        opened
    };
    Ok(tokio::task::spawn_blocking(open).await??)
}

impl Explored {
    /// Opens the indexes and the explorer on them.
    async fn open(
        config: &Config,
        meter: &Arc<Meter>,
        wanted: Vec<Wanted>,
    ) -> Result<Explored, Failure> {
        let shared = control::Indexes::default();
        let control = control::listen(&config.store.dir, Arc::clone(&shared))?;
        let mut indexes = Explorers::new(config);
        indexes.want(wanted).await;
        indexes.open_missing().await;
        let settings = config.explorer.settings();
        let explorer = Arc::new(Explorer::new(Arc::clone(meter), indexes.services(), settings));
        let explored = Explored { explorer, indexes, shared, _control: control };
        explored.show(config);
        Ok(explored)
    }
}
