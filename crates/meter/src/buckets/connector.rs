//! Keeps the line to the server of shared buckets: connects, looks whether it still answers, and tries
//! again after a loss.
//!
//! A thread of its own with a small runtime, so that no thread that serves calls has to, and the line
//! outlives each of them. Invariants: a line is offered to calls only after the script has run on it,
//! in time; the more often it is lost, the longer it is left alone; the thread ends with the connector.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::line::Line;
use super::pause::Pause;
use super::{Buckets, BucketsAddress};

/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the beginning waits for the first one.
const FIRST: Duration = Duration::from_secs(1);
/// A line that nobody uses is looked at so often.
const LOOK: Duration = Duration::from_secs(1);

/// The shared buckets and the thread that keeps their line; dropping it ends that.
#[derive(Debug)]
pub(crate) struct Connector {
    pub(crate) buckets: Arc<Buckets>,
    end: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl Connector {
    /// Begins to keep a line for the buckets of a store, by its random number. Waits a moment for the
    /// first one; calls are served by shares until there is one.
    pub(crate) fn start(address: BucketsAddress, identity: u64) -> io::Result<Connector> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (buckets, end) = (Arc::new(Buckets::new(identity)), Arc::new(Notify::new()));
        let (kept, ended) = (Arc::clone(&buckets), Arc::clone(&end));
        let (tell, tried) = channel();
        let thread = thread::Builder::new().name("buckets".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = kept.keep(&address, tell) => {}
                    () = ended.notified() => {}
                }
            });
            // The resolver of names may hang.
            runtime.shutdown_background();
        })?;
        // Whatever came of it.
        let _ = tried.recv_timeout(FIRST);
        Ok(Connector { buckets, end, thread: Some(thread) })
    }
}

impl Drop for Connector {
    fn drop(&mut self) {
        self.end.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported by the panic hook.
            let _ = thread.join();
        }
    }
}

impl BucketsAddress {
    /// Is a server there, and does it do what is needed of it? Blocks, some seconds at most.
    ///
    /// # Errors
    /// It does not, or nobody is there: a text without a secret.
    pub fn try_it(&self) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let tried = runtime.block_on(Buckets::new(0).open(self)).map(drop);
        runtime.shutdown_background();
        tried
    }
}

impl Buckets {
    async fn keep(&self, address: &BucketsAddress, tried: Sender<()>) {
        let mut pause = Pause::default();
        loop {
            match self.open(address).await {
                Ok(line) => self.offer(&Arc::new(line), address, &mut pause, &tried).await,
                Err(why) => {
                    self.complaint.make(Instant::now(), &why);
                    let _ = tried.send(());
                    sleep(pause.next(Instant::now())).await;
                }
            }
        }
    }

    /// Lets calls use a line until it is of no use any more. One that answers again is offered again.
    async fn offer(
        &self,
        line: &Arc<Line>,
        address: &BucketsAddress,
        pause: &mut Pause,
        tried: &Sender<()>,
    ) {
        loop {
            if self.line.load().is_none() {
                self.line.store(Some(Arc::clone(line)));
                if self.complaint.end() {
                    tracing::info!(server = address.url(), "buckets are shared");
                }
                let _ = tried.send(());
            }
            let _ = timeout(LOOK, self.lost.notified()).await;
            if self.line.load().is_none() {
                sleep(pause.next(Instant::now())).await;
            }
            if let Err(why) = self.run(line, &self.trial(), 1, 1000, 0).await {
                self.lose(line, &why);
                return;
            }
        }
    }

    /// Opens a line and takes a token of a bucket that is nobody's.
    async fn open(&self, address: &BucketsAddress) -> Result<Line, String> {
        let connected = timeout(CONNECT_TIMEOUT, async {
            let line = address.connect().await?;
            line.load().await?;
            Ok::<Line, String>(line)
        });
        let line = connected
            .await
            .map_err(|_| format!("no connection within {} s", CONNECT_TIMEOUT.as_secs()))??;
        self.run(&line, &self.trial(), 1, 1000, 0).await?;
        Ok(line)
    }

    fn trial(&self) -> String {
        format!("{}:trial", self.prefix)
    }
}
