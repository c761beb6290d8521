//! The gateway of one process: its meter, its chains and its settings.

use std::sync::Arc;

use chain::{ByChain, Chain, Network, Offered};
use listen::{Counted, InFlight, Running};
use meter::Meter;
use node::Pool;
use prometheus::Registry;

use crate::cache::Cache;
use crate::load::Load;
use crate::metrics::Metrics;
use crate::refusal::{Reason, Refusal};
use crate::settings::Settings;

/// A chain that this operator runs nodes of.
#[derive(Clone)]
pub struct ChainService {
    /// The chain.
    pub chain: &'static Chain,
    /// Its network.
    pub network: &'static Network,
    /// Its nodes.
    pub pool: Arc<Pool>,
    /// Its methods, as the operator narrowed or widened them.
    pub offered: Arc<Offered>,
    /// Which answers are remembered.
    pub remember: Remember,
}

/// Which answers of a chain are remembered (decision G19).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Remember {
    /// None.
    #[default]
    Nothing,
    /// Those that can never change.
    Final,
    /// Besides, those that change with the tip alone.
    Tip,
}

/// What a reload replaces as a whole.
pub(crate) struct State {
    pub(crate) chains: ByChain<ChainService>,
    pub(crate) settings: Settings,
}

impl State {
    fn new(chains: Vec<ChainService>, settings: Settings) -> State {
        let chains = chains.into_iter().map(|service| (service.chain, service)).collect();
        State { chains, settings }
    }
}

/// The service behind `POST /v1/rpc/{chain}`.
pub struct Gateway {
    meter: Arc<Meter>,
    running: Running<State>,
    load: Arc<Load>,
    cache: Arc<Cache>,
    metrics: Metrics,
}

impl Gateway {
    /// A gateway for `chains`; a chain that is given twice counts once, the last one.
    pub fn new(meter: Arc<Meter>, chains: Vec<ChainService>, settings: Settings) -> Gateway {
        Gateway {
            meter,
            cache: Cache::new(settings.max_cache_bytes),
            running: Running::new(State::new(chains, settings)),
            load: Arc::default(),
            metrics: Metrics::new(),
        }
    }

    /// Replaces chains and settings; requests under way keep what they began with.
    pub fn reload(&self, chains: Vec<ChainService>, settings: Settings) {
        let most = settings.max_cache_bytes;
        self.running.replace(State::new(chains, settings));
        self.cache.renew(most);
    }

    /// Makes every further request end with SERVICE_UNAVAILABLE, while the process drains.
    pub fn set_refusing(&self, refusing: bool) {
        self.running.set_refusing(refusing);
    }

    /// What it counts.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Requests in flight now.
    pub fn in_flight(&self) -> usize {
        self.running.in_flight()
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    pub(crate) fn state(&self) -> Arc<State> {
        self.running.state()
    }

    pub(crate) fn load(&self) -> &Arc<Load> {
        &self.load
    }

    pub(crate) fn cache(&self) -> &Arc<Cache> {
        &self.cache
    }

    /// Claims a place for a request in the process (decision G16).
    pub(crate) fn enter(&self, state: &State) -> Result<InFlight, Refusal> {
        let place = self.running.enter(state.settings.max_in_flight);
        place.ok_or_else(|| Reason::GatewayBusy.into())
    }

    pub(crate) fn serving(&self) -> Result<(), Refusal> {
        match self.running.is_refusing() {
            true => Err(Reason::ServiceUnavailable.into()),
            false => Ok(()),
        }
    }
}

impl Counted for Gateway {
    fn registry(&self) -> &Registry {
        self.metrics.set_in_flight(self.in_flight());
        self.metrics.set_remembered(self.cache.bytes(), self.cache.len());
        self.metrics.registry()
    }
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Gateway")
    }
}
