//! Waiting for a live node to come up, and trying again where another process took its port.
//!
//! Invariant: a program that is not installed is said at once, without waiting.

use std::time::Duration;

use crate::process::{Process, StartError};

/// A port that was free when it was looked for may be taken when it is used.
const TRIES: usize = 3;
/// 100 ms each.
const POLLS: usize = 600;

/// Starts a node, again with new ports if it does not come up.
pub(crate) async fn with_fresh_ports<N>(
    start: impl AsyncFn() -> Result<N, StartError>,
) -> Result<N, StartError> {
    let mut tries = 1;
    loop {
        match start().await {
            Err(StartError::Down { .. }) if tries < TRIES => tries += 1,
            other => return other,
        }
    }
}

/// Waits until `is_up`, or the process ended, or a minute passed.
pub(crate) async fn until_up(
    process: &mut Process,
    is_up: impl AsyncFn() -> bool,
) -> Result<(), StartError> {
    for _ in 0..POLLS {
        if process.has_ended() {
            break;
        }
        if is_up().await {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(process.down())
}
