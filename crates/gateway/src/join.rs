//! Joins a node's batch answer with the refusals and remembered answers of the elements it never saw, frame by frame.
//!
//! Items of the node stay as they are, byte for byte; only brackets and commas of the top level
//! are written anew (decision G8).

use std::collections::VecDeque;

use bytes::Bytes;

use crate::frames::Frames;
use crate::json::{Outline, Piece};

/// One item of the joined array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// The next item of the node's array.
    Node,
    /// A refusal, or an answer that is remembered.
    Made(Bytes),
}

/// The state between two frames.
#[derive(Debug)]
pub(crate) struct Join {
    places: VecDeque<Item>,
    opened: bool,
    in_item: bool,
    surplus: bool,
}

impl Join {
    /// Joins in the order of `places`.
    pub(crate) fn new(places: impl IntoIterator<Item = Item>) -> Join {
        Join { places: places.into_iter().collect(), opened: false, in_item: false, surplus: false }
    }

    /// Passes one frame of the node's answer on to `out`.
    pub(crate) fn pass(&mut self, frame: &Bytes, outline: &mut Outline, out: &mut Frames) {
        outline.pieces(frame, |piece| match piece {
            Piece::Item(range) => {
                if !self.in_item {
                    self.begin_item(out);
                }
                out.push_back(frame.slice(range));
            }
            Piece::ItemEnd => self.in_item = false,
            Piece::End => self.close(out),
            Piece::Tail(range) => out.push_back(frame.slice(range)),
        });
    }

    /// Writes the whole array where the node had nothing to answer.
    pub(crate) fn without_node(mut self, out: &mut Frames) {
        self.close(out);
    }

    /// Did the node give exactly the items that were expected?
    pub(crate) fn is_even(&self) -> bool {
        self.places.is_empty() && !self.surplus
    }

    fn begin_item(&mut self, out: &mut Frames) {
        self.made_here(out);
        self.surplus |= self.places.pop_front().is_none();
        self.separate(out);
        self.in_item = true;
    }

    fn close(&mut self, out: &mut Frames) {
        self.made_here(out);
        out.push_back(Bytes::from_static(if self.opened { b"]" } else { b"[]" }));
    }

    /// Writes what was made here and comes before the next item of the node.
    fn made_here(&mut self, out: &mut Frames) {
        while let Some(Item::Made(body)) = self.places.pop_front_if(|place| *place != Item::Node) {
            self.separate(out);
            out.push_back(body);
        }
    }

    fn separate(&mut self, out: &mut Frames) {
        out.push_back(Bytes::from_static(if self.opened { b"," } else { b"[" }));
        self.opened = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(places: &[Option<&str>], answer: &[&str]) -> (String, bool) {
        let places = places.iter().map(|place| match place {
            None => Item::Node,
            Some(body) => Item::Made(Bytes::copy_from_slice(body.as_bytes())),
        });
        let (mut join, mut outline, mut out) =
            (Join::new(places), Outline::new(), Frames::default());
        for frame in answer {
            join.pass(&Bytes::copy_from_slice(frame.as_bytes()), &mut outline, &mut out);
        }
        let text = out.iter().map(|part| std::str::from_utf8(part).unwrap()).collect();
        (text, join.is_even() && outline.is_complete())
    }

    #[test]
    fn refusals_take_their_places() {
        type Case<'a> = (&'a [Option<&'a str>], &'a [&'a str], &'a str);
        let cases: [Case<'_>; 5] = [
            (
                &[None, Some("R"), None],
                &["[{\"a\":1}, {\"b\":[2]} ]\n"],
                "[{\"a\":1},R,{\"b\":[2]}]\n",
            ),
            (&[Some("R"), Some("S"), None], &["[ {\"a\":", "\"]\"}", "]"], "[R,S,{\"a\":\"]\"}]"),
            (&[None, Some("R")], &["[1", "2]"], "[12,R]"),
            (&[None, None], &["[{},{}]"], "[{},{}]"),
            (&[Some("R")], &["[]\n"], "[R]\n"),
        ];
        for (places, answer, expected) in cases {
            assert_eq!(join(places, answer), (expected.to_owned(), true));
        }
    }

    #[test]
    fn wrong_counts_are_seen() {
        for (places, answer) in [
            (&[None, Some("R")][..], "[]"),
            (&[None][..], "[1,2]"),
            (&[Some("R")][..], "[1]"),
            (&[None, None][..], "[1]"),
            (&[None][..], "[1"),
        ] {
            assert!(!join(places, &[answer]).1, "{answer}");
        }
    }

    #[test]
    fn refusals_alone_make_an_array() {
        let mut out = Frames::default();
        Join::new([Item::Made("R".into()), Item::Made("S".into())]).without_node(&mut out);
        assert_eq!(out.iter().flatten().copied().collect::<Vec<u8>>(), b"[R,S]");
    }
}
