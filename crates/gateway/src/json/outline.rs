//! The outline of a node's answer: where its top-level items begin and end, frame by frame.
//!
//! It counts brackets and knows strings, no more: numbers, duplicate members and invalid UTF-8 of
//! a node pass by unseen. It tells whether the answer is complete and how many items it holds.

use memchr::memchr2;
use std::ops::Range;

/// The bytes that mean something inside an object, or deep inside an array.
const STRUCTURE: [bool; 256] = {
    let mut structure = [false; 256];
    let mut place = 0;
    while place < 5 {
        structure[b"\"{}[]"[place] as usize] = true;
        place += 1;
    }
    structure
};

/// What a stretch of a frame is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Bytes of the current top-level array item; a range of the frame.
    Item(Range<usize>),
    /// The current item is complete.
    ItemEnd,
    /// The top-level value is complete.
    End,
    /// Bytes after the top-level value; a range of the frame.
    Tail(Range<usize>),
}

/// The kinds of a top-level value that an answer may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing but white space so far.
    Blank,
    /// An object.
    Object,
    /// An array.
    Array,
    /// Anything else: no answer of a node.
    Other,
}

/// The state of the scan between two frames.
#[derive(Debug)]
pub(crate) struct Outline {
    kind: Kind,
    depth: u32,
    in_string: bool,
    escaped: bool,
    in_item: bool,
    done: bool,
    broken: bool,
    items: usize,
}

impl Outline {
    /// Starts before the first byte.
    pub(crate) fn new() -> Outline {
        Outline {
            kind: Kind::Blank,
            depth: 0,
            in_string: false,
            escaped: false,
            in_item: false,
            done: false,
            broken: false,
            items: 0,
        }
    }

    /// The kind of the top-level value.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// How many complete items the top-level array has shown so far.
    pub(crate) fn items(&self) -> usize {
        self.items
    }

    /// Was the whole of one object or array seen, and nothing but white space after it?
    pub(crate) fn is_complete(&self) -> bool {
        self.done && !self.broken
    }

    /// Reads on, without asking for the pieces.
    pub(crate) fn feed(&mut self, frame: &[u8]) {
        self.pieces(frame, |_| ());
    }

    /// Reads on and tells every piece in order. Separators and brackets of the top level are not told.
    pub(crate) fn pieces(&mut self, frame: &[u8], mut tell: impl FnMut(Piece)) {
        let mut at = 0;
        let mut item_start = 0;
        while at < frame.len() {
            if self.done {
                self.broken |= !frame[at..].iter().all(u8::is_ascii_whitespace);
                tell(Piece::Tail(at..frame.len()));
                return;
            }
            if self.in_string {
                at = self.string(frame, at);
            } else {
                if self.kind == Kind::Object || self.depth > 1 {
                    at += frame[at..].iter().take_while(|byte| !STRUCTURE[**byte as usize]).count();
                }
                let Some(&byte) = frame.get(at) else { break };
                if self.begins_item(byte) {
                    self.in_item = true;
                    item_start = at;
                }
                let item_over = self.structure(byte);
                at += 1;
                if item_over {
                    // A scalar item ends before the byte that ends it, a bracketed one after.
                    let end = if matches!(byte, b'}' | b']') && self.depth == 1 && !self.done {
                        at
                    } else {
                        at - 1
                    };
                    tell(Piece::Item(item_start..end));
                    tell(Piece::ItemEnd);
                }
                if self.done {
                    tell(Piece::End);
                }
                continue;
            }
        }
        if self.in_item && item_start < at {
            tell(Piece::Item(item_start..at));
        }
    }

    /// Does `byte`, outside strings, begin an item of the top-level array?
    fn begins_item(&self, byte: u8) -> bool {
        self.kind == Kind::Array
            && self.depth == 1
            && !self.in_item
            && !matches!(byte, b',' | b']' | b' ' | b'\n' | b'\r' | b'\t')
    }

    /// Takes one byte outside strings; true if the current item ends with or before it.
    fn structure(&mut self, byte: u8) -> bool {
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => {
                if self.depth == 0 {
                    self.kind = if byte == b'{' { Kind::Object } else { Kind::Array };
                }
                self.depth += 1;
            }
            b'}' | b']' => return self.close(),
            b',' | b' ' | b'\n' | b'\r' | b'\t' if self.depth == 1 => return self.end_item(),
            _ if self.depth == 0 && !byte.is_ascii_whitespace() => self.refuse(),
            _ => (),
        }
        if self.depth == 0 && byte == b'"' {
            self.refuse();
        }
        false
    }

    fn close(&mut self) -> bool {
        if self.depth == 0 {
            self.refuse();
            return false;
        }
        let scalar_over = self.depth == 1 && self.end_item();
        self.depth -= 1;
        self.done = self.depth == 0;
        scalar_over || (self.depth == 1 && self.end_item())
    }

    fn end_item(&mut self) -> bool {
        let over = self.in_item;
        self.items += usize::from(over);
        self.in_item = false;
        over
    }

    fn refuse(&mut self) {
        self.kind = Kind::Other;
        self.done = true;
        self.broken = true;
    }

    /// Reads on inside a string from `at`; returns where to go on.
    fn string(&mut self, frame: &[u8], mut at: usize) -> usize {
        if self.escaped {
            self.escaped = false;
            at += 1;
        }
        while at < frame.len() {
            let Some(found) = memchr2(b'"', b'\\', &frame[at..]) else { return frame.len() };
            at += found + 1;
            if frame[at - 1] == b'"' {
                self.in_string = false;
                return at;
            }
            if at == frame.len() {
                self.escaped = true;
                return at;
            }
            at += 1;
        }
        at
    }
}

#[cfg(test)]
mod tests;
