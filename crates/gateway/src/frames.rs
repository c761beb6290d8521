//! Pieces of an answer that wait to be passed on.
//!
//! Nearly always there is one, which takes no allocation.

use std::collections::VecDeque;

use bytes::Bytes;

/// Pieces in order. `rest` is empty where there is no first one.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    first: Option<Bytes>,
    rest: VecDeque<Bytes>,
}

impl Frames {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    /// Is there none?
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Bytes of all of them.
    pub(crate) fn bytes(&self) -> u64 {
        self.iter().map(|frame| frame.len() as u64).sum()
    }

    /// The pieces in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Bytes> {
        self.first.iter().chain(&self.rest)
    }

    /// Puts one behind all others.
    pub(crate) fn push_back(&mut self, frame: Bytes) {
        match self.first {
            None => self.first = Some(frame),
            Some(_) => self.rest.push_back(frame),
        }
    }

    /// Puts one before all others.
    pub(crate) fn push_front(&mut self, frame: Bytes) {
        if let Some(second) = self.first.replace(frame) {
            self.rest.push_front(second);
        }
    }

    /// Takes the first one.
    pub(crate) fn pop_front(&mut self) -> Option<Bytes> {
        let first = self.first.take()?;
        self.first = self.rest.pop_front();
        Some(first)
    }

    /// Drops all of them.
    pub(crate) fn clear(&mut self) {
        *self = Frames::default();
    }
}

impl From<Bytes> for Frames {
    fn from(frame: Bytes) -> Frames {
        Frames { first: Some(frame), rest: VecDeque::new() }
    }
}

impl FromIterator<Bytes> for Frames {
    fn from_iter<I: IntoIterator<Item = Bytes>>(frames: I) -> Frames {
        let mut all = Frames::default();
        frames.into_iter().for_each(|frame| all.push_back(frame));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_keep_their_order() {
        let mut frames: Frames = ["b", "c"].map(Bytes::from).into_iter().collect();
        frames.push_front(Bytes::from("a"));
        frames.push_back(Bytes::from("dd"));
        assert_eq!((frames.len(), frames.bytes()), (4, 5));
        let mut taken = Vec::new();
        while let Some(frame) = frames.pop_front() {
            taken.push(frame);
        }
        assert_eq!(taken, ["a", "b", "c", "dd"]);
        assert!(frames.is_empty());
    }
}
