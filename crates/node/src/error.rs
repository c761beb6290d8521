//! Why there is no answer of a node, whose fault it was and whether it is safe to ask again.
//!
//! A node's own error answer is no error here: it is an answer. Turning causes into refusals is
//! left to the services. Invariant: no text holds a credential, a path or a body.

use std::fmt;
use std::path::PathBuf;

use http::StatusCode;
use serde::Deserialize;

use crate::says::Refusal;

/// Why an attempt gave no answer, or only a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// No connection: name look-up, refused, or not within the time limit.
    Connect,
    /// The TLS handshake failed, or the certificate is not trusted.
    Tls,
    /// No head of an answer in time.
    TimedOutFirstByte,
    /// The answer did not end in time.
    TimedOutWhole,
    /// The connection died.
    Broken,
    /// The answer is larger than the limit.
    TooLarge,
    /// Every slot stayed taken.
    Busy,
    /// The node refused us: our credentials (401), our address or its host name (403).
    Unauthorized,
    /// The reader of the answer was too slow while others waited.
    SlowReader,
    /// What came is not HTTP/1.
    Malformed,
    /// What came is the answer to another call: its id is not the one that was sent.
    Stray,
}

/// Whether the node may have seen the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sent {
    /// Not a byte was written.
    Nothing,
    /// Something was written.
    Maybe,
}

/// A failed attempt.
#[derive(Clone, Debug)]
pub struct NodeError {
    /// What went wrong.
    pub cause: Cause,
    /// Whether a call that must not run twice may be sent again.
    pub sent: Sent,
    /// A byte of an answer came.
    pub got_bytes: bool,
    /// The connection had served earlier calls: it may have died of old age.
    pub reused_connection: bool,
    /// What the node gave to understand about us.
    pub(crate) refusal: Option<Refusal>,
    detail: Option<Box<str>>,
}

impl NodeError {
    pub(crate) fn new(cause: Cause, sent: Sent) -> NodeError {
        NodeError {
            cause,
            sent,
            got_bytes: false,
            reused_connection: false,
            refusal: None,
            detail: None,
        }
    }

    /// An error of a request that was not sent.
    pub(crate) fn unsent(cause: Cause, detail: impl fmt::Display) -> NodeError {
        NodeError::new(cause, Sent::Nothing).detail(detail)
    }

    /// An error after a byte of an answer came.
    pub(crate) fn answered(cause: Cause) -> NodeError {
        NodeError::new(cause, Sent::Maybe).got_bytes(true)
    }

    /// With what the node gave to understand.
    pub(crate) fn refusing(self, refusal: Refusal) -> NodeError {
        NodeError { refusal: Some(refusal), ..self }.detail(refusal)
    }

    pub(crate) fn detail(self, detail: impl fmt::Display) -> NodeError {
        NodeError { detail: Some(detail.to_string().into()), ..self }
    }

    pub(crate) fn got_bytes(self, got_bytes: bool) -> NodeError {
        NodeError { got_bytes, ..self }
    }

    pub(crate) fn reused(self, reused_connection: bool) -> NodeError {
        NodeError { reused_connection, ..self }
    }

    /// Whether the failure speaks against the node rather than against the call or its reader.
    pub(crate) fn blames_node(&self) -> bool {
        match self.cause {
            Cause::Connect | Cause::Tls | Cause::TimedOutFirstByte | Cause::TimedOutWhole => true,
            // A connection that died while it was idle says nothing about the node.
            Cause::Broken => !self.reused_connection || self.got_bytes,
            Cause::Unauthorized | Cause::Malformed | Cause::Stray => true,
            Cause::TooLarge | Cause::Busy | Cause::SlowReader => false,
        }
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.cause {
            Cause::Connect => "cannot connect to the node",
            Cause::Tls => "TLS with the node failed",
            Cause::TimedOutFirstByte => "the node did not begin to answer in time",
            Cause::TimedOutWhole => "the answer did not end in time",
            Cause::Broken => "the connection to the node broke",
            Cause::TooLarge => "the answer is too large",
            Cause::Busy => "the node has no free slot",
            Cause::Unauthorized => "the node refuses us",
            Cause::SlowReader => "the answer was read too slowly while others waited",
            Cause::Malformed => "the node did not answer in HTTP/1",
            Cause::Stray => "the node sent the answer to another call",
        })?;
        match &self.detail {
            Some(detail) => write!(f, ": {detail}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for NodeError {}

/// No slot of the node became free in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the node has no free slot")]
pub struct Busy;

impl From<Busy> for NodeError {
    fn from(busy: Busy) -> NodeError {
        NodeError::unsent(Cause::Busy, busy)
    }
}

/// Why no node can be picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// Every node that is left is syncing or warming up.
    #[error("every node is syncing")]
    Syncing,
    /// There is no node of the right chain.
    #[error("no node is available")]
    Unavailable,
    /// Every usable node was tried.
    #[error("every usable node was tried")]
    NoneLeft,
}

/// Why a call of our own gave no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No answer.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// No slot.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The node answered an error, as [`RpcError`] says it too.
    #[error("the node answered error {code}: {message}")]
    Rpc {
        /// The node's code.
        code: i64,
        /// The node's text.
        message: String,
    },
    /// The answer is not what the call should give.
    #[error("the node answered {status} with something else than a JSON-RPC answer")]
    Shape {
        /// HTTP status of the answer.
        status: StatusCode,
    },
}

/// An error that a node answered to one call of a batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Deserialize)]
#[error("the node answered error {code}: {message}")]
pub struct RpcError {
    /// The node's code.
    pub code: i64,
    /// The node's text.
    #[serde(default)]
    pub message: String,
}

impl From<RpcError> for CallError {
    fn from(RpcError { code, message }: RpcError) -> CallError {
        CallError::Rpc { code, message }
    }
}

/// Why a pool cannot be made of a configuration.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// The list of nodes is empty.
    #[error("no node is configured")]
    NoNodes,
    /// The address of a node cannot be used.
    #[error("node {index}: url {problem}")]
    Url {
        /// Place in the list, from 0.
        index: usize,
        /// What is wrong with it; never the URL itself.
        problem: &'static str,
    },
    /// Settings of a node contradict each other or lack something.
    #[error("node {index}: {problem}")]
    Setting {
        /// Place in the list, from 0.
        index: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// A file of a node cannot be used.
    #[error("node {index}: {}: {problem}", path.display())]
    File {
        /// Place in the list, from 0.
        index: usize,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}
