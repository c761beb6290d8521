//! Everything that runs in a serving process, from its opening to its close.
//!
//! Puts store, nodes, gateway and listeners together. Leaves signals to its callers. Invariant: an
//! address or a store that cannot be had fails the opening, not the first request.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gateway::Gateway;
use listen::{Drain, Limits, Phase, Tls};
use meter::{Clock, Meter, Service};
use node::Pool;
use tokio::task::JoinHandle;

use super::chains::Chains;
use super::health::Health;
use crate::config::{Config, ListenerTls};
use crate::failure::Failure;

/// How long answers may still take once nothing new is served: the longest time of a call at the
/// default limits (decision G17: 65 s with a grace of 5 s).
const FINISH: Duration = Duration::from_secs(60);

/// The services of a process.
pub(crate) struct House {
    config: Config,
    meter: Arc<Meter>,
    gateway: Arc<Gateway>,
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
    pub(crate) async fn open(config: Config) -> Result<House, Failure> {
        if !config.chain.values().any(|chain| chain.gateway) {
            return Err(Failure::new(
                "no chain is configured for the gateway: give [chain.X] with its nodes",
            ));
        }
        let allowed = listen::connections_allowed();
        let (dir, plans) = (config.store.dir.clone(), config.plans());
        let open = move || Meter::open(&dir, &[Service::Gateway], plans, Clock::system());
        let meter = tokio::task::spawn_blocking(open).await??;
        let mut chains = Chains::default();
        let services = chains.take(&config)?;
        let gateway = Gateway::new(Arc::clone(&meter), services, config.gateway.settings());
        let mut house = House {
            meter,
            gateway: Arc::new(gateway),
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
        let config = &self.config.gateway;
        let tls = certificate("gateway", config.tls_cert.as_ref(), config.tls_key.as_ref())?;
        let socket = listen::bind("gateway", config.listen)?;
        self.address = socket.local_addr()?;
        tokio::spawn(refuse_late(Arc::clone(&self.gateway), self.drain.clone()));
        let gateway = Arc::clone(&self.gateway);
        let (limits, drain) = (config.limits(allowed), self.drain.clone());
        self.certificates.extend(tls.clone().map(|tls| ("gateway", tls)));
        self.listeners.push(tokio::spawn(listen::run(socket, tls, limits, gateway, drain)));
        tracing::info!(address = %self.address, "the gateway listens");
        self.listen_for_metrics()
    }

    fn listen_for_metrics(&mut self) -> Result<(), Failure> {
        let Some(config) = &self.config.metrics else { return Ok(()) };
        let tls = certificate("metrics", config.tls_cert.as_ref(), config.tls_key.as_ref())?;
        let socket = listen::bind("metrics", config.listen)?;
        tracing::info!(address = %socket.local_addr()?, "metrics and health listen");
        let health = Health {
            meter: Arc::clone(&self.meter),
            gateway: Arc::clone(&self.gateway),
            chains: Arc::clone(&self.chains),
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
        if !config.chain.values().any(|chain| chain.gateway) {
            return Err(Failure::new("no chain is configured for the gateway"));
        }
        let renewed = self.certificates.iter().map(|(_, tls)| tls.renewed());
        let renewed = renewed.collect::<Result<Vec<_>, _>>()?;
        let services = self.chains.lock().unwrap_or_else(PoisonError::into_inner).take(&config)?;
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
async fn refuse_late(gateway: Arc<Gateway>, drain: Drain) {
    drain.reached(Phase::Closed).await;
    gateway.set_refusing(true);
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
