//! How a request ends: an answer or a refusal, on its way out with what it holds.

use bytes::Bytes;
use meter::Remains;

use crate::body::{Body, Hold};
use crate::metrics::Recalled;
use crate::refusal::{Echo, Refusal};

/// A refusal on its way out, with what it holds.
pub(crate) struct Refused {
    pub(crate) refusal: Refusal,
    pub(crate) body: Bytes,
    pub(crate) hold: Box<Hold>,
    /// Is it about a single call, which was read?
    pub(crate) of_call: bool,
}

/// An answer on its way out.
pub(crate) struct Answered {
    pub(crate) body: Body,
    pub(crate) remains: Remains,
    /// How it came, if not from a node.
    pub(crate) recalled: Option<Recalled>,
}

impl Refused {
    pub(crate) fn saying(refusal: Refusal, echo: Echo<'_>) -> Refused {
        let body = refusal.body(echo);
        Refused { refusal, body, hold: Box::default(), of_call: false }
    }
}

impl<R: Into<Refusal>> From<R> for Refused {
    fn from(refusal: R) -> Refused {
        Refused::saying(refusal.into(), Echo::default())
    }
}
