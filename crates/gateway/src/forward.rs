//! Brings a call to a node and its answer back: which node, and whether to ask another.
//!
//! A call that hands in a transaction is sent again only if no byte of it was written, or the
//! node said it was too busy to look (decision G12).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use node::{Cause, Ids, Node, Pool, Route, Sent, Tried, Weight};

use crate::answer::{self, Expect, Opened};
use crate::failure::{Failure, NoAnswer};

/// Dead connections of a node's pool that one call may meet before it counts as unreachable.
const STALE_CONNECTIONS: u32 = 3;

/// What goes out to a node, and what may be done with it.
pub(crate) struct Outgoing<'a> {
    pub(crate) pool: &'a Pool,
    /// Whose call it is, for the node's fair share.
    pub(crate) account: u64,
    pub(crate) weight: Weight,
    /// May a call that reached a node be sent to another?
    pub(crate) resend: bool,
    /// The method, if it is one of monerod's plain paths.
    pub(crate) path: Option<&'a str>,
    pub(crate) body: Bytes,
    /// The ids of the calls in it, which the answer must bear.
    pub(crate) ids: Ids,
    pub(crate) expect: Expect,
    /// What to expect of a Bitcoin Core that is too old to know notifications.
    pub(crate) expect_of_old: Option<Expect>,
}

/// What to do after a failed attempt.
enum Next {
    /// Give up.
    Stop,
    /// Ask a node that was not asked yet; nothing was sent.
    Another,
    /// Ask once more; something may have been sent.
    Resend,
    /// The connection was stale and nothing was sent: ask the same node.
    Again,
}

/// Brings `outgoing` to a node; `begun` is set as soon as it is a node's turn.
///
/// # Errors
/// The last failure, when no node is left to ask or the call may not be sent again.
pub(crate) async fn forward(
    outgoing: &Outgoing<'_>,
    begun: &AtomicBool,
) -> Result<Opened, Failure> {
    let mut tried = Tried::default();
    let mut failure = None;
    let (mut resent, mut stale) = (false, 0);
    let path = outgoing.path.map(|method| format!("/{method}"));
    let route = path.as_deref().map_or(Route::Rpc, Route::Path);
    loop {
        let node = match outgoing.pool.pick(&tried) {
            Ok(node) => node,
            Err(unusable) => return Err(failure.unwrap_or_else(|| unusable.into())),
        };
        let trouble = match attempt(outgoing, begun, &node, route).await {
            Ok(opened) => return Ok(opened),
            Err(trouble) => trouble,
        };
        note(&node, &trouble);
        match next(&trouble, outgoing.resend && !resent) {
            Next::Stop => return Err(trouble.into()),
            Next::Again if stale < STALE_CONNECTIONS => stale += 1,
            Next::Again | Next::Another => tried.add(&node),
            Next::Resend => {
                resent = true;
                if !is_stale(&trouble) {
                    tried.add(&node);
                }
            }
        }
        failure = Some(trouble.into());
    }
}

async fn attempt(
    outgoing: &Outgoing<'_>,
    begun: &AtomicBool,
    node: &Arc<Node>,
    route: Route<'_>,
) -> Result<Opened, NoAnswer> {
    let lease = node.lease(outgoing.account, outgoing.weight).await.map_err(|_| NoAnswer::Busy)?;
    begun.store(true, Ordering::Relaxed);
    let answer = node
        .send(lease, route, outgoing.body.clone(), outgoing.ids.clone())
        .await
        .map_err(NoAnswer::Node)?;
    let expect = match &outgoing.expect_of_old {
        Some(expect) if !node.speaks_v2() => expect,
        _ => &outgoing.expect,
    };
    let opened = answer::open(answer, expect.clone()).await;
    match &opened {
        Ok(_) => node.credit(),
        Err(NoAnswer::Unusable(_)) => node.strike(),
        Err(_) => (),
    }
    opened
}

/// May `trouble` be followed by another attempt?
fn next(trouble: &NoAnswer, may_resend: bool) -> Next {
    match trouble {
        NoAnswer::Busy => Next::Another,
        NoAnswer::Unusable(_) | NoAnswer::Refused(_) => Next::Stop,
        NoAnswer::Node(error) => match error.sent {
            Sent::Nothing if error.reused_connection => Next::Again,
            Sent::Nothing => Next::Another,
            Sent::Maybe if may_resend && !error.got_bytes && is_silence(error.cause) => {
                Next::Resend
            }
            Sent::Maybe => Next::Stop,
        },
    }
}

/// Did the node say nothing at all?
fn is_silence(cause: Cause) -> bool {
    matches!(cause, Cause::Broken | Cause::TimedOutFirstByte | Cause::Connect | Cause::Tls)
}

/// Did a connection die that had been idle in the pool? The node may be well.
fn is_stale(trouble: &NoAnswer) -> bool {
    matches!(trouble, NoAnswer::Node(error) if error.reused_connection && error.cause == Cause::Broken)
}

fn note(node: &Node, trouble: &NoAnswer) {
    let chain = node.chain().slug;
    match trouble {
        NoAnswer::Busy => tracing::debug!(chain, "node is busy"),
        _ if is_stale(trouble) => tracing::debug!(chain, "an idle connection had ended"),
        NoAnswer::Unusable(what) | NoAnswer::Refused(what) => node.complain(what),
        NoAnswer::Node(error) => node.complain(error),
    }
}
