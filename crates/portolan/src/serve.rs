//! `portolan serve`: the services on real nodes.
//!
//! Starts them, re-reads the configuration on SIGHUP, ends on SIGTERM or SIGINT. Leaves requests
//! to the services. Invariant: whatever a re-read configuration holds, what runs either takes all
//! of it or stays as it was.

mod chains;
pub(crate) mod control;
mod explorers;
mod health;
mod health_page;
mod index_metrics;
mod obstacles;
mod program_metrics;
pub(crate) mod rebuilt;
mod reserve;
mod server;
mod services;
mod signals;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use crate::cli::ServiceName;
use crate::config::{Config, DEFAULT_FILE};
use crate::failure::Failure;
use crate::log;
use crate::run::variables;

pub(crate) use explorers::index_dir;
pub(crate) use health_page::is_usable;
pub(crate) use obstacles::obstacles;
pub(crate) use server::Server;
pub(crate) use services::Services;
use services::{Idle, can_serve};
pub(crate) use signals::{Signal, Signals};

/// Between two attempts to open an index that could not be opened.
const TRY_AGAIN: Duration = Duration::from_secs(10);

/// Serves until a signal ends it.
pub(crate) fn run(
    file: Option<&Path>,
    config: Config,
    only: &[ServiceName],
) -> Result<ExitCode, Failure> {
    let _log = log::start(&config.log);
    let services = Services::only(only)?;
    let idle = can_serve(&config, &services)?;
    tell_start(file, &services);
    idle.iter().for_each(Idle::tell);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(serve(file.map(Path::to_owned), config, services));
    shut_down(runtime);
    code
}

/// The first line of the log: which program this is, and what it was told.
fn tell_start(file: Option<&Path>, services: &Services) {
    let read = file.unwrap_or(Path::new(DEFAULT_FILE));
    // The default file need not be there; one that was named was read.
    let read = read.exists().then(|| std::path::absolute(read).unwrap_or_else(|_| read.to_owned()));
    let configuration = read.map_or("none".to_owned(), |path| path.display().to_string());
    let services = services.names();
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(version, configuration, services, "Portolan starts");
}

async fn serve(
    file: Option<PathBuf>,
    config: Config,
    services: Services,
) -> Result<ExitCode, Failure> {
    let mut signals = Signals::new()?;
    let grace = config.drain_grace();
    let mut server = Server::open(config, services).await?;
    let mut again = tokio::time::interval(TRY_AGAIN);
    loop {
        tokio::select! {
            signal = signals.next() => match signal {
                Signal::Reload => reload(&mut server, file.as_deref()).await,
                Signal::End => return Ok(end(server, signals, grace).await),
            },
            _ = again.tick() => server.try_again().await,
        }
    }
}

async fn reload(server: &mut Server, file: Option<&Path>) {
    let read = || Ok::<_, Failure>(Config::load(file, variables()?)?);
    let taken = match read() {
        Ok(config) => server.reload(config).await,
        Err(failure) => Err(failure),
    };
    match taken {
        Ok(()) => tracing::info!("took the new configuration"),
        Err(failure) => tracing::error!(%failure, "kept the old configuration"),
    }
}

/// Ends a runtime: waits until its tasks have let go of what they hold, since the engine under the
/// indexes must be closed before the process ends. A stalled name look-up holds that up for two
/// seconds at most.
pub(crate) fn shut_down(runtime: tokio::runtime::Runtime) {
    runtime.shutdown_timeout(Duration::from_secs(2));
}

/// Drains; a second signal ends at once.
pub(crate) async fn end(server: Server, mut signals: Signals, grace: Duration) -> ExitCode {
    tokio::select! {
        () = server.close(grace) => ExitCode::SUCCESS,
        () = signals.end() => {
            tracing::warn!("a second signal; ending at once");
            ExitCode::FAILURE
        }
    }
}
