//! `POST /v1/rpc/{chain}`: one function runs every check from top to bottom, and the node's bytes
//! pass untouched.
//!
//! A request walks straight: `gateway` holds what a process has, `rpc` takes the request through
//! the checks in their order, `handler` admits its calls, `recall` looks whether
//! the answer is known, `forward` brings the call to a node and its answer back, `body`
//! passes it to the client. What a refusal says stands in one table, in `refusal`.
//!
//! Absent on purpose: no decoding of `params` or of answers, no accounting but through the meter's
//! `admit` and its permit, no resend but in `forward`.

#![warn(unreachable_pub)]

mod answer;
mod batch;
mod body;
mod cache;
mod call;
mod coding;
mod envelope;
mod failure;
mod forward;
mod frames;
mod gateway;
mod guard;
mod handler;
mod head;
mod heavy_work;
mod intake;
mod join;
mod json;
mod load;
mod metrics;
mod outcome;
mod recall;
mod refusal;
mod route;
mod rpc;
mod serve;
mod settings;
mod split;

/// The parser of request bodies and the outline of answers, for the benchmark alone.
#[doc(hidden)]
pub mod bench {
    /// Watches an answer that comes in frames; says whether it is whole.
    pub fn is_whole<'a>(frames: impl Iterator<Item = &'a [u8]>) -> bool {
        let mut outline = crate::json::Outline::new();
        frames.for_each(|frame| outline.feed(frame));
        outline.is_complete()
    }

    /// Reads a body and returns how many calls it holds, or None if it cannot be read.
    pub fn calls(text: &[u8]) -> Option<usize> {
        match crate::envelope::read(text, 1000).ok()? {
            crate::envelope::Posted::One(envelope) => Some(usize::from(envelope.flaw.is_none())),
            crate::envelope::Posted::Batch { elements, .. } => {
                Some(elements.iter().filter(|element| element.flaw.is_none()).count())
            }
            crate::envelope::Posted::Neither => Some(0),
        }
    }
}

pub use body::{Body, BodyError};
pub use gateway::{ChainService, Gateway, Remember};
pub use metrics::Metrics;
pub use refusal::{Reason, Row};
pub use settings::{Refusals, Settings};
