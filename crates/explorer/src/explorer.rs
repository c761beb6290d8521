//! The explorer: its chains, its settings, its counters.
//!
//! Leaves the way of a request to `front`. Invariant: chains and settings are replaced as a whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use bytes::Bytes;
use chain::{Chain, Network};
use index::ChainIndex;
use listen::{InFlight, Places, RequestId};
use meter::Meter;

use crate::metrics::Metrics;
use crate::reads::Reads;
use crate::refusal::{Reason, Refusal};
use crate::room::Room;
use crate::settings::Settings;

/// A chain that this operator runs nodes of.
#[derive(Clone)]
pub struct ChainService {
    /// The chain.
    pub chain: &'static Chain,
    /// Its network.
    pub network: &'static Network,
    /// Its index; none where this version builds none for the chain's family.
    pub index: Option<ChainIndex>,
}

/// What a reload replaces as a whole.
pub(crate) struct State {
    chains: [Option<ChainService>; chain::ALL.len()],
    pub(crate) settings: Settings,
    pub(crate) reads: Arc<Reads>,
}

impl State {
    fn new(chains: Vec<ChainService>, settings: Settings) -> State {
        let mut places: [Option<ChainService>; chain::ALL.len()] = Default::default();
        for service in chains {
            let place = service.chain.ordinal;
            places[place] = Some(service);
        }
        let reads = Reads::new(settings.max_reads);
        State { chains: places, settings, reads }
    }

    /// The chain of that name, compared exactly (decision B17).
    pub(crate) fn chain(&self, slug: &str) -> Option<&ChainService> {
        self.chains.get(chain::find(slug)?.ordinal)?.as_ref()
    }

    /// The refusal of a name that no chain here has; it says which is near.
    pub(crate) fn unknown_chain(&self, slug: &str) -> Refusal {
        match self.chain(&slug.to_ascii_lowercase()) {
            Some(near) => {
                let near = near.chain.slug;
                let text = format!("no such chain; names are in lower case: {near}");
                Refusal::saying(Reason::ChainNotFound, text)
            }
            None => Reason::ChainNotFound.into(),
        }
    }
}

/// The service behind `GET /api/v1/{chain}/…`.
pub struct Explorer {
    meter: Arc<Meter>,
    state: ArcSwap<State>,
    places: Places,
    room: Room,
    metrics: Metrics,
    refusing: AtomicBool,
}

impl Explorer {
    /// An explorer of `chains`; a chain that is given twice counts once, the last one.
    pub fn new(meter: Arc<Meter>, chains: Vec<ChainService>, settings: Settings) -> Explorer {
        Explorer {
            meter,
            room: Room::new(settings.max_answer_bytes),
            state: ArcSwap::from_pointee(State::new(chains, settings)),
            places: Places::default(),
            metrics: Metrics::new(),
            refusing: AtomicBool::new(false),
        }
    }

    /// Replaces chains and settings; requests under way keep what they began with.
    pub fn reload(&self, chains: Vec<ChainService>, settings: Settings) {
        self.room.resize(settings.max_answer_bytes);
        self.state.store(Arc::new(State::new(chains, settings)));
    }

    /// Makes every further request end with SERVICE_UNAVAILABLE, while the process drains.
    pub fn set_refusing(&self, refusing: bool) {
        self.refusing.store(refusing, Ordering::Relaxed);
    }

    /// What Prometheus is told.
    pub fn metrics(&self) -> &Metrics {
        self.metrics.set_in_flight(self.in_flight());
        self.metrics.set_answer_bytes(self.room.used());
        &self.metrics
    }

    /// Requests in flight now.
    pub fn in_flight(&self) -> usize {
        self.places.in_flight()
    }

    /// Id and body of an answer to something that is no HTTP request.
    pub fn refuse_unreadable(&self) -> (RequestId, Bytes) {
        self.metrics.refusal(Reason::BadRequest);
        let refusal = Refusal::saying(Reason::BadRequest, "not an HTTP request that can be read");
        (RequestId::new(), refusal.body())
    }

    pub(crate) fn counters(&self) -> &Metrics {
        &self.metrics
    }

    pub(crate) fn room(&self) -> &Room {
        &self.room
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    pub(crate) fn state(&self) -> Arc<State> {
        self.state.load_full()
    }

    /// Claims a place for a request, if fewer than `most` are in flight.
    pub(crate) fn enter(&self, most: usize) -> Result<InFlight, Refusal> {
        self.places.enter(most).ok_or_else(|| Refusal::unavailable("too many requests", 1))
    }

    pub(crate) fn serving(&self) -> Result<(), Refusal> {
        if self.refusing.load(Ordering::Relaxed) {
            Err(Reason::ServiceUnavailable.into())
        } else {
            Ok(())
        }
    }
}

impl std::fmt::Debug for Explorer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Explorer")
    }
}
