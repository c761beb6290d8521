//! Taking in a request body: counted, timed, decompressed, and known to be UTF-8 at the end.
//!
//! A body that is too large is read on and dropped for a while, so that the client hears of it
//! instead of a broken connection (decision G15).

use std::io::Read;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, EXPECT};
use http_body::Body as _;
use http_body_util::BodyExt;
use listen::RequestBody;

use crate::load::Buffered;
use crate::refusal::{Reason, Refusal};
use crate::settings::Settings;

/// Bodies up to this many bytes are not counted as buffered: a connection costs as much.
const UNCOUNTED_BYTES: usize = 16 << 10;
/// How much of a body that is too large is read and dropped, in bytes, and for how long.
const DROPPED_BYTES: u64 = 32 << 20;
const DROPPED_FOR: Duration = Duration::from_secs(10);

/// Reads the body of a request.
///
/// # Errors
/// REQUEST_TOO_LARGE, GATEWAY_BUSY, or INVALID_REQUEST for a body that does not arrive, cannot be
/// decompressed or is not UTF-8.
pub(crate) async fn read(
    headers: &HeaderMap,
    mut body: RequestBody,
    settings: &Settings,
    buffered: &Buffered,
) -> Result<Bytes, Refusal> {
    let coding = Coding::of(headers)?;
    if body.size_hint().lower() > settings.max_request_bytes as u64 {
        // A client that waits for 100-continue has sent nothing yet that could be dropped.
        if !headers.contains_key(EXPECT) {
            drop_rest(&mut body).await;
        }
        return Err(Reason::RequestTooLarge.into());
    }
    let raw = tokio::time::timeout(settings.body_timeout, collect(&mut body, settings, buffered))
        .await
        .map_err(|_| {
            Refusal::saying(Reason::Unreadable, "the request body did not arrive in time")
        })??;
    let text = coding.decoded(raw, settings.max_request_bytes).await?;
    if simdutf8::basic::from_utf8(&text).is_err() {
        return Err(Refusal::saying(Reason::Unreadable, "the body is not UTF-8"));
    }
    Ok(text)
}

async fn collect(
    body: &mut RequestBody,
    settings: &Settings,
    buffered: &Buffered,
) -> Result<Bytes, Refusal> {
    let mut whole = Whole::Empty;
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|_| Refusal::saying(Reason::Unreadable, "the request body broke off"))?;
        let Ok(data) = frame.into_data() else { continue };
        let len = whole.len() + data.len();
        if len > settings.max_request_bytes {
            drop_rest(body).await;
            return Err(Reason::RequestTooLarge.into());
        }
        if len > UNCOUNTED_BYTES && !buffered.grow(data.len(), settings.max_buffered_bytes) {
            return Err(Reason::GatewayBusy.into());
        }
        whole = whole.with(data);
        if body.is_end_stream() {
            break;
        }
    }
    Ok(whole.into_bytes())
}

/// A body so far. One frame is the common case and is not copied.
enum Whole {
    Empty,
    One(Bytes),
    Many(BytesMut),
}

impl Whole {
    fn len(&self) -> usize {
        match self {
            Whole::Empty => 0,
            Whole::One(frame) => frame.len(),
            Whole::Many(frames) => frames.len(),
        }
    }

    fn with(self, data: Bytes) -> Whole {
        let mut frames = match self {
            Whole::Empty => return Whole::One(data),
            Whole::One(frame) => BytesMut::from(&frame[..]),
            Whole::Many(frames) => frames,
        };
        frames.extend_from_slice(&data);
        Whole::Many(frames)
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Whole::Empty => Bytes::new(),
            Whole::One(frame) => frame,
            Whole::Many(frames) => frames.freeze(),
        }
    }
}

/// Reads on and drops what comes, within bounds.
async fn drop_rest(body: &mut RequestBody) {
    let reading = async {
        let mut dropped = 0u64;
        while let Some(Ok(frame)) = body.frame().await {
            dropped += frame.data_ref().map_or(0, |data| data.len() as u64);
            if dropped > DROPPED_BYTES {
                return;
            }
        }
    };
    // Past the time the answer is sent all the same; whether it arrives is the client's affair.
    let _ = tokio::time::timeout(DROPPED_FOR, reading).await;
}

/// How a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Plain,
    Gzip,
    Deflate,
}

impl Coding {
    fn of(headers: &HeaderMap) -> Result<Coding, Refusal> {
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

    /// Undoes the compression, away from the runtime's workers.
    async fn decoded(self, raw: Bytes, most: usize) -> Result<Bytes, Refusal> {
        if self == Coding::Plain {
            return Ok(raw);
        }
        let work = tokio::task::spawn_blocking(move || self.decode(raw, most));
        work.await.unwrap_or_else(|_| Err(Reason::ServiceUnavailable.into()))
    }

    /// Undoes the compression. At most `most` bytes are ever written.
    fn decode(self, raw: Bytes, most: usize) -> Result<Bytes, Refusal> {
        let mut text = Vec::new();
        let limit = most as u64 + 1;
        let read = match self {
            Coding::Plain => return Ok(raw),
            Coding::Gzip => {
                flate2::read::MultiGzDecoder::new(&raw[..]).take(limit).read_to_end(&mut text)
            }
            Coding::Deflate => {
                flate2::read::ZlibDecoder::new(&raw[..]).take(limit).read_to_end(&mut text)
            }
        };
        match read {
            Err(_) => {
                Err(Refusal::saying(Reason::InvalidRequest, "the body cannot be decompressed"))
            }
            Ok(len) if len > most => Err(Reason::RequestTooLarge.into()),
            Ok(_) => Ok(text.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn codings_are_read_and_bounded() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&vec![b' '; 100_000]).unwrap();
        let raw = Bytes::from(gzip.finish().unwrap());
        assert_eq!(Coding::Gzip.decode(raw.clone(), 100_000).unwrap().len(), 100_000);
        assert_eq!(
            Coding::Gzip.decode(raw.clone(), 99_999).unwrap_err().reason,
            Reason::RequestTooLarge
        );
        assert_eq!(Coding::Deflate.decode(raw, 99_999).unwrap_err().reason, Reason::InvalidRequest);
    }

    #[test]
    fn unknown_coding_is_refused() {
        let mut headers = HeaderMap::new();
        assert_eq!(Coding::of(&headers), Ok(Coding::Plain));
        headers.insert(CONTENT_ENCODING, "GZIP".parse().unwrap());
        assert_eq!(Coding::of(&headers), Ok(Coding::Gzip));
        headers.insert(CONTENT_ENCODING, "br".parse().unwrap());
        assert_eq!(Coding::of(&headers).unwrap_err().reason, Reason::InvalidRequest);
        headers.insert(CONTENT_ENCODING, "gzip".parse().unwrap());
        headers.append(CONTENT_ENCODING, "gzip".parse().unwrap());
        assert!(Coding::of(&headers).is_err());
    }
}
