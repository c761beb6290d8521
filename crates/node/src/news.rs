//! Listens to a node's publisher for as long as there is a node.
//!
//! What it says is left to `zmq`, what to do about it to whoever waits. Invariant: a publisher that is
//! silent or gone is no error.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::node::Node;
use crate::zmq::listen;

/// Between two connections; doubles as long as nothing is heard.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Ticks `woken` with every message of the node's publisher, for ever, and once whenever the
/// publisher is found, because messages may have been missed until then.
pub(crate) async fn keep_listening(node: Arc<Node>, woken: watch::Sender<u64>) {
    let Some(publisher) = &node.publisher else { return };
    let (chain, host) = (node.chain().slug, node.host());
    let mut wait = FIRST_WAIT;
    let mut heard = None;
    loop {
        let began = Instant::now();
        let mut found = false;
        let tick = |of_block: bool| {
            if of_block {
                node.health.tip_changed();
            }
            if !std::mem::replace(&mut found, true) && heard != Some(true) {
                heard = Some(true);
                tracing::info!(chain, node = host, "a node's ZMQ publisher is heard");
            }
            woken.send_modify(|count| *count = count.wrapping_add(1));
        };
        let Err(error) = listen(publisher, tick).await;
        if heard != Some(false) {
            heard = Some(false);
            tracing::warn!(chain, node = host, %error, "a node's ZMQ publisher is not heard");
        }
        sleep(wait).await;
        let lasted = found && began.elapsed() > LONGEST_WAIT;
        wait = if lasted { FIRST_WAIT } else { (wait * 2).min(LONGEST_WAIT) };
    }
}
