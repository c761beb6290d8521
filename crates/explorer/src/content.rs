//! What a handler answers: bytes that are whole, or pieces that are made as the client reads.
//!
//! A long answer is made twice: once to know its length and its tag, which stand in the head, and
//! once to be sent. Leaves what a piece holds to the handlers. Invariant: of a long answer one
//! piece at a time is in memory, and both times they are the same, because they come from one view.

use bytes::Bytes;
use xxhash_rust::xxh3::Xxh3;

use crate::fail::Fail;
use crate::reads::Reads;
use crate::refusal::Refusal;

/// An answer of more bytes is made in pieces, each of which has about so many.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// Makes an answer piece by piece.
pub(crate) trait Pieces: Send {
    /// The next piece, never empty; none behind the last.
    fn next(&mut self) -> Result<Option<Vec<u8>>, Fail>;

    /// Begins anew.
    fn restart(&mut self);

    /// Bytes that it holds besides the pieces.
    fn held_bytes(&self) -> usize;
}

/// An answer.
pub(crate) enum Content {
    /// Its bytes.
    Whole(Bytes),
    /// What makes them.
    Long(Long),
}

/// An answer that was made once, to be measured.
pub(crate) struct Long {
    pub(crate) pieces: Box<dyn Pieces>,
    /// Bytes of all pieces.
    pub(crate) length: u64,
    /// What the tag is made of.
    pub(crate) hash: u64,
    /// Bytes of the largest piece.
    largest: usize,
}

impl Long {
    /// Bytes of memory that it takes while it is sent: a piece with the socket and the next one.
    fn room(&self) -> u64 {
        (self.pieces.held_bytes() + 2 * self.largest) as u64
    }
}

impl Content {
    /// Bytes of memory that it takes while it is sent.
    pub(crate) fn room(&self) -> u64 {
        match self {
            Content::Whole(body) => body.len() as u64,
            Content::Long(long) => long.room(),
        }
    }
}

impl From<Bytes> for Content {
    fn from(bytes: Bytes) -> Content {
        Content::Whole(bytes)
    }
}

/// What the first pieces have shown.
pub(crate) enum Begun {
    Whole(Bytes),
    Long(Box<dyn Pieces>),
}

/// Makes an answer, as far as it is whole in one piece.
pub(crate) fn begin(mut pieces: Box<dyn Pieces>) -> Result<Begun, Fail> {
    let mut whole = Vec::new();
    while let Some(piece) = pieces.next()? {
        // Most answers are one piece, which is not copied.
        match whole.is_empty() {
            true => whole = piece,
            false => whole.extend_from_slice(&piece),
        }
        if whole.len() > PIECE_BYTES {
            pieces.restart();
            return Ok(Begun::Long(pieces));
        }
    }
    Ok(Begun::Whole(whole.into()))
}

/// Measures a long answer. Each piece waits for its turn, so that accounts share the work.
pub(crate) async fn measure(
    mut pieces: Box<dyn Pieces>,
    reads: &Reads,
    account: u64,
) -> Result<Result<Long, Fail>, Refusal> {
    let mut hasher = Xxh3::new();
    let (mut length, mut largest) = (0, 0);
    loop {
        let made = move || {
            let piece = pieces.next();
            (pieces, piece)
        };
        let (back, piece) = reads.run_long(account, made).await?;
        pieces = back;
        match piece {
            Err(fail) => return Ok(Err(fail)),
            Ok(Some(piece)) => {
                hasher.update(&piece);
                length += piece.len() as u64;
                largest = largest.max(piece.len());
            }
            Ok(None) => {
                pieces.restart();
                return Ok(Ok(Long { pieces, length, hash: hasher.digest(), largest }));
            }
        }
    }
}
