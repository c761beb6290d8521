//! Talks to full nodes: transport, credentials, connections, slots, health, for each dialect.
//!
//! A [`Pool`] is the nodes of one chain. [`Pool::pick`] chooses a [`Node`], [`Node::lease`] waits
//! for a slot of it, [`Node::send`] makes one attempt; the [`Answer`] passes the node's bytes on
//! untouched. Whether to try again, and what to tell a customer, is left to the services.
//! Invariants: no credential is ever shown, nothing is sent without a slot, and nothing of which a
//! byte may have reached a node is sent again.

#![warn(unreachable_pub)]

mod address;
mod answer;
mod answer_head;
mod attempt;
mod bounds;
mod call;
mod choice;
mod complaints;
mod config;
mod connection;
mod connections;
mod credentials;
mod digest;
mod epee;
mod error;
mod flow;
mod framing;
mod gate;
mod health;
mod ids;
mod inspect;
mod members;
mod news;
mod node;
mod open_connection;
mod optional_route;
mod outgoing;
mod pool;
mod probe;
mod rest;
mod says;
mod secret;
mod send;
mod spans;
mod state;
mod state_lines;
mod stream;
mod tls;
mod websocket;
mod witness;
mod zmq;

pub use answer::{Answer, AnswerBody};
pub use call::takes_batches;
pub use choice::Tried;
pub use config::{Auth, Ejection, NodeConfig, PoolConfig, Timeouts};
pub use error::{Busy, CallError, Cause, NodeError, PoolError, RpcError, Sent, Unusable};
pub use gate::{Lease, Weight};
pub use health::Verdict;
pub use ids::{CallId, Ids};
pub use inspect::{Disagreement, Inspection, Offer, disagreements, inspect};
pub use node::{Node, Route};
pub use pool::{Pool, Renewed};
pub use says::says_busy;
pub use secret::Secret;
pub use spans::{Span, SpanBlock};
pub use state::NodeState;
