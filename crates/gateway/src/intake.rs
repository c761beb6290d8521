//! Taking in a request body: counted, timed, decompressed, and known to be UTF-8 at the end.
//!
//! A body that is too large is read on and dropped for a while, so that the client hears of it
//! instead of a broken connection (decision G15). Leaves to `coding` what compression is.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::EXPECT;
use http_body::Body as _;
use http_body_util::BodyExt;
use listen::RequestBody;

use crate::coding::Coding;
use crate::load::{Buffered, Load};
use crate::refusal::{Reason, Refusal};
use crate::settings::Settings;

/// Bodies up to this many bytes are not counted as buffered: a connection costs as much.
const UNCOUNTED_BYTES: usize = 16 << 10;
/// How much of a body that is too large is read and dropped, in bytes, and for how long.
const DROPPED_BYTES: u64 = 32 << 20;
const DROPPED_FOR: Duration = Duration::from_secs(10);

/// A body that has come whole.
pub(crate) struct Posted {
    raw: Bytes,
    /// Bytes of it that are claimed.
    claimed: usize,
    coding: Coding,
}

/// Refuses a body that says itself that it is too large.
///
/// # Errors
/// REQUEST_TOO_LARGE.
pub(crate) async fn announced(
    headers: &HeaderMap,
    body: &mut RequestBody,
    settings: &Settings,
) -> Result<(), Refusal> {
    if body.size_hint().lower() <= settings.max_request_bytes as u64 {
        return Ok(());
    }
    // A client that waits for 100-continue has sent nothing yet that could be dropped.
    if !headers.contains_key(EXPECT) {
        Box::pin(drop_rest(body)).await;
    }
    Err(Reason::RequestTooLarge.into())
}

/// Reads the body of a request.
///
/// # Errors
/// REQUEST_TOO_LARGE, GATEWAY_BUSY, or INVALID_REQUEST for a body that does not arrive or is
/// compressed in an unknown way.
pub(crate) async fn read(
    headers: &HeaderMap,
    body: &mut RequestBody,
    settings: &Settings,
    buffered: &Buffered,
) -> Result<Posted, Refusal> {
    let coding = Coding::of(headers)?;
    let reading = pin!(collect(body, settings, buffered));
    let (raw, claimed) = within(settings.body_timeout, reading).await.ok_or_else(|| {
        Refusal::saying(Reason::Unreadable, "the request body did not arrive in time")
    })??;
    Ok(Posted { raw, claimed, coding })
}

/// What comes of `reading` within a time. A timer is made only for what is not there at the second
/// look: nearly every body comes with its head.
async fn within<F: Future>(time: Duration, mut reading: Pin<&mut F>) -> Option<F::Output> {
    let mut looked = false;
    let soon = poll_fn(|context| match reading.as_mut().poll(context) {
        Poll::Ready(read) => Poll::Ready(Some(read)),
        Poll::Pending if looked => Poll::Ready(None),
        Poll::Pending => {
            looked = true;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    });
    if let Some(read) = soon.await {
        return Some(read);
    }
    Box::pin(tokio::time::timeout(time, reading)).await.ok()
}

/// Is it work to find out what the body says?
pub(crate) fn is_compressed(headers: &HeaderMap) -> bool {
    Coding::of(headers).is_ok_and(|coding| coding != Coding::Plain)
}

impl Posted {
    /// The text of the body, and what it takes up.
    ///
    /// # Errors
    /// REQUEST_TOO_LARGE, GATEWAY_BUSY, or INVALID_REQUEST for what cannot be decompressed or is
    /// not UTF-8.
    pub(crate) async fn text(
        self,
        settings: &Settings,
        load: &Load,
        account: u64,
        buffered: Buffered,
    ) -> Result<(Bytes, Buffered), Refusal> {
        let (text, buffered) = match self.coding {
            Coding::Plain => (self.raw, buffered),
            _ => Box::pin(self.decoded(settings, load, account, buffered)).await?,
        };
        if simdutf8::basic::from_utf8(&text).is_err() {
            return Err(Refusal::saying(Reason::Unreadable, "the body is not UTF-8"));
        }
        Ok((text, buffered))
    }

    /// Undoes the compression, away from the runtime's workers, few bodies at once.
    async fn decoded(
        self,
        settings: &Settings,
        load: &Load,
        account: u64,
        buffered: Buffered,
    ) -> Result<(Bytes, Buffered), Refusal> {
        let turn = load.heavy_work.take(account);
        let Ok(Some(turn)) = tokio::time::timeout(settings.body_timeout, turn).await else {
            return Err(Reason::GatewayBusy.into());
        };
        let most = settings.max_request_bytes;
        // What is claimed and the turn go with the work, which outlives a client that is gone.
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let text = self.coding.decode(self.raw, most, &buffered)?;
            buffered.shrink(self.claimed);
            Ok((text, buffered))
        });
        work.await.unwrap_or_else(|_| Err(Reason::ServiceUnavailable.into()))
    }
}

/// Reads to the end. Gives the body and how many of its bytes are claimed.
async fn collect(
    body: &mut RequestBody,
    settings: &Settings,
    buffered: &Buffered,
) -> Result<(Bytes, usize), Refusal> {
    let (mut whole, mut claimed) = (Whole::Empty, 0);
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|_| Refusal::saying(Reason::Unreadable, "the request body broke off"))?;
        let Ok(data) = frame.into_data() else { continue };
        let len = whole.len() + data.len();
        if len > settings.max_request_bytes {
            Box::pin(drop_rest(body)).await;
            return Err(Reason::RequestTooLarge.into());
        }
        if len > UNCOUNTED_BYTES {
            if !buffered.grow(len - claimed) {
                return Err(Reason::GatewayBusy.into());
            }
            claimed = len;
        }
        whole = whole.with(data);
        if body.is_end_stream() {
            break;
        }
    }
    Ok((whole.into_bytes(), claimed))
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
