//! A body in pieces, so that a large recorded result is sent without a copy.
//!
//! Invariant: the pieces in their order are the body.

use bytes::Bytes;

/// A body in pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Chunks(Vec<Bytes>);

impl Chunks {
    /// A body of one fixed text.
    pub(crate) fn fixed(text: &'static str) -> Chunks {
        Chunks(vec![Bytes::from_static(text.as_bytes())])
    }

    /// Appends a fixed text.
    pub(crate) fn text(mut self, text: &'static str) -> Chunks {
        self.0.push(Bytes::from_static(text.as_bytes()));
        self
    }

    /// Appends shared bytes.
    pub(crate) fn shared(mut self, bytes: Bytes) -> Chunks {
        self.0.push(bytes);
        self
    }

    /// Appends an own text.
    pub(crate) fn own(self, text: impl Into<String>) -> Chunks {
        self.shared(Bytes::from(text.into()))
    }

    /// Puts `open` before the bodies, `,` between them, `close` behind them.
    pub(crate) fn joined(bodies: Vec<Chunks>, open: &'static str, close: &'static str) -> Chunks {
        let mut all = Chunks::fixed(open);
        for (n, body) in bodies.into_iter().enumerate() {
            if n > 0 {
                all = all.text(",");
            }
            all.0.extend(body.0);
        }
        all.text(close)
    }

    /// Length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    /// All of it in one piece.
    pub(crate) fn whole(mut self) -> Bytes {
        match self.0.len() {
            1 => self.0.remove(0),
            _ => self.0.concat().into(),
        }
    }

    /// The pieces.
    pub(crate) fn pieces(&self) -> &[Bytes] {
        &self.0
    }
}
