//! Compressed request bodies.
//!
//! A few bytes can claim to be much work, so what is written is claimed piece by piece, and a body
//! that is read without anything being written ends soon. Invariant: the work for one body is
//! bounded by the largest body that is allowed, whatever the bytes say.

use std::cell::Cell;
use std::io::{self, BufRead, Read};

use bytes::Bytes;
use flate2::bufread::{GzDecoder, ZlibDecoder};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;

use crate::load::Buffered;
use crate::refusal::{Reason, Refusal};

/// Members of one gzip body. Programs that write several, write a member a file or a thread.
const MOST_MEMBERS: usize = 64;
/// How far what was read may be ahead of what was written, in bytes. No compressor makes a text
/// longer by so much.
const WASTE_BYTES: usize = 64 << 10;
/// Bytes that are read or written in one step.
const STEP_BYTES: usize = 16 << 10;

/// How a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Plain,
    Gzip,
    Deflate,
}

impl Coding {
    /// The coding that a request says.
    ///
    /// # Errors
    /// INVALID_REQUEST for one that is not read here.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Coding, Refusal> {
        let unknown = || {
            Refusal::saying(
                Reason::InvalidRequest,
                "unknown Content-Encoding: gzip and deflate are read",
            )
        };
        let mut values = headers.get_all(CONTENT_ENCODING).iter();
        let Some(value) = values.next() else { return Ok(Coding::Plain) };
        if values.next().is_some() {
            return Err(unknown());
        }
        match value.as_bytes().to_ascii_lowercase().as_slice() {
            b"" | b"identity" => Ok(Coding::Plain),
            b"gzip" | b"x-gzip" => Ok(Coding::Gzip),
            b"deflate" => Ok(Coding::Deflate),
            _ => Err(unknown()),
        }
    }

    /// Undoes the compression; `most` bytes may come of it, each claimed from `buffered` before it
    /// is kept. Keeps a processor busy for some milliseconds.
    ///
    /// # Errors
    /// REQUEST_TOO_LARGE, GATEWAY_BUSY, or INVALID_REQUEST for what is not so compressed.
    pub(crate) fn decode(
        self,
        raw: Bytes,
        most: usize,
        buffered: &Buffered,
    ) -> Result<Bytes, Refusal> {
        let written = Cell::new(0);
        let mut fed = Fed { rest: &raw, read: 0, written: &written };
        let mut text = Text { bytes: Vec::new(), written: &written, most, buffered };
        match self {
            Coding::Plain => return Ok(raw),
            Coding::Deflate => text.take(ZlibDecoder::new(&mut fed))?,
            Coding::Gzip => {
                for _ in 0..MOST_MEMBERS {
                    text.take(GzDecoder::new(&mut fed))?;
                    if fed.rest.is_empty() {
                        break;
                    }
                }
                if !fed.rest.is_empty() {
                    return Err(unreadable());
                }
            }
        }
        Ok(text.bytes.into())
    }
}

fn unreadable() -> Refusal {
    Refusal::saying(Reason::InvalidRequest, "the body cannot be decompressed")
}

/// What was written so far.
struct Text<'a> {
    bytes: Vec<u8>,
    /// Its length, for the reading side.
    written: &'a Cell<usize>,
    most: usize,
    buffered: &'a Buffered,
}

impl Text<'_> {
    /// Takes everything that a decoder gives.
    fn take(&mut self, mut decoder: impl Read) -> Result<(), Refusal> {
        let mut step = [0; STEP_BYTES];
        loop {
            let len = decoder.read(&mut step).map_err(|_| unreadable())?;
            if len == 0 {
                return Ok(());
            }
            if self.bytes.len() + len > self.most {
                return Err(Reason::RequestTooLarge.into());
            }
            if !self.buffered.grow(len) {
                return Err(Reason::GatewayBusy.into());
            }
            self.bytes.extend_from_slice(&step[..len]);
            self.written.set(self.bytes.len());
        }
    }
}

/// A body that is fed to a decoder in steps, as long as something comes of it.
struct Fed<'a> {
    rest: &'a [u8],
    read: usize,
    written: &'a Cell<usize>,
}

impl BufRead for Fed<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.read > self.written.get() + WASTE_BYTES {
            return Err(io::Error::other("nothing comes of it"));
        }
        Ok(&self.rest[..self.rest.len().min(STEP_BYTES)])
    }

    fn consume(&mut self, len: usize) {
        self.rest = &self.rest[len..];
        self.read += len;
    }
}

impl Read for Fed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let from = self.fill_buf()?;
        let len = from.len().min(into.len());
        into[..len].copy_from_slice(&from[..len]);
        self.consume(len);
        Ok(len)
    }
}

#[cfg(test)]
mod tests;
