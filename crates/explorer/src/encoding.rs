//! Compression of answers, as the client asks for it.
//!
//! Invariant: what a client did not say that it accepts is never sent.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::GzEncoder;
use http::header::ACCEPT_ENCODING;
use http::{HeaderMap, HeaderValue};

/// Smaller bodies stay as they are.
const LEAST_BYTES: usize = 1024;
/// Larger ones are compressed away from the runtime's workers.
const MOST_AT_ONCE: usize = 16 << 10;
/// Brotli's quality, 0 to 11; 4 is as fast as gzip and smaller.
const BROTLI_QUALITY: u32 = 4;
/// The base 2 logarithm of Brotli's window.
const BROTLI_WINDOW: u32 = 20;

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Plain,
    Gzip,
    Brotli,
}

impl Coding {
    /// What the client likes best of what is offered; of equals the smaller one (RFC 9110, 12.5.3).
    pub(crate) fn of(headers: &HeaderMap) -> Coding {
        let (mut brotli, mut gzip, mut any) = (None, None, None);
        let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|v| v.to_str().ok());
        for item in values.flat_map(|value| value.split(',')) {
            let mut parts = item.split(';').map(str::trim);
            let coding = parts.next().unwrap_or_default();
            let quality = parts.find_map(weight).map_or(1000, thousandths);
            match coding.to_ascii_lowercase().as_str() {
                "br" => brotli = Some(quality),
                "gzip" | "x-gzip" => gzip = Some(quality),
                "*" => any = Some(quality),
                _ => {}
            }
        }
        let brotli = brotli.or(any).unwrap_or(0);
        let gzip = gzip.or(any).unwrap_or(0);
        match (brotli, gzip) {
            (0, 0) => Coding::Plain,
            (brotli, gzip) if brotli >= gzip => Coding::Brotli,
            _ => Coding::Gzip,
        }
    }

    /// The value of `Content-Encoding`, if there is one to send.
    pub(crate) fn header(self) -> Option<HeaderValue> {
        match self {
            Coding::Plain => None,
            Coding::Gzip => Some(HeaderValue::from_static("gzip")),
            Coding::Brotli => Some(HeaderValue::from_static("br")),
        }
    }

    /// Writes a body, and says how it was written.
    pub(crate) async fn write(self, body: Bytes) -> (Bytes, Coding) {
        if self == Coding::Plain || body.len() < LEAST_BYTES {
            return (body, Coding::Plain);
        }
        if body.len() <= MOST_AT_ONCE {
            return self.compressed(&body).map_or((body, Coding::Plain), |done| (done, self));
        }
        let given = body.clone();
        match tokio::task::spawn_blocking(move || self.compressed(&given)).await {
            Ok(Some(done)) => (done, self),
            _ => (body, Coding::Plain),
        }
    }

    fn compressed(self, body: &[u8]) -> Option<Bytes> {
        let mut writer = match self.writer() {
            Writer::Plain => return None,
            writer => writer,
        };
        writer.take(body).ok()?;
        writer.finish().ok()
    }

    /// What writes a body piece by piece.
    pub(crate) fn writer(self) -> Writer {
        match self {
            Coding::Plain => Writer::Plain,
            Coding::Gzip => Writer::Gzip(GzEncoder::new(Vec::new(), flate2::Compression::fast())),
            Coding::Brotli => Writer::Brotli(Box::new(brotli::CompressorWriter::new(
                Vec::new(),
                4096,
                BROTLI_QUALITY,
                BROTLI_WINDOW,
            ))),
        }
    }
}

/// Writes a body piece by piece.
pub(crate) enum Writer {
    Plain,
    Gzip(GzEncoder<Vec<u8>>),
    Brotli(Box<dyn Compressor>),
}

/// Brotli's compressor behind a table of its own: the crates that drop a body would each be given all
/// of it otherwise, a third of a megabyte.
pub(crate) trait Compressor: Write + Send {
    /// What was written by now.
    fn written(&mut self) -> Vec<u8>;
    /// What is written behind the last piece.
    fn finish(self: Box<Self>) -> Vec<u8>;
}

impl Compressor for brotli::CompressorWriter<Vec<u8>> {
    fn written(&mut self) -> Vec<u8> {
        std::mem::take(self.get_mut())
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.into_inner()
    }
}

impl Writer {
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Writer::Plain)
    }

    /// Writes a piece, and returns what is to be sent by now, which may be nothing.
    pub(crate) fn write(&mut self, piece: Vec<u8>) -> io::Result<Bytes> {
        if self.is_plain() {
            return Ok(piece.into());
        }
        self.take(&piece)?;
        let written = match self {
            Writer::Plain => Vec::new(),
            Writer::Gzip(writer) => std::mem::take(writer.get_mut()),
            Writer::Brotli(writer) => writer.written(),
        };
        Ok(written.into())
    }

    fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        match self {
            Writer::Plain => Ok(()),
            Writer::Gzip(writer) => writer.write_all(piece),
            Writer::Brotli(writer) => writer.write_all(piece),
        }
    }

    /// What is to be sent behind the last piece.
    pub(crate) fn finish(self) -> io::Result<Bytes> {
        match self {
            Writer::Plain => Ok(Bytes::new()),
            Writer::Gzip(writer) => writer.finish().map(Bytes::from),
            Writer::Brotli(writer) => Ok(writer.finish().into()),
        }
    }
}

/// The value of a parameter `q`, in either case.
fn weight(parameter: &str) -> Option<&str> {
    let (name, value) = parameter.split_once('=')?;
    name.trim_end().eq_ignore_ascii_case("q").then(|| value.trim_start())
}

/// A quality of 0 to 1 in thousandths; what is none counts as 0.
fn thousandths(text: &str) -> u16 {
    let quality = text.parse::<f32>().ok().filter(|quality| (0.0..=1.0).contains(quality));
    quality.map_or(0, |quality| (quality * 1000.0) as u16)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn of(value: &str) -> Coding {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, value.parse().unwrap());
        Coding::of(&headers)
    }

    #[test]
    fn the_client_chooses() {
        assert_eq!(Coding::of(&HeaderMap::new()), Coding::Plain);
        assert_eq!(of("gzip, deflate, br"), Coding::Brotli);
        assert_eq!(of("GZIP"), Coding::Gzip);
        assert_eq!(of("br;q=0.5, gzip;q=0.8"), Coding::Gzip);
        assert_eq!(of("br;q=0, gzip;q=0"), Coding::Plain);
        assert_eq!(of("br;Q=0, gzip ; Q=0"), Coding::Plain);
        assert_eq!(of("*"), Coding::Brotli);
        assert_eq!(of("*;q=0.1, br;q=0"), Coding::Gzip);
        assert_eq!(of("identity"), Coding::Plain);
        assert_eq!(of("gzip;q=nonsense"), Coding::Plain);
        assert_eq!(of(""), Coding::Plain);
    }

    #[test]
    fn bodies_come_back_from_pieces() {
        let body: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
        for coding in [Coding::Plain, Coding::Gzip, Coding::Brotli] {
            let mut writer = coding.writer();
            let mut sent = Vec::new();
            for piece in body.chunks(70_000) {
                sent.extend_from_slice(&writer.write(piece.to_vec()).unwrap());
            }
            sent.extend_from_slice(&writer.finish().unwrap());
            let mut read = Vec::new();
            match coding {
                Coding::Plain => read = sent,
                Coding::Gzip => {
                    flate2::read::GzDecoder::new(&sent[..]).read_to_end(&mut read).unwrap();
                }
                Coding::Brotli => {
                    brotli::Decompressor::new(&sent[..], 4096).read_to_end(&mut read).unwrap();
                }
            }
            assert!(read == body, "{coding:?}");
        }
    }

    #[test]
    fn bodies_come_back() {
        let body = Bytes::from(b"{\"a\":1}".repeat(1000));
        let gzip = Coding::Gzip.compressed(&body).unwrap();
        let mut read = Vec::new();
        flate2::read::GzDecoder::new(&gzip[..]).read_to_end(&mut read).unwrap();
        assert_eq!(read, body);
        let brotli = Coding::Brotli.compressed(&body).unwrap();
        let mut read = Vec::new();
        brotli::Decompressor::new(&brotli[..], 4096).read_to_end(&mut read).unwrap();
        assert_eq!(read, body);
        assert!(brotli.len() < 200);
    }
}
