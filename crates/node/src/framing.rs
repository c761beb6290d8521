//! Where the body of a node's answer ends, and its bytes without what HTTP puts between them.
//!
//! Source: RFC 9112, sections 6 and 7.1. Reading bytes is left to `connection`. Invariant: a body is
//! over only where the node said so; what it says beyond is left in the buffer.

use bytes::{Buf, Bytes, BytesMut};
use memchr::memchr;

/// Longest line between chunks, and most bytes of trailers.
const LONGEST_LINE: usize = 8 << 10;
/// Pieces up to so many bytes are copied out of the buffer, which can then be used again. One that
/// is not keeps all of a buffer alive.
const COPIED_BYTES: usize = 8 << 10;

/// How much of a body is still to come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// So many bytes, more than none.
    Length(u64),
    /// Chunks.
    Chunked(Chunk),
    /// Whatever comes until the node hangs up.
    UntilClose,
    /// Nothing.
    Over,
}

/// What comes next of a body in chunks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Chunk {
    /// The size of a chunk.
    Size,
    /// So many bytes of it.
    Data(u64),
    /// The line end after it.
    End,
    /// Lines after the last chunk, of which so many bytes were read.
    Trailers(usize),
}

/// The node breaks off what it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Garbled;

impl Framing {
    /// A body of that many bytes.
    pub(crate) fn of_length(bytes: u64) -> Framing {
        if bytes == 0 { Framing::Over } else { Framing::Length(bytes) }
    }

    /// A body in chunks.
    pub(crate) fn chunked() -> Framing {
        Framing::Chunked(Chunk::Size)
    }

    /// Whether all of the body was taken.
    pub(crate) fn is_over(&self) -> bool {
        *self == Framing::Over
    }

    /// The node hung up with nothing left to take: is that the end of the body?
    pub(crate) fn hung_up(&mut self) -> bool {
        if *self == Framing::UntilClose {
            *self = Framing::Over;
        }
        self.is_over()
    }

    /// Takes the next piece of the body, if some of it is in `buffer`. Small chunks are put together:
    /// a piece costs its reader more than a few bytes.
    pub(crate) fn take(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, Garbled> {
        self.pass_lines(buffer)?;
        let mut here = self.here(buffer);
        if here == 0 {
            return Ok(None);
        }
        if here > COPIED_BYTES {
            let piece = buffer.split_to(here).freeze();
            self.count(here);
            // The end of a body in chunks may be here already.
            self.pass_lines(buffer)?;
            return Ok(Some(piece));
        }
        let mut piece = Vec::from(&buffer[..here]);
        loop {
            buffer.advance(here);
            self.count(here);
            self.pass_lines(buffer)?;
            here = self.here(buffer);
            if here == 0 || piece.len() + here > COPIED_BYTES {
                return Ok(Some(piece.into()));
            }
            piece.extend_from_slice(&buffer[..here]);
        }
    }

    /// Bytes at the front of `buffer` that are the body's.
    fn here(&self, buffer: &BytesMut) -> usize {
        let left = match self {
            Framing::Length(left) | Framing::Chunked(Chunk::Data(left)) => *left,
            Framing::UntilClose => u64::MAX,
            Framing::Chunked(_) | Framing::Over => 0,
        };
        buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX))
    }

    /// So many bytes of the body were taken.
    fn count(&mut self, taken: usize) {
        let taken = taken as u64;
        match self {
            Framing::Length(left) => *self = Framing::of_length(left.saturating_sub(taken)),
            Framing::Chunked(chunk) => match chunk {
                Chunk::Data(left) if *left > taken => *left -= taken,
                _ => *chunk = Chunk::End,
            },
            Framing::UntilClose | Framing::Over => {}
        }
    }

    /// Takes what stands between chunks and after the last one, as far as it is here.
    fn pass_lines(&mut self, buffer: &mut BytesMut) -> Result<(), Garbled> {
        while let Framing::Chunked(chunk) = self
            && !matches!(chunk, Chunk::Data(_))
            && let Some(line) = line(buffer)?
        {
            let text = &buffer[..line - 2];
            let next = match chunk {
                Chunk::Size => match size(text)? {
                    0 => Chunk::Trailers(0),
                    size => Chunk::Data(size),
                },
                Chunk::End if text.is_empty() => Chunk::Size,
                Chunk::Trailers(_) if text.is_empty() => {
                    buffer.advance(line);
                    *self = Framing::Over;
                    return Ok(());
                }
                Chunk::Trailers(read) if *read + line <= LONGEST_LINE => {
                    Chunk::Trailers(*read + line)
                }
                Chunk::End | Chunk::Trailers(_) | Chunk::Data(_) => return Err(Garbled),
            };
            *chunk = next;
            buffer.advance(line);
        }
        Ok(())
    }
}

/// The length of the first line with its end; none if it is not whole yet. A line end of another kind
/// is none, and no part of a line.
fn line(buffer: &[u8]) -> Result<Option<usize>, Garbled> {
    let window = &buffer[..buffer.len().min(LONGEST_LINE)];
    match memchr(b'\n', window) {
        Some(at) if memchr(b'\r', window).is_some_and(|end| end + 1 == at) => Ok(Some(at + 1)),
        None if window.len() < LONGEST_LINE => Ok(None),
        _ => Err(Garbled),
    }
}

/// The size of a chunk, whatever extensions follow it.
fn size(line: &[u8]) -> Result<u64, Garbled> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
    let spaces = digits.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let digits = &digits[..digits.len() - spaces];
    let hex = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).ok().filter(|_| hex).ok_or(Garbled)?;
    u64::from_str_radix(text, 16).map_err(|_| Garbled)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body of `text` as it comes in pieces of that size, and what is left of it.
    fn taken(
        mut framing: Framing,
        text: &[u8],
        piece: usize,
    ) -> Result<(Vec<u8>, Vec<u8>), Garbled> {
        let (mut buffer, mut body) = (BytesMut::new(), Vec::new());
        for part in text.chunks(piece) {
            buffer.extend_from_slice(part);
            while let Some(piece) = framing.take(&mut buffer)? {
                body.extend_from_slice(&piece);
            }
        }
        assert!(framing.is_over() || framing.hung_up(), "{framing:?}");
        Ok((body, buffer.to_vec()))
    }

    #[test]
    fn chunks_are_put_together_however_they_are_cut() {
        let long = "y".repeat(10_000);
        let text = format!(
            "3\r\nabc\r\n2710;a=b;c\r\n{long}\r\n0A \r\n0123456789\r\n0\r\nX: y\r\nZ:\r\n\r\nHTTP"
        );
        for piece in [1, 2, 3, 7, 100, 10_009, 20_000] {
            let (body, rest) = taken(Framing::chunked(), text.as_bytes(), piece).unwrap();
            assert_eq!(body, format!("abc{long}0123456789").as_bytes(), "{piece}");
            assert_eq!(rest, b"HTTP", "{piece}");
        }
    }

    #[test]
    fn chunks_of_a_byte_make_few_pieces() {
        let text = format!("{}0\r\n\r\n", "1\r\nx\r\n".repeat(20_000));
        let (mut framing, mut buffer) = (Framing::chunked(), BytesMut::from(text.as_str()));
        let mut pieces = Vec::new();
        while let Some(piece) = framing.take(&mut buffer).unwrap() {
            pieces.push(piece.len());
        }
        assert!(framing.is_over() && buffer.is_empty());
        assert_eq!((pieces.iter().sum::<usize>(), pieces.len()), (20_000, 3));
    }

    #[test]
    fn end_is_known_with_the_last_piece() {
        let mut framing = Framing::chunked();
        let mut buffer = BytesMut::from("3\r\n[1]\r\n0\r\n\r\n");
        assert_eq!(framing.take(&mut buffer).unwrap().unwrap(), "[1]");
        assert!(framing.is_over() && buffer.is_empty());
        let mut framing = Framing::of_length(2);
        let mut buffer = BytesMut::from("123");
        assert_eq!(framing.take(&mut buffer).unwrap().unwrap(), "12");
        assert!(framing.is_over() && buffer == "3");
        assert_eq!(framing.take(&mut buffer), Ok(None));
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        let trailers = format!("0\r\n{}\r\n", "X: y\r\n".repeat(3000));
        let endless = format!("1;{}", "x".repeat(9000));
        for text in [
            "x\r\n",
            "\r\n",
            "-1\r\n",
            "+1\r\n",
            "1\n1\r\n",
            "1\r\n12\r\n",
            "1\r\n1\n",
            "0x1\r\n",
            "1 1\r\n",
            " 1\r\n",
            "1\r\r\n",
            "1\x0c\r\n",
            "1;a\rb\r\n",
            "1,1\r\n",
            "0\r\nX: y\n\r\n",
            "11111111111111111\r\n",
            &trailers,
            &endless,
        ] {
            let mut buffer = BytesMut::from(text);
            let mut framing = Framing::chunked();
            let outcome = loop {
                match framing.take(&mut buffer) {
                    Ok(Some(_)) => continue,
                    other => break other,
                }
            };
            assert_eq!(outcome, Err(Garbled), "{:?}", &text[..text.len().min(20)]);
        }
    }

    #[test]
    fn end_of_the_connection_ends_what_has_no_other_end() {
        let (body, _) = taken(Framing::UntilClose, b"{}\n", 2).unwrap();
        assert_eq!(body, b"{}\n");
        assert!(!Framing::of_length(1).hung_up() && !Framing::chunked().hung_up());
    }
}
