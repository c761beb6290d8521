//! Everything that runs in a serving process, from its opening to its close.
//!
//! Puts store, nodes, gateway and listeners together. Leaves signals to its callers. Invariant: an
//! address or a store that cannot be had fails the opening, not the first request.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use explorer::Explorer;
use gateway::Gateway;
use listen::{Drain, Limits, Phase, Tls};
use meter::{Clock, Meter, Service};
use node::Pool;
use tokio::task::JoinHandle;

use super::chains::Chains;
use super::control;
use super::explorers::Explorers;
use super::health::Health;
use crate::config::{Config, ListenerTls};
use crate::failure::Failure;

/// How long answers may still take once nothing new is served: the longest time of a call at the
/// default limits (decision G17: 65 s with a grace of 5 s).
const FINISH: Duration = Duration::from_secs(60);

/// Which services run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Services {
    pub(crate) gateway: bool,
    pub(crate) explorer: bool,
}

/// The explorer and what it listens on.
struct ExplorerRoom {
    explorer: Arc<Explorer>,
    indexes: Explorers,
    /// The same indexes for the control socket.
    shared: control::Indexes,
    _control: control::Control,
    address: SocketAddr,
}

/// The services of a process.
pub(crate) struct House {
    config: Config,
    meter: Arc<Meter>,
    gateway: Arc<Gateway>,
    explorer: Option<ExplorerRoom>,
    services: Services,
    chains: Arc<Mutex<Chains>>,
    address: SocketAddr,
    /// Every listener's certificate, with the listener's name.
    certificates: Vec<(&'static str, Tls)>,
    drain: Drain,
    metrics_drain: Drain,
    listeners: Vec<JoinHandle<()>>,
    metrics_listener: Option<JoinHandle<()>>,
}

impl House {
    /// Opens the store, starts to probe the nodes, and listens.
    ///
    /// # Errors
    /// No chain is configured, or something of this cannot be had.
    pub(crate) async fn open(config: Config, services: Services) -> Result<House, Failure> {
        has_chains(&config, services)?;
        let allowed = listen::connections_allowed();
        let (dir, plans) = (config.store.dir.clone(), config.plans());
        let metered = [
            services.gateway.then_some(Service::Gateway),
            services.explorer.then_some(Service::Explorer),
        ];
        let metered: Vec<Service> = metered.into_iter().flatten().collect();
        let open = move || Meter::open(&dir, &metered, plans, Clock::system());
        let meter = tokio::task::spawn_blocking(open).await??;
        let mut chains = Chains::default();
        let on_gateway = chains.take(&config)?;
        let gateway = Gateway::new(Arc::clone(&meter), on_gateway, config.gateway.settings());
        let explorer = match services.explorer {
            true => Some(explorer_room(&config, &meter, chains.pools())?),
            false => None,
        };
        let mut house = House {
            meter,
            gateway: Arc::new(gateway),
            explorer,
            services,
            chains: Arc::new(Mutex::new(chains)),
            address: config.gateway.listen,
            certificates: Vec::new(),
            drain: Drain::new(),
            metrics_drain: Drain::new(),
            listeners: Vec::new(),
            metrics_listener: None,
            config,
        };
        house.listen(allowed)?;
        Ok(house)
    }

    fn listen(&mut self, allowed: usize) -> Result<(), Failure> {
        if self.services.gateway {
            self.listen_for_calls(allowed)?;
        }
        if self.explorer.is_some() {
            self.listen_for_questions(allowed)?;
        }
        self.listen_for_metrics()
    }

    fn listen_for_calls(&mut self, allowed: usize) -> Result<(), Failure> {
        let config = &self.config.gateway;
        let tls = certificate("gateway", config.tls_cert.as_ref(), config.tls_key.as_ref())?;
        let socket = listen::bind("gateway", config.listen)?;
        self.address = socket.local_addr()?;
        let gateway = Arc::clone(&self.gateway);
        tokio::spawn(refuse_late(self.drain.clone(), move || gateway.set_refusing(true)));
        let gateway = Arc::clone(&self.gateway);
        let (limits, drain) = (config.limits(allowed), self.drain.clone());
        self.certificates.extend(tls.clone().map(|tls| ("gateway", tls)));
        self.listeners.push(tokio::spawn(listen::run(socket, tls, limits, gateway, drain)));
        tracing::info!(address = %self.address, "the gateway listens");
        Ok(())
    }

    fn listen_for_questions(&mut self, allowed: usize) -> Result<(), Failure> {
        let Some(room) = &mut self.explorer else { return Ok(()) };
        let config = &self.config.explorer;
        let tls = certificate("explorer", config.tls_cert.as_ref(), config.tls_key.as_ref())?;
        let socket = listen::bind("explorer", config.listen)?;
        room.address = socket.local_addr()?;
        let explorer = Arc::clone(&room.explorer);
        tokio::spawn(refuse_late(self.drain.clone(), move || explorer.set_refusing(true)));
        let explorer = Arc::clone(&room.explorer);
        let (limits, drain) = (config.limits(allowed), self.drain.clone());
        self.certificates.extend(tls.clone().map(|tls| ("explorer", tls)));
        self.listeners.push(tokio::spawn(listen::run(socket, tls, limits, explorer, drain)));
        tracing::info!(address = %room.address, "the explorer listens");
        Ok(())
    }

    fn listen_for_metrics(&mut self) -> Result<(), Failure> {
        let Some(config) = &self.config.metrics else { return Ok(()) };
        let tls = certificate("metrics", config.tls_cert.as_ref(), config.tls_key.as_ref())?;
        let socket = listen::bind("metrics", config.listen)?;
        tracing::info!(address = %socket.local_addr()?, "metrics and health listen");
        let health = Health {
            meter: Arc::clone(&self.meter),
            gateway: Arc::clone(&self.gateway),
            explorer: self.explorer.as_ref().map(|room| Arc::clone(&room.explorer)),
            chains: Arc::clone(&self.chains),
            indexes: self.explorer.as_ref().map(|it| Arc::clone(&it.shared)).unwrap_or_default(),
            drain: self.drain.clone(),
        };
        self.certificates.extend(tls.clone().map(|tls| ("metrics", tls)));
        let (limits, drain) = (Limits::default(), self.metrics_drain.clone());
        let running = listen::run(socket, tls, limits, Arc::new(health), drain);
        self.metrics_listener = Some(tokio::spawn(running));
        Ok(())
    }

    /// Takes plans, nodes, limits and TLS files of a new configuration.
    ///
    /// # Errors
    /// Something of it cannot be used; everything is as it was.
    pub(crate) fn reload(&mut self, config: Config) -> Result<(), Failure> {
        has_chains(&config, self.services)?;
        let renewed = self.certificates.iter().map(|(_, tls)| tls.renewed());
        let renewed = renewed.collect::<Result<Vec<_>, _>>()?;
        let (services, pools) = {
            let mut chains = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
            (chains.take(&config)?, chains.pools().to_vec())
        };
        if let Some(room) = &mut self.explorer {
            let services = room.indexes.take(&config, &pools)?;
            *room.shared.lock().unwrap_or_else(PoisonError::into_inner) = room.indexes.indexes();
            room.explorer.reload(services, config.explorer.settings());
        }
        renewed.into_iter().for_each(listen::Renewed::put);
        self.meter.set_plans(config.plans());
        self.gateway.reload(services, config.gateway.settings());
        for field in self.config.needs_restart(&config) {
            tracing::warn!("{field} changed; that takes a restart");
        }
        self.config = config;
        Ok(())
    }

    /// Where the gateway listens.
    pub(crate) fn gateway_address(&self) -> SocketAddr {
        self.address
    }

    /// Where the explorer listens, if it runs.
    pub(crate) fn explorer_address(&self) -> Option<SocketAddr> {
        self.explorer.as_ref().map(|room| room.address)
    }

    /// Waits until every index is at its node's best block.
    pub(crate) async fn indexed(&self) {
        let indexes = self.explorer.as_ref().map(|room| room.indexes.indexes());
        for index in indexes.into_iter().flatten() {
            while !index.standing().in_sync {
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
        self.chains.lock().unwrap_or_else(PoisonError::into_inner).pools().to_vec()
    }

    /// Drains: serves for `grace` more, lets answers in flight finish, saves the counters.
    pub(crate) async fn close(self, grace: Duration) {
        tracing::info!(grace_secs = grace.as_secs(), "draining");
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
        let pools = self.chains.lock().unwrap_or_else(PoisonError::into_inner).pools().to_vec();
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

/// Each service that runs has a chain.
fn has_chains(config: &Config, services: Services) -> Result<(), Failure> {
    let gateway = !services.gateway || config.chain.values().any(|chain| chain.gateway);
    let explorer = services.explorer && config.chain.values().any(|chain| chain.explorer);
    match (gateway, explorer || services.gateway) {
        (false, _) if !explorer => Err(Failure::new(
            "no chain is configured for the gateway: give [chain.X] with its nodes, in ./portolan.toml \
             or in the file that --config names",
        )),
        (_, false) => Err(Failure::new(
            "no chain is configured for the explorer: give [chain.X] with its nodes, in ./portolan.toml \
             or in the file that --config names",
        )),
        _ => Ok(()),
    }
}

/// Opens the indexes and the explorer on them.
fn explorer_room(
    config: &Config,
    meter: &Arc<Meter>,
    pools: &[Arc<Pool>],
) -> Result<ExplorerRoom, Failure> {
    let mut indexes = Explorers::new(config);
    let services = indexes.take(config, pools)?;
    let explorer = Explorer::new(Arc::clone(meter), services, config.explorer.settings());
    let shared = Arc::new(Mutex::new(indexes.indexes()));
    let control = control::listen(&config.store.dir, Arc::clone(&shared))?;
    let (explorer, address) = (Arc::new(explorer), config.explorer.listen);
    Ok(ExplorerRoom { explorer, indexes, shared, _control: control, address })
}

/// The certificate of a listener, if it has one.
fn certificate(
    listener: &str,
    cert: Option<&std::path::PathBuf>,
    key: Option<&std::path::PathBuf>,
) -> Result<Option<Tls>, Failure> {
    let pair = ListenerTls::pair(cert, key)
        .map_err(|missing| Failure::new(format!("{listener}.{missing}: missing")))?;
    let Some(files) = pair else { return Ok(None) };
    let named = |error| Failure::new(format!("{listener}: {error}"));
    Tls::load(&files.cert, &files.key).map(Some).map_err(named)
}
