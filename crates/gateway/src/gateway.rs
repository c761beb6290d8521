//! The gateway of one process: its meter, its chains and its settings.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use chain::{Chain, Network, Offered};
use listen::RequestId;
use meter::Meter;
use node::Pool;

use crate::cache::Cache;
use crate::load::Load;
use crate::metrics::Metrics;
use crate::refusal::{Echo, Reason, Refusal};
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
    chains: [Option<ChainService>; chain::ALL.len()],
    pub(crate) settings: Settings,
}

impl State {
    fn new(chains: Vec<ChainService>, settings: Settings) -> State {
        let mut places: [Option<ChainService>; chain::ALL.len()] = Default::default();
        for service in chains {
            let place = service.chain.ordinal;
            places[place] = Some(service);
        }
        State { chains: places, settings }
    }

    /// The chain of that name, compared exactly (decision B17).
    pub(crate) fn chain(&self, slug: &str) -> Option<&ChainService> {
        self.chains.get(chain::find(slug)?.ordinal)?.as_ref()
    }
}

/// The service behind `POST /v1/rpc/{chain}`.
pub struct Gateway {
    meter: Arc<Meter>,
    state: ArcSwap<State>,
    load: Arc<Load>,
    cache: Arc<Cache>,
    metrics: Metrics,
    refusing: AtomicBool,
}

impl Gateway {
    /// A gateway for `chains`; a chain that is given twice counts once, the last one.
    pub fn new(meter: Arc<Meter>, chains: Vec<ChainService>, settings: Settings) -> Gateway {
        Gateway {
            meter,
            cache: Cache::new(settings.max_cache_bytes),
            state: ArcSwap::from_pointee(State::new(chains, settings)),
            load: Arc::default(),
            metrics: Metrics::new(),
            refusing: AtomicBool::new(false),
        }
    }

    /// Replaces chains and settings; requests under way keep what they began with.
    pub fn reload(&self, chains: Vec<ChainService>, settings: Settings) {
        let most = settings.max_cache_bytes;
        self.state.store(Arc::new(State::new(chains, settings)));
        self.cache.renew(most);
    }

    /// Makes every further request end with SERVICE_UNAVAILABLE, while the process drains.
    pub fn set_refusing(&self, refusing: bool) {
        self.refusing.store(refusing, Ordering::Relaxed);
    }

    /// What Prometheus is told.
    pub fn metrics(&self) -> &Metrics {
        self.metrics.set_in_flight(self.load.places.in_flight());
        self.metrics.set_remembered(self.cache.bytes(), self.cache.len());
        &self.metrics
    }

    /// Requests in flight now.
    pub fn in_flight(&self) -> usize {
        self.load.places.in_flight()
    }

    /// Id and body of an answer to something that is no HTTP request.
    pub fn refuse_unreadable(&self) -> (RequestId, bytes::Bytes) {
        self.metrics.refusal(Reason::InvalidRequest);
        let refusal =
            Refusal::saying(Reason::InvalidRequest, "not an HTTP request that can be read");
        (RequestId::new(), refusal.body(Echo::default()))
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    pub(crate) fn state(&self) -> Arc<State> {
        self.state.load_full()
    }

    pub(crate) fn load(&self) -> &Arc<Load> {
        &self.load
    }

    pub(crate) fn cache(&self) -> &Arc<Cache> {
        &self.cache
    }

    pub(crate) fn serving(&self) -> Result<(), Refusal> {
        if self.refusing.load(Ordering::Relaxed) {
            Err(Reason::ServiceUnavailable.into())
        } else {
            Ok(())
        }
    }
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Gateway")
    }
}
