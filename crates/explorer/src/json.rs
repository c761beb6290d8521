//! The edge of JSON: public types of answers become bytes.
//!
//! Invariant: a view always can, since its keys are text and its numbers finite.

use bytes::Bytes;
use serde::Serialize;

/// Bytes that most views take. Memory that has to grow is copied, and cleared by the kernel.
const USUAL: usize = 512;

/// A view as a body.
pub(crate) fn json(view: &impl Serialize) -> Bytes {
    written(view, USUAL)
}

/// A view that may be long.
pub(crate) trait Length: Serialize {
    /// About so many bytes it takes.
    fn length(&self) -> usize;
}

/// Such a view as a body.
pub(crate) fn long(view: &impl Length) -> Bytes {
    written(view, view.length())
}

fn written(view: &impl Serialize, length: usize) -> Bytes {
    let mut out = Vec::with_capacity(length);
    put(&mut out, view);
    out.into()
}

/// Puts a view behind what is there.
pub(crate) fn put(out: &mut Vec<u8>, view: &impl Serialize) {
    serde_json::to_writer(out, view).expect("views have text keys and finite numbers");
}

/// Puts a comma between the items of a list.
pub(crate) fn separate(out: &mut Vec<u8>, is_after_another: bool) {
    if is_after_another {
        out.push(b',');
    }
}
