//! Which services a process runs, and whether they can answer anything.
//!
//! Leaves their start to `server`. Invariant: what `--only` does not name is neither built nor bound.

use index::ChainIndex;

use crate::cli::ServiceName;
use crate::config::{Config, Listens};
use crate::failure::Failure;

/// The services that run.
#[derive(Clone, Debug)]
pub(crate) struct Services(Vec<Listens>);

impl Services {
    /// Every service that is built.
    pub(crate) fn all() -> Services {
        Services(vec![Listens::Gateway, Listens::Explorer])
    }

    /// Those that are named; all where none is.
    ///
    /// # Errors
    /// One of them is not built yet.
    pub(crate) fn only(named: &[ServiceName]) -> Result<Services, Failure> {
        if named.contains(&ServiceName::Console) {
            return Err(Failure::new("the console is not built yet"));
        }
        let mut all = Services::all();
        let is_named = |who: &Listens| named.iter().any(|name| name.listens() == *who);
        all.0.retain(|who| named.is_empty() || is_named(who));
        Ok(all)
    }

    /// Does it run?
    pub(crate) fn has(&self, who: Listens) -> bool {
        self.0.contains(&who)
    }

    /// Is it to listen? Metrics and health do wherever they have a section.
    pub(crate) fn listens(&self, who: Listens) -> bool {
        who == Listens::Metrics || self.has(who)
    }

    /// Their names.
    pub(crate) fn names(&self) -> String {
        self.0.iter().map(|who| who.name()).collect::<Vec<_>>().join(", ")
    }
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
pub(crate) fn can_serve(config: &Config, services: &Services) -> Result<Vec<Idle>, Failure> {
    let served = config.served();
    let gateway = served.iter().any(|chain| chain.gateway);
    let explorer = served.iter().any(|chain| chain.explorer && ChainIndex::is_kept_of(chain.chain));
    let idle = services.0.iter().filter_map(|who| {
        let (can, problem) = match who {
            Listens::Gateway => (gateway, "no chain is configured for the gateway"),
            Listens::Explorer => (
                explorer,
                "no chain is configured for the explorer that this version keeps an index of",
            ),
            Listens::Console | Listens::Metrics => return None,
        };
        (!can).then_some(Idle { service: who.name(), problem })
    });
    let idle: Vec<Idle> = idle.collect();
    if idle.len() == services.0.len() {
        let problems: Vec<&str> = idle.iter().map(|idle| idle.problem).collect();
        return Err(Failure::new(format!(
            "{}: give [chain.X] with its nodes, in ./portolan.toml or in the file that --config \
             names",
            problems.join("; ")
        )));
    }
    Ok(idle)
}
