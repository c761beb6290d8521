//! The meter of one process: who calls, and may it be done.
//!
//! Leaves charging to `charge`. Invariant: a request that was charged is in the usage rows, and one
//! that is refused left no trace; see [`crate::Permit`].

mod charge;

use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::background::Background;
use crate::buckets::Connector;
use crate::engine::Engine;
use crate::ledger::Ledger;
use crate::plan::Offer;
use crate::secret::digest_of;
use crate::storage::Storage;
use crate::store::StoreError;
use crate::table::{KeyEntry, Table};
use crate::throttle::Throttle;
use crate::{BucketsView, Caller, Clock, Denial, LendingView, OpenError, Plans, Reason, Service};

/// How long a request waits for the store to be read.
const PATIENCE: Duration = Duration::from_secs(5);

/// Keys, plans and counters of the services that this process serves.
pub struct Meter {
    // First, so that it has ended when the last rows are recorded.
    background: Option<Background>,
    engine: Arc<Engine>,
    throttle: Throttle,
    nothing: Arc<Offer>,
    catching_up: Arc<Mutex<()>>,
    /// The last rows could not be recorded.
    gave_up: AtomicBool,
}

impl Meter {
    /// Opens everything in one folder: [`Meter::over`] of [`Storage::embedded`].
    pub fn open(
        dir: &Path,
        services: &[Service],
        plans: Plans,
        clock: Clock,
    ) -> Result<Arc<Meter>, OpenError> {
        Meter::over(Storage::embedded(dir)?, services, plans, clock)
    }

    /// Takes these services in the folder of a storage and recomputes their counters from the usage
    /// rows. Blocks; a background thread of its own keeps the store from then on.
    pub fn over(
        storage: Storage,
        services: &[Service],
        plans: Plans,
        clock: Clock,
    ) -> Result<Arc<Meter>, OpenError> {
        let Storage { folder, store, buckets } = storage;
        let mut ledgers = [None, None];
        for service in services {
            if ledgers[service.place()].is_none() {
                let mut ledger = Ledger::open(&folder, *service, &*store, clock.now())?;
                ledger.begin_lending(&*store)?;
                ledgers[service.place()] = Some(Arc::new(ledger));
            }
        }
        let identity = store.identity()?;
        let connector = buckets.map(|address| Connector::start(address, identity)).transpose();
        let connector = connector
            .map_err(|source| OpenError::File { path: folder.path().to_owned(), source })?;
        let engine = Arc::new(Engine::new(clock, store, Table::new(plans), ledgers, connector));
        engine.catch_up()?;
        let background = Background::start(Arc::clone(&engine))
            .map_err(|source| OpenError::File { path: folder.path().to_owned(), source })?;
        Ok(Arc::new(Meter {
            background: Some(background),
            engine,
            throttle: Throttle::default(),
            nothing: Offer::nothing(),
            catching_up: Arc::default(),
            gave_up: AtomicBool::new(false),
        }))
    }

    /// Replaces the plans on offer; in force for the next request.
    pub fn set_plans(&self, plans: Plans) {
        self.engine.table.set_plans(plans);
    }

    /// Can the store be read? Known keys are served from memory while it cannot, unless it is
    /// known to have changed. Told from what the background hears of it, so it may be asked at any time; a
    /// store that is far away and hangs is known to after three seconds.
    pub fn store_answers(&self) -> bool {
        self.engine.store_answers() && !self.engine.store.is_silent()
    }

    /// Is it of use to send requests here? Also while a store that machines share is away, since
    /// known keys are served from memory.
    pub fn serves(&self) -> bool {
        self.engine.serves()
    }

    /// How the buckets stand that several processes have in common; `None` where there are none.
    pub fn buckets(&self) -> Option<BucketsView> {
        self.engine.connector.as_ref().map(|connector| connector.buckets.view())
    }

    /// How each service stands with a store that lends units; nothing where it lends none.
    pub fn lending(&self) -> Vec<LendingView> {
        let ledgers = self.engine.ledgers.iter().flatten();
        ledgers.filter_map(|ledger| Some(ledger.lessee.as_ref()?.view())).collect()
    }

    /// Writes every usage row to the store now. Blocks; the background thread does so every few
    /// seconds, and dropping the meter does so once more.
    pub fn record(&self) -> Result<(), StoreError> {
        self.engine.sync();
        self.engine.record()
    }

    /// Records usage for the last time and returns what the store has lent. Blocks, some seconds at most
    /// also where the store hangs. What is still charged after it, or could not be recorded, is when the
    /// service is opened again.
    pub fn finish(&self) -> Result<(), StoreError> {
        self.engine.store.end_soon();
        let finished = self.record().and_then(|()| self.engine.return_leases());
        self.gave_up.store(finished.is_err(), Ordering::Relaxed);
        finished
    }

    /// Finds who calls: key, account, plan.
    ///
    /// `presented` is what [`crate::presented_key`] found, `client` the address that the request
    /// came from behind trusted proxies, `origin` its `Origin` header.
    pub async fn caller(
        &self,
        presented: Option<&str>,
        service: Service,
        client: IpAddr,
        origin: Option<&str>,
    ) -> Result<Caller, Denial> {
        let presented = presented.ok_or(Denial::of(Reason::MissingApiKey))?;
        let ledger = self.engine.ledger(service).ok_or_else(Denial::store_unavailable)?;
        let utc = self.engine.clock.utc();
        if !self.engine.is_current(ledger, utc.day()) {
            Box::pin(self.catch_up(ledger, utc.day())).await?;
        }
        let digest = digest_of(presented).ok_or_else(|| self.invalid(client))?;
        let key = match self.engine.table.find(&digest) {
            Some(key) => key,
            None => Box::pin(self.look_up(&digest, client)).await?,
        };
        Caller::of(key, service, client, origin, utc, &self.nothing)
    }

    /// Reads what has changed in the store; whoever comes meanwhile waits for the same reading.
    #[cold]
    async fn catch_up(&self, ledger: &Ledger, day: u32) -> Result<(), Denial> {
        let reading = async {
            let turn = Arc::clone(&self.catching_up).lock_owned().await;
            if self.engine.is_current(ledger, day) {
                return Ok(());
            }
            if self.engine.rests() {
                return Err(Denial::store_unavailable());
            }
            self.read_store(turn).await
        };
        self.patiently(reading).await
    }

    /// A key that the table does not know is looked up in the store before it is refused
    /// (decision B12): a command may have been killed before it could tell of it. However many
    /// come at once, they wait for the same two readings: one that is under way, and one more.
    #[cold]
    async fn look_up(&self, digest: &[u8; 32], client: IpAddr) -> Result<Arc<KeyEntry>, Denial> {
        if let Some(wait) = self.throttle.blocked(client, self.engine.clock.mono()) {
            return Err(Denial::after(Reason::TooManyInvalidKeys, wait));
        }
        let came = self.engine.readings();
        let reading = async {
            let turn = Arc::clone(&self.catching_up).lock_owned().await;
            if self.engine.has_read(came) {
                return Ok(());
            }
            if self.engine.rests() {
                return Err(Denial::store_unavailable());
            }
            self.read_store(turn).await
        };
        self.patiently(reading).await?;
        match self.engine.table.find(digest) {
            Some(key) => Ok(key),
            None if self.engine.is_damaged() => Err(Denial::store_unavailable()),
            None => Err(self.invalid(client)),
        }
    }

    /// Reads the store in the blocking pool. `turn` is held until the reading is done, also when
    /// the request that asked for it is gone by then, so that no more readings queue up.
    async fn read_store(&self, turn: impl Send + 'static) -> Result<(), Denial> {
        let engine = Arc::clone(&self.engine);
        let read = tokio::task::spawn_blocking(move || {
            let result = engine.catch_up();
            drop(turn);
            result
        })
        .await;
        match read {
            Ok(Ok(())) => Ok(()),
            _ => Err(Denial::store_unavailable()),
        }
    }

    /// Waits for a reading of the store; not longer than a client may be kept waiting where that is far
    /// away.
    async fn patiently(
        &self,
        reading: impl Future<Output = Result<(), Denial>>,
    ) -> Result<(), Denial> {
        match self.engine.store.is_shared() {
            false => reading.await,
            true => timeout(PATIENCE, reading)
                .await
                .unwrap_or_else(|_| Err(Denial::store_unavailable())),
        }
    }

    fn invalid(&self, client: IpAddr) -> Denial {
        match self.throttle.count(client, self.engine.clock.mono()) {
            Ok(()) => Denial::of(Reason::InvalidApiKey),
            Err(wait) => Denial::after(Reason::TooManyInvalidKeys, wait),
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        // Its threads may be in the middle of something.
        self.engine.store.end_soon();
        drop(self.background.take());
        if *self.gave_up.get_mut() {
            // A store that is away was waited for once; the usage files keep what it lacks.
            return;
        }
        if let Err(error) = self.finish() {
            tracing::error!(%error, "usage cannot be recorded; it is kept in the usage files");
        }
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").finish_non_exhaustive()
    }
}
