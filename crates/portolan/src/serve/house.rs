//! Everything that runs in a serving process, from its opening to its close.
//!
//! Puts store, nodes, gateway and listeners together. Leaves signals to its callers. Invariant: an
//! address or a store that cannot be had fails the opening, not the first request.

mod listeners;
mod reload;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use explorer::Explorer;
use gateway::Gateway;
use index::ChainIndex;
use listen::{Drain, Limits, Phase};
use meter::{Clock, Meter, Service};
use node::Pool;
use tokio::task::JoinHandle;

use super::chains::Chains;
use super::control;
use super::explorers::{Explorers, Wanted};
use super::health::Health;
use super::reserve;
use crate::config::Config;
use crate::failure::Failure;
use listeners::{Certificates, Sockets};

/// How long answers may still take once nothing new is served: the longest time of a call at the
/// default limits (decision G17: 65 s with a grace of 5 s).
const FINISH: Duration = Duration::from_secs(60);

/// Which services run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Services {
    pub(crate) gateway: bool,
    pub(crate) explorer: bool,
}

/// The explorer and its indexes.
struct ExplorerRoom {
    explorer: Arc<Explorer>,
    indexes: Explorers,
    /// The same indexes for the control socket and the metrics.
    shared: control::Indexes,
    _control: control::Control,
}

/// The services of a process.
pub(crate) struct House {
    /// What it was started with: some of it holds as long as it runs.
    started: Config,
    /// What was taken last.
    config: Config,
    meter: Arc<Meter>,
    gateway: Arc<Gateway>,
    explorer: Option<ExplorerRoom>,
    services: Services,
    chains: Arc<Mutex<Chains>>,
    gateway_address: Option<SocketAddr>,
    explorer_address: Option<SocketAddr>,
    certificates: Certificates,
    drain: Drain,
    metrics_drain: Drain,
    listeners: Vec<JoinHandle<()>>,
    metrics_listener: Option<JoinHandle<()>>,
}

impl House {
    /// Opens the store, starts to probe the nodes, and listens.
    ///
    /// # Errors
    /// Something of this cannot be had.
    pub(crate) async fn open(config: Config, services: Services) -> Result<House, Failure> {
        let allowed = listen::connections_allowed();
        let mut chains = Chains::default();
        let prepared = chains.prepare(&config)?;
        let sockets = Sockets::bind(&config, services)?;
        let meter = open_meter(&config, services).await?;
        let wanted = Wanted::of(&prepared);
        let on_gateway = chains.take(prepared);
        let gateway = Gateway::new(Arc::clone(&meter), on_gateway, config.gateway.settings());
        let explorer = match services.explorer {
            true => Some(explorer_room(&config, &meter, wanted).await?),
            false => None,
        };
        let mut house = House {
            meter,
            gateway: Arc::new(gateway),
            explorer,
            services,
            chains: Arc::new(Mutex::new(chains)),
            gateway_address: sockets.gateway.as_ref().map(|bound| bound.address),
            explorer_address: sockets.explorer.as_ref().map(|bound| bound.address),
            certificates: sockets.certificates(),
            drain: Drain::new(),
            metrics_drain: Drain::new(),
            listeners: Vec::new(),
            metrics_listener: None,
            started: config.clone(),
            config,
        };
        house.listen(sockets, allowed);
        Ok(house)
    }

    fn listen(&mut self, sockets: Sockets, allowed: usize) {
        if let Some(bound) = sockets.gateway {
            tracing::info!(address = %bound.address, "the gateway listens");
            let gateway = Arc::clone(&self.gateway);
            tokio::spawn(refuse_late(self.drain.clone(), move || gateway.set_refusing(true)));
            let (limits, drain) = (self.config.gateway.limits(allowed), self.drain.clone());
            self.listeners.push(bound.run(limits, Arc::clone(&self.gateway), drain));
        }
        if let (Some(bound), Some(room)) = (sockets.explorer, &self.explorer) {
            tracing::info!(address = %bound.address, "the explorer listens");
            let explorer = Arc::clone(&room.explorer);
            tokio::spawn(refuse_late(self.drain.clone(), move || explorer.set_refusing(true)));
            let (limits, drain) = (self.config.explorer.limits(allowed), self.drain.clone());
            self.listeners.push(bound.run(limits, Arc::clone(&room.explorer), drain));
        }
        if let Some(bound) = sockets.metrics {
            tracing::info!(address = %bound.address, "metrics and health listen");
            let (health, drain) = (Arc::new(self.health()), self.metrics_drain.clone());
            self.metrics_listener = Some(bound.run(Limits::default(), health, drain));
        }
    }

    fn health(&self) -> Health {
        Health {
            meter: Arc::clone(&self.meter),
            gateway: Arc::clone(&self.gateway),
            explorer: self.explorer.as_ref().map(|room| Arc::clone(&room.explorer)),
            chains: Arc::clone(&self.chains),
            indexes: self.explorer.as_ref().map(|it| Arc::clone(&it.shared)).unwrap_or_default(),
            drain: self.drain.clone(),
        }
    }

    /// Where the gateway listens, if it runs.
    pub(crate) fn gateway_address(&self) -> Option<SocketAddr> {
        self.gateway_address
    }

    /// Where the explorer listens, if it runs.
    pub(crate) fn explorer_address(&self) -> Option<SocketAddr> {
        self.explorer_address
    }

    /// Waits until every index is at its node's best block.
    pub(crate) async fn indexed(&self) {
        let indexes = self.explorer.as_ref().map(|room| room.indexes.indexes());
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
        for listener in self.listeners {
            // It ends by itself once drained; a panic in it was reported by the runtime.
            let _ = listener.await;
        }
        self.metrics_drain.end(Duration::ZERO, Duration::from_secs(1)).await;
        if let Some(listener) = self.metrics_listener {
            let _ = listener.await;
        }
        for index in self.explorer.iter().flat_map(|room| room.indexes.indexes()) {
            index.stop().await;
        }
        pools.iter().for_each(|pool| pool.stop());
        let meter = self.meter;
        // A connection that was cut off may hold the meter a moment longer, so its end is not
        // waited for.
        match tokio::task::spawn_blocking(move || meter.record()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "usage stays in the usage files"),
            Err(error) => tracing::error!(%error, "usage stays in the usage files"),
        }
        tracing::info!("ended");
    }
}

/// Once the socket is closed, refuses what still arrives on open connections.
async fn refuse_late(drain: Drain, refuse: impl FnOnce()) {
    drain.reached(Phase::Closed).await;
    refuse();
}

/// A service that listens and can answer nothing, and why.
pub(crate) struct Idle {
    service: &'static str,
    problem: &'static str,
}

impl Idle {
    /// Says so in the log.
    pub(crate) fn tell(&self) {
        let Idle { service, problem } = self;
        tracing::warn!(service, "{problem}; it listens and can answer nothing");
    }
}

/// Whether the services can serve anything by this configuration; gives one of two that cannot.
///
/// # Errors
/// None can.
pub(crate) fn can_serve(config: &Config, services: Services) -> Result<Vec<Idle>, Failure> {
    let served = config.served();
    let gateway = served.iter().any(|chain| chain.gateway);
    let explorer = served.iter().any(|chain| chain.explorer && ChainIndex::is_kept_of(chain.chain));
    let idle = [
        (services.gateway && !gateway, "gateway", "no chain is configured for the gateway"),
        (
            services.explorer && !explorer,
            "explorer",
            "no chain is configured for the explorer that this version keeps an index of",
        ),
    ];
    let asked = [services.gateway, services.explorer].into_iter().filter(|asked| *asked).count();
    let idle = idle.into_iter().filter(|(idle, ..)| *idle);
    let idle: Vec<Idle> = idle.map(|(_, service, problem)| Idle { service, problem }).collect();
    if idle.len() == asked {
        let problems: Vec<&str> = idle.iter().map(|idle| idle.problem).collect();
        return Err(Failure::new(format!(
            "{}: give [chain.X] with its nodes, in ./portolan.toml or in the file that --config \
             names",
            problems.join("; ")
        )));
    }
    Ok(idle)
}

/// Opens the store of accounts, keys and usage; where its disk is full, in the room that was kept for
/// that.
async fn open_meter(config: &Config, services: Services) -> Result<Arc<Meter>, Failure> {
    let (dir, plans) = (config.store.dir.clone(), config.plans());
    let metered = [
        services.gateway.then_some(Service::Gateway),
        services.explorer.then_some(Service::Explorer),
    ];
    let metered: Vec<Service> = metered.into_iter().flatten().collect();
    let open = move || {
        let open = || Meter::open(&dir, &metered, plans.clone(), Clock::system());
        match open() {
            Err(error) if reserve::give_up(&dir) => {
                let store = dir.display();
                tracing::error!(%store, "the store's disk is full ({error}); make room");
                open()
            }
            opened => {
                reserve::make(&dir);
                opened
            }
        }
    };
    Ok(tokio::task::spawn_blocking(open).await??)
}

/// Opens the indexes and the explorer on them.
async fn explorer_room(
    config: &Config,
    meter: &Arc<Meter>,
    wanted: Vec<Wanted>,
) -> Result<ExplorerRoom, Failure> {
    let shared = control::Indexes::default();
    let control = control::listen(&config.store.dir, Arc::clone(&shared))?;
    let mut indexes = Explorers::new(config);
    indexes.want(wanted).await;
    indexes.open_missing().await;
    let settings = config.explorer.settings();
    let explorer = Arc::new(Explorer::new(Arc::clone(meter), indexes.services(), settings));
    let room = ExplorerRoom { explorer, indexes, shared, _control: control };
    room.show(config);
    Ok(room)
}
