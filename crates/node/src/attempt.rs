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
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, StatusCode};

use crate::answer_head::AnswerHead;
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
    path: PathAndQuery,
    body: Bytes,
    /// What the answer must bear.
    ids: Ids,
}

impl Query {
    /// A body for `path`.
    pub(crate) fn post(path: PathAndQuery, body: Bytes, ids: Ids) -> Query {
        Query { verb: Method::POST, path, body, ids }
    }

    /// What there is at `path`.
    pub(crate) fn get(path: PathAndQuery) -> Query {
        Query { verb: Method::GET, path, body: Bytes::new(), ids: Ids::None }
    }

    fn has_body(&self) -> bool {
        self.verb == Method::POST
    }
}

/// What an attempt went through so far.
struct Attempt<'a> {
    node: &'a Node,
    query: &'a Query,
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
        query: &Query,
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
        let mut connection = self.connections.one(started).await?;
        loop {
            let generation = attempt.write(&mut connection);
            match connection.exchange(attempt.deadline).await {
                Ok(head) if head.status == StatusCode::UNAUTHORIZED => {
                    let refused = attempt.refused(connection, head, generation);
                    connection = Box::pin(refused).await?;
                }
                // A path that is got may be closed to us while calls are open.
                Ok(head) if head.status == StatusCode::FORBIDDEN && attempt.query.has_body() => {
                    return Err(Box::pin(attempt.forbidden(connection, head)).await);
                }
                Ok(head) => return attempt.answered(connection, head, lease),
                // Closed by the node while it was idle, before we wrote a byte.
                Err(error) if error.sent == Sent::Nothing && error.reused_connection => {
                    connection = self.connections.one(Instant::now()).await?;
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
    /// Makes the request ready, with the credentials of that generation. The head is written as
    /// bytes: it is the same for all calls, but for a length and what answers a challenge.
    fn write(&self, connection: &mut Connection) -> u64 {
        let generation = self.node.credentials.generation();
        let presented = self.node.credentials.presented();
        let query = self.query;
        let session = connection.digest.as_mut().zip(presented.digest.as_ref());
        let path = query.path.path();
        let digest = session.map(|(it, login)| it.authorize(login, query.verb.as_str(), path));
        let head = connection.outgoing().begin(query.body.clone());
        let line = [query.verb.as_str(), " ", query.path.as_str(), " HTTP/1.1\r\n"];
        line.iter().for_each(|part| head.extend_from_slice(part.as_bytes()));
        head.extend_from_slice(&presented.lines);
        if let Some(value) = digest {
            head.extend_from_slice(b"authorization: ");
            head.extend_from_slice(value.as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        if query.has_body() {
            head.extend_from_slice(b"content-type: application/json\r\ncontent-length: ");
            head.extend_from_slice(itoa::Buffer::new().format(query.body.len()).as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"\r\n");
        connection.outgoing().seal();
        generation
    }

    /// What to do about a 401: answer the challenge, or use a cookie that was written since.
    /// Gives the connection for the next request.
    async fn refused(
        &mut self,
        connection: Box<Connection>,
        head: AnswerHead,
        generation: u64,
    ) -> Result<Box<Connection>, NodeError> {
        let reused = connection.is_reused();
        let (connection, text) = self.drain(connection).await;
        let session = self.next_credentials(&head.challenges, generation);
        let session = session.ok_or_else(|| unauthorized(head.status, &text).reused(reused))?;
        let mut connection = match connection {
            Some(connection) => connection,
            None => self.node.connections.one(Instant::now()).await?,
        };
        connection.digest = session.or(connection.digest.take());
        Ok(connection)
    }

    async fn forbidden(&self, connection: Box<Connection>, head: AnswerHead) -> NodeError {
        let reused = connection.is_reused();
        let (connection, text) = self.drain(connection).await;
        connection.into_iter().for_each(|connection| self.node.connections.put_back(connection));
        unauthorized(head.status, &text).reused(reused)
    }

    /// `None`: nothing new can be presented. `Some(None)`: the header of the files as they are now.
    fn next_credentials(
        &mut self,
        challenges: &HeaderMap,
        generation: u64,
    ) -> Option<Option<Session>> {
        let credentials = &self.node.credentials;
        let answers_challenges = credentials.presented().digest.is_some();
        let session = answers_challenges.then(|| Session::from_challenge(challenges)).flatten();
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
    async fn drain(&self, mut connection: Box<Connection>) -> (Option<Box<Connection>>, Vec<u8>) {
        let (mut left, mut text) = (LONGEST_REFUSAL, Vec::new());
        let reading = async {
            loop {
                match poll_fn(|cx| connection.poll_data(cx)).await {
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
        head: AnswerHead,
        lease: Lease,
    ) -> Result<Answer, NodeError> {
        let reused = connection.is_reused();
        if head.length.is_some_and(|length| length > self.node.flow_limits.response) {
            return Err(NodeError::answered(Cause::TooLarge).reused(reused));
        }
        match connection.read_immediate() {
            Immediate::Broken(error) => {
                Err(NodeError::answered(Cause::Broken).detail(error).reused(reused))
            }
            Immediate::Whole(bytes) if bytes.len() as u64 > self.node.flow_limits.response => {
                Err(NodeError::answered(Cause::TooLarge).reused(reused))
            }
            Immediate::Whole(bytes) if !self.query.ids.fit(self.node.chain().dialect, &bytes) => {
                Err(NodeError::answered(Cause::Stray).reused(reused))
            }
            Immediate::Whole(bytes) => {
                // The connection first: whoever gets the slot shall find it.
                self.node.connections.put_back(connection);
                drop(lease);
                let length = Some(bytes.len() as u64);
                Ok(answer(&head, length, reused, AnswerBody::whole(bytes)))
            }
            Immediate::Part(first) => {
                let body = self.stream(connection, first, lease, head.length);
                Ok(answer(&head, head.length, reused, body))
            }
        }
    }

    fn stream(
        &self,
        connection: Box<Connection>,
        first: VecDeque<Bytes>,
        mut lease: Lease,
        length: Option<u64>,
    ) -> AnswerBody {
        if self.node.builds_before_sending() {
            lease.free_slot();
        }
        let opening = Opening {
            connection,
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
    head: &AnswerHead,
    length: Option<u64>,
    reused_connection: bool,
    body: AnswerBody,
) -> Answer {
    let AnswerHead { status, close_delimited, .. } = *head;
    Answer { status, length, close_delimited, reused_connection, body }
}

/// The node's word that it wants other credentials, or none of us.
pub(crate) fn unauthorized(status: StatusCode, text: &[u8]) -> NodeError {
    let refused = NodeError::answered(Cause::Unauthorized);
    match says::refusal(status, text) {
        Some(refusal) => refused.refusing(refusal),
        None => refused.detail(status),
    }
}
