//! Requests to a node as bytes, each in one attempt.
//!
//! What an attempt is stands in `attempt`; whether to try again is left to the caller. Invariant: a
//! failure that is the node's own is counted.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;

use crate::attempt::Query;
use crate::bounds;
use crate::gate::{Lease, Weight};
use crate::ids::Ids;
use crate::node::{Node, Route};
use crate::{Answer, CallError, Cause, NodeError};

impl Node {
    /// Sends a request body and waits for the head of the answer. `ids` are those of the calls in
    /// it.
    ///
    /// One attempt: a connection that the node closed while it was idle is replaced as long as
    /// nothing was written, and a 401 is answered once by a Digest response or by credentials
    /// that changed on disk. Nothing else is sent again.
    ///
    /// # Errors
    /// See [`NodeError`]: whose fault it was and whether a resend is safe. 401 and 403 are
    /// `Unauthorized`; every other status is an answer. An answer that bears other ids is `Stray`:
    /// at once if it is small, else where its body ends or, if it begins with its id, begins.
    pub async fn send(
        &self,
        lease: Lease,
        route: Route<'_>,
        body: Bytes,
        ids: Ids,
    ) -> Result<Answer, NodeError> {
        let query = Query::post(self.path(route)?, body, ids);
        let outcome = self.attempt(lease, &query, self.first_byte).await;
        if outcome.as_ref().is_err_and(NodeError::blames_node) {
            self.health.call_failed();
        }
        outcome
    }

    /// Gets what the node has at `path`, with its leading slash, and gives status and body.
    ///
    /// Credentials go along where there are any; REST of the Core family needs none.
    ///
    /// # Errors
    /// `Busy` without a slot, `Node` without an answer; every status but 401 is an answer.
    pub async fn get(
        self: &Arc<Node>,
        path: &str,
        weight: Weight,
    ) -> Result<(StatusCode, Bytes), CallError> {
        let query = Query::get(self.path(Route::Path(path))?);
        let lease = self.lease(0, weight).await?;
        let answer = match self.attempt(lease, &query, self.first_byte).await {
            Ok(answer) => answer,
            Err(error) => {
                // A closed path says nothing about calls.
                if error.blames_node() && error.cause != Cause::Unauthorized {
                    self.health.call_failed();
                }
                return Err(error.into());
            }
        };
        let whole = self.whole(answer.body, bounds::of_path(self.chain(), path)).await?;
        self.credit();
        Ok((answer.status, whole))
    }
}
