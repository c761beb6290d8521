//! `[serve]`: what holds for the process that serves, whatever it serves.

use serde::Deserialize;

/// How the process ends.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServeConfig {
    /// Seconds after SIGTERM in which calls are still served while readiness already fails
    /// (decision G17), 0 to 600.
    pub drain_grace_secs: u64,
}

impl Default for ServeConfig {
    fn default() -> Self {
        ServeConfig { drain_grace_secs: 5 }
    }
}
