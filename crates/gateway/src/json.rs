//! JSON as bytes: a strict scanner for what clients send, a structural one for what nodes answer.
//!
//! Neither builds a value. What a number or a string means is left to the node; what is kept here
//! is where things begin and end, so that bytes can be passed on as they came.

mod outline;
mod scan;
mod text;

pub(crate) use outline::{Kind, Outline, Piece};
pub(crate) use scan::{Scan, Unreadable};
pub(crate) use text::{folded_equals, unescape};
