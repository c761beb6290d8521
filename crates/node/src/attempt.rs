//! One attempt of a call: a connection, the request, credentials when the node asks for them, the
//! head of the answer.
//!
//! Whether to try again, here or elsewhere, is left to the caller. Invariant: a request of which a
//! byte was written is sent again only because the node refused its credentials, which it does
//! before it looks at the call.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::time::Instant;

use bytes::Bytes;
use http::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, TRANSFER_ENCODING,
};
use http::response::Parts;
use http::{Method, Request, Response, StatusCode, Uri};
use http_body::Body;
use http_body_util::Full;
use hyper::body::Incoming;

use crate::connection::{Connection, Immediate};
use crate::digest::Session;
use crate::flow::{Flow, Opening};
use crate::gate::Lease;
use crate::ids::Ids;
use crate::node::Node;
use crate::witness::Witness;
use crate::{Answer, AnswerBody, Cause, NodeError, Sent, says};

/// Largest body of a 401 that is read so that the connection can be used again, in bytes.
const LONGEST_REFUSAL: usize = 64 << 10;

/// A request, without its credentials.
pub(crate) struct Query {
    verb: Method,
    uri: Uri,
    body: Bytes,
    /// What the answer must bear.
    ids: Ids,
}

impl Query {
    /// A body for `uri`.
    pub(crate) fn post(uri: Uri, body: Bytes, ids: Ids) -> Query {
        Query { verb: Method::POST, uri, body, ids }
    }

    /// What there is at `uri`.
    pub(crate) fn get(uri: Uri) -> Query {
        Query { verb: Method::GET, uri, body: Bytes::new(), ids: Ids::None }
    }

    fn has_body(&self) -> bool {
        self.verb == Method::POST
    }
}

/// What an attempt went through so far.
struct Attempt<'a> {
    node: &'a Node,
    query: Query,
    started: Instant,
    deadline: Instant,
    challenges: u32,
    files_read: bool,
}

impl Node {
    /// One attempt, without an account of how it ended.
    pub(crate) async fn attempt(
        &self,
        lease: Lease,
        query: Query,
        first_byte: std::time::Duration,
    ) -> Result<Answer, NodeError> {
        let started = Instant::now();
        let mut attempt = Attempt {
            node: self,
            query,
            started,
            deadline: started + first_byte,
            challenges: 0,
            files_read: false,
        };
        let mut connection = self.connections.one().await?;
        loop {
            let (request, generation) = attempt.request(&mut connection);
            match connection.exchange(request, attempt.deadline).await {
                Ok(response) if response.status() == StatusCode::UNAUTHORIZED => {
                    connection = attempt.refused(connection, response, generation).await?;
                }
                // A path that is got may be closed to us while calls are open.
                Ok(response)
                    if response.status() == StatusCode::FORBIDDEN && attempt.query.has_body() =>
                {
                    return Err(attempt.forbidden(connection, response).await);
                }
                Ok(response) => return attempt.answered(connection, response, lease),
                // Closed by the node while it was idle, before we wrote a byte.
                Err(error) if error.sent == Sent::Nothing && error.reused_connection => {
                    connection = self.connections.one().await?;
                }
                Err(error) => {
                    if error.cause == Cause::Broken && error.reused_connection {
                        self.connections.forget_unused();
                    }
                    return Err(error);
                }
            }
        }
    }
}

impl Attempt<'_> {
    /// The request, and the generation of the credentials in it.
    fn request(&self, connection: &mut Connection) -> (Request<Full<Bytes>>, u64) {
        let generation = self.node.credentials.generation();
        let presented = self.node.credentials.presented();
        let query = &self.query;
        let mut request = Request::new(Full::new(query.body.clone()));
        *request.method_mut() = query.verb.clone();
        *request.uri_mut() = query.uri.clone();
        *request.headers_mut() = presented.headers.clone();
        if !query.has_body() {
            request.headers_mut().remove(CONTENT_TYPE);
        } else if query.body.is_empty() {
            // hyper leaves the length out here; monerod wants one.
            request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        if let (Some(session), Some(login)) = (&mut connection.digest, &presented.digest) {
            let value = session.authorize(login, query.verb.as_str(), query.uri.path());
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        (request, generation)
    }

    /// What to do about a 401: answer the challenge, or use a cookie that was written since.
    /// Gives the connection for the next request.
    async fn refused(
        &mut self,
        connection: Box<Connection>,
        response: Response<Incoming>,
        generation: u64,
    ) -> Result<Box<Connection>, NodeError> {
        let reused = connection.is_reused();
        let (head, body) = response.into_parts();
        let (connection, text) = self.drain(connection, body).await;
        let session = self.next_credentials(&head.headers, generation);
        let session = session.ok_or_else(|| unauthorized(head.status, &text).reused(reused))?;
        let mut connection = match connection {
            Some(connection) => connection,
            None => self.node.connections.one().await?,
        };
        connection.digest = session.or(connection.digest.take());
        Ok(connection)
    }

    async fn forbidden(
        &self,
        connection: Box<Connection>,
        response: Response<Incoming>,
    ) -> NodeError {
        let reused = connection.is_reused();
        let (head, body) = response.into_parts();
        let (connection, text) = self.drain(connection, body).await;
        connection.into_iter().for_each(|connection| self.node.connections.put_back(connection));
        unauthorized(head.status, &text).reused(reused)
    }

    /// `None`: nothing new can be presented. `Some(None)`: the header of the files as they are now.
    fn next_credentials(
        &mut self,
        headers: &HeaderMap,
        generation: u64,
    ) -> Option<Option<Session>> {
        let credentials = &self.node.credentials;
        let answers_challenges = credentials.presented().digest.is_some();
        let session = answers_challenges.then(|| Session::from_challenge(headers)).flatten();
        if session.as_ref().is_some_and(|session| {
            self.challenges == 0 || (self.challenges == 1 && session.is_stale())
        }) {
            self.challenges += 1;
            return Some(session);
        }
        if self.files_read {
            return None;
        }
        self.files_read = true;
        credentials.read_again();
        (credentials.generation() != generation).then_some(session)
    }

    /// Reads the body of a refusal, so that the connection can be used again if it is to live.
    /// Gives the connection in that case, and how the text begins.
    async fn drain(
        &self,
        mut connection: Box<Connection>,
        mut body: Incoming,
    ) -> (Option<Box<Connection>>, Vec<u8>) {
        let (mut left, mut text) = (LONGEST_REFUSAL, Vec::new());
        let reading = async {
            loop {
                match poll_fn(|cx| connection.poll_data(&mut body, cx)).await {
                    Some(Ok(data)) if data.len() <= left => {
                        left -= data.len();
                        let room = says::LONGEST.saturating_sub(text.len());
                        text.extend_from_slice(&data[..data.len().min(room)]);
                    }
                    Some(_) => return false,
                    None => return true,
                }
            }
        };
        let ended = tokio::time::timeout_at(self.deadline.into(), reading).await;
        ((ended == Ok(true) && connection.settle()).then_some(connection), text)
    }

    fn answered(
        &self,
        mut connection: Box<Connection>,
        response: Response<Incoming>,
        lease: Lease,
    ) -> Result<Answer, NodeError> {
        let reused = connection.is_reused();
        let (head, mut body) = response.into_parts();
        let length = body.size_hint().exact();
        if length.is_some_and(|length| length > self.node.flow_limits.response) {
            return Err(NodeError::answered(Cause::TooLarge).reused(reused));
        }
        let close_delimited = length.is_none() && !head.headers.contains_key(TRANSFER_ENCODING);
        match connection.read_immediate(&mut body) {
            Immediate::Broken(error) => {
                Err(NodeError::answered(Cause::Broken).detail(error).reused(reused))
            }
            Immediate::Whole(bytes) if !self.query.ids.fit(self.node.chain().dialect, &bytes) => {
                Err(NodeError::answered(Cause::Stray).reused(reused))
            }
            Immediate::Whole(bytes) => {
                // The connection first: whoever gets the slot shall find it.
                self.node.connections.put_back(connection);
                drop(lease);
                let length = Some(bytes.len() as u64);
                let body = AnswerBody::whole(bytes);
                Ok(answer(&head, length, close_delimited, reused, body))
            }
            Immediate::Part(first) => {
                let body = self.stream(connection, body, first, lease, length);
                Ok(answer(&head, length, close_delimited, reused, body))
            }
        }
    }

    fn stream(
        &self,
        connection: Box<Connection>,
        body: Incoming,
        first: VecDeque<Bytes>,
        mut lease: Lease,
        length: Option<u64>,
    ) -> AnswerBody {
        if self.node.builds_before_sending() {
            lease.free_slot();
        }
        let opening = Opening {
            connection,
            body,
            first,
            lease,
            connections: self.node.connections.clone(),
            health: self.node.health.clone(),
            witness: Witness::new(self.query.ids.clone(), self.node.chain().dialect),
            length,
            started: self.started,
        };
        let flow = Flow::new(opening, self.node.flow_limits);
        self.node.flows.add(&flow);
        AnswerBody::streamed(flow)
    }
}

fn answer(
    head: &Parts,
    length: Option<u64>,
    close_delimited: bool,
    reused_connection: bool,
    body: AnswerBody,
) -> Answer {
    Answer { status: head.status, length, close_delimited, reused_connection, body }
}

/// The node's word that it wants other credentials, or none of us.
pub(crate) fn unauthorized(status: StatusCode, text: &[u8]) -> NodeError {
    let refused = NodeError::answered(Cause::Unauthorized);
    match says::refusal(status, text) {
        Some(refusal) => refused.refusing(refusal),
        None => refused.detail(status),
    }
}
