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
mod meter_metrics;
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
use crate::variables::variables;

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
    let read = what_is_read(file);
    tell_start(read.as_deref(), &services);
    idle.iter().for_each(Idle::tell);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(serve(read, config, services));
    shut_down(runtime);
    code
}

/// The configuration file: the one that was named, or the default one if it is there.
fn what_is_read(named: Option<&Path>) -> Option<PathBuf> {
    let there = || Some(Path::new(DEFAULT_FILE)).filter(|default| default.exists());
    named.or_else(there).map(Path::to_owned)
}

/// The whole path of a file, for people.
fn whole(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.display().to_string()
}

/// The first line of the log: which program this is, and what it was told.
fn tell_start(read: Option<&Path>, services: &Services) {
    let configuration = read.map_or("none".to_owned(), whole);
    let services = services.names();
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(version, configuration, services, "Portolan starts");
}

async fn serve(
    mut read: Option<PathBuf>,
    config: Config,
    services: Services,
) -> Result<ExitCode, Failure> {
    let mut signals = Signals::new()?;
    let grace = config.drain_grace();
    let Some(mut server) = Server::open(config, services, signals.end()).await? else {
        tracing::info!("ended before the store was there");
        return Ok(ExitCode::SUCCESS);
    };
    let mut again = tokio::time::interval(TRY_AGAIN);
    loop {
        tokio::select! {
            signal = signals.next() => match signal {
                Signal::Reload => {
                    // One that is there by now is read from now on.
                    read = read.or_else(|| what_is_read(None));
                    reload(&mut server, read.as_deref()).await;
                }
                Signal::End => return Ok(end(server, signals, grace).await),
            },
            _ = again.tick() => server.try_again().await,
        }
    }
}

async fn reload(server: &mut Server, file: Option<&Path>) {
    let read = || {
        // Without a file all would be at its default, which nobody means who had one.
        if let Some(gone) = file.filter(|file| matches!(file.try_exists(), Ok(false))) {
            return Err(Failure::new(format!("the configuration {} is gone", whole(gone))));
        }
        Ok::<_, Failure>(Config::load(file, variables()?)?)
    };
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
