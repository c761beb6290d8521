//! The explorer: its chains, its settings, its counters.
//!
//! Leaves the way of a request to `front`. Invariant: chains and settings are replaced as a whole.

use std::sync::Arc;

use chain::{ByChain, Chain, Network};
use index::ChainIndex;
use listen::{Counted, InFlight, Running};
use meter::Meter;
use prometheus::Registry;

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
    pub(crate) chains: ByChain<ChainService>,
    pub(crate) settings: Settings,
    pub(crate) reads: Arc<Reads>,
}

impl State {
    fn new(chains: Vec<ChainService>, settings: Settings) -> State {
        let chains = chains.into_iter().map(|service| (service.chain, service)).collect();
        let reads = Reads::new(settings.max_reads);
        State { chains, settings, reads }
    }

    /// The refusal of a name that no chain here has; it says which is near.
    pub(crate) fn unknown_chain(&self, slug: &str) -> Refusal {
        match self.chains.near(slug) {
            Some(near) => {
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
    running: Running<State>,
    room: Room,
    metrics: Metrics,
}

impl Explorer {
    /// An explorer of `chains`; a chain that is given twice counts once, the last one.
    pub fn new(meter: Arc<Meter>, chains: Vec<ChainService>, settings: Settings) -> Explorer {
        Explorer {
            meter,
            room: Room::new(settings.max_answer_bytes),
            running: Running::new(State::new(chains, settings)),
            metrics: Metrics::new(),
        }
    }

    /// Replaces chains and settings; requests under way keep what they began with.
    pub fn reload(&self, chains: Vec<ChainService>, settings: Settings) {
        self.room.resize(settings.max_answer_bytes);
        self.running.replace(State::new(chains, settings));
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

    pub(crate) fn room(&self) -> &Room {
        &self.room
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    pub(crate) fn state(&self) -> Arc<State> {
        self.running.state()
    }

    /// Claims a place for a request, if fewer than `most` are in flight.
    pub(crate) fn enter(&self, most: usize) -> Result<InFlight, Refusal> {
        self.running.enter(most).ok_or_else(|| Refusal::unavailable("too many requests", 1))
    }

    pub(crate) fn serving(&self) -> Result<(), Refusal> {
        match self.running.is_refusing() {
            true => Err(Reason::ServiceUnavailable.into()),
            false => Ok(()),
        }
    }
}

impl Counted for Explorer {
    fn registry(&self) -> &Registry {
        self.metrics.set_in_flight(self.in_flight());
        self.metrics.set_answer_bytes(self.room.used());
        self.metrics.registry()
    }
}

impl std::fmt::Debug for Explorer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Explorer")
    }
}
