//! The log: where it goes and what a line looks like.
//!
//! Always standard error, so that results on standard output stay clean. What may be said in a
//! line is the business of whoever says it (decision B15).

use std::io;

use tracing_subscriber::EnvFilter;

use crate::config::{LogConfig, LogFormat};

/// Begins to log. A second call changes nothing.
pub fn start(config: &LogConfig) {
    let filter = EnvFilter::try_new(&config.level).unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    // It fails only if a log was started before, as tests in one process do.
    let _ = match config.format {
        LogFormat::Text => log.with_ansi(false).try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
}
