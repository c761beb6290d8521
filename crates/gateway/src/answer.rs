//! A node's answer, opened: its first bytes were looked at before the client is told 200.
//!
//! Bytes pass unchanged. What is checked is only what makes an answer an answer: that it is JSON
//! and not a text of the HTTP layer, that it is complete, whatever its length says, and that a
//! batch has as many items as calls that get one.

use bytes::Bytes;
use http::StatusCode;
use http_body_util::BodyExt;
use node::{Answer, AnswerBody, NodeError};

use crate::failure::{Failure, NoAnswer};
use crate::frames::Frames;
use crate::join::{Item, Join};
use crate::json::{Kind, Outline};

/// How much of an answer is looked at before its head goes to the client, in bytes. What goes
/// wrong within it becomes a clean refusal.
const LOOKED_AT_BYTES: u64 = 64 << 10;

/// What the node should answer.
#[derive(Debug, Clone)]
pub(crate) enum Expect {
    /// One object, or nothing if the call gets no answer.
    One {
        /// Does the call get an answer?
        answered: bool,
    },
    /// The bare body of one of monerod's plain paths.
    Path,
    /// An array.
    Items {
        /// The calls that get an answer.
        answered: usize,
        /// All calls that were sent.
        calls: usize,
        /// The joined array, if some elements never went to the node.
        places: Option<Vec<Item>>,
    },
}

impl Expect {
    /// The same, now that the first byte is known: an object in answer to a batch is the node's
    /// word on the whole of it, and nothing is joined.
    fn met_with(self, first: u8) -> Expect {
        match self {
            Expect::Items { answered, calls, .. } if first == b'{' => {
                Expect::Items { answered, calls, places: None }
            }
            other => other,
        }
    }
}

/// An answer whose first bytes are known.
pub(crate) struct Opened {
    /// Frames that were read already.
    pub(crate) ready: Frames,
    /// What is still to come.
    pub(crate) rest: Option<AnswerBody>,
    /// Length of the whole in bytes, if known.
    pub(crate) length: Option<u64>,
    /// What has to be watched while the rest passes.
    pub(crate) watch: Watch,
}

/// What is checked while frames pass.
#[derive(Debug)]
pub(crate) enum Watch {
    /// Nothing: there is no value.
    Nothing,
    /// That one value ends.
    Value(Outline),
    /// That an array has its items.
    Items {
        /// What was seen so far.
        outline: Outline,
        /// The allowed numbers of items.
        counts: [usize; 2],
    },
    /// The same, with what was made here put in between.
    Joined {
        /// What was seen so far.
        outline: Outline,
        /// Where that goes.
        join: Join,
    },
}

impl Watch {
    /// Takes one frame of the node and hands on what the client gets.
    pub(crate) fn pass(&mut self, frame: Bytes, out: &mut Frames) {
        match self {
            Watch::Nothing => (),
            Watch::Value(outline) | Watch::Items { outline, .. } => outline.feed(&frame),
            Watch::Joined { outline, join } => return join.pass(&frame, outline, out),
        }
        out.push_back(frame);
    }

    /// Is what passed a whole answer?
    pub(crate) fn is_whole(&self) -> bool {
        match self {
            Watch::Nothing => true,
            Watch::Value(outline) => outline.is_complete(),
            // A node that refuses a batch as a whole answers one object, which passes as it is.
            Watch::Items { outline, counts } => {
                outline.is_complete()
                    && (outline.kind() == Kind::Object || counts.contains(&outline.items()))
            }
            Watch::Joined { outline, join } => {
                outline.is_complete() && outline.kind() == Kind::Array && join.is_even()
            }
        }
    }

    /// Did the value that passed come to its end?
    fn is_complete(&self) -> bool {
        match self {
            Watch::Nothing => true,
            Watch::Value(outline)
            | Watch::Items { outline, .. }
            | Watch::Joined { outline, .. } => outline.is_complete(),
        }
    }

    fn of(expect: Expect) -> Watch {
        let outline = Outline::new();
        match expect {
            Expect::Items { answered, calls, places: None } => {
                Watch::Items { outline, counts: [answered, calls] }
            }
            Expect::Items { places: Some(places), .. } => {
                Watch::Joined { outline, join: Join::new(places) }
            }
            Expect::One { .. } | Expect::Path => Watch::Value(outline),
        }
    }
}

/// Frames as they were read.
#[derive(Default)]
struct Head {
    frames: Frames,
    bytes: u64,
    first: Option<u8>,
    ended: bool,
}

impl Head {
    /// Reads until enough is known: to the end, or far enough to tell JSON from text.
    async fn read(body: &mut AnswerBody, length: Option<u64>) -> Result<Head, NodeError> {
        let mut head = Head::default();
        let long = length.is_some_and(|length| length > LOOKED_AT_BYTES);
        loop {
            match body.frame().await {
                None => {
                    head.ended = true;
                    return Ok(head);
                }
                Some(frame) => head.take(frame?.into_data().unwrap_or_default()),
            }
            if head.bytes >= LOOKED_AT_BYTES || long && head.first.is_some() {
                return Ok(head);
            }
        }
    }

    fn take(&mut self, data: Bytes) {
        self.bytes += data.len() as u64;
        self.first =
            self.first.or_else(|| data.iter().find(|byte| !byte.is_ascii_whitespace()).copied());
        self.frames.push_back(data);
    }

    fn text(&self) -> Vec<u8> {
        self.frames.iter().flatten().copied().take(1024).collect()
    }
}

/// Looks at the first bytes of `answer`.
///
/// # Errors
/// [`NoAnswer`] for whatever is not an answer to the call.
pub(crate) async fn open(answer: Answer, expect: Expect) -> Result<Opened, NoAnswer> {
    let Answer { status, length, mut body, .. } = answer;
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return Err(NoAnswer::Unusable("the node refuses our credentials or our address"));
    }
    let head = Head::read(&mut body, length).await.map_err(NoAnswer::Node)?;
    let rest = (!head.ended).then_some(body);
    match head.first {
        None if head.ended => blank(status, head, expect),
        Some(b'{' | b'[') if matches!(expect, Expect::Path) && !status.is_success() => {
            Err(NoAnswer::Refused("the path answered an error status"))
        }
        Some(first @ (b'{' | b'[')) => json(head, rest, length, Watch::of(expect.met_with(first))),
        _ if node::says_busy(status, &head.text()) => Err(NoAnswer::Busy),
        _ => Err(NoAnswer::Unusable("the answer is not JSON")),
    }
}

/// A blank body: right where no call gets an answer.
fn blank(status: StatusCode, head: Head, expect: Expect) -> Result<Opened, NoAnswer> {
    let answered = match expect {
        Expect::One { answered } => usize::from(answered),
        Expect::Path => 1,
        Expect::Items { answered, .. } => answered,
    };
    if answered > 0 || !status.is_success() {
        return Err(NoAnswer::Refused("the answer is blank"));
    }
    let mut ready = head.frames;
    if let Expect::Items { places: Some(places), .. } = expect {
        ready.clear();
        Join::new(places).without_node(&mut ready);
    }
    let length = Some(ready.bytes());
    Ok(Opened { ready, rest: None, length, watch: Watch::Nothing })
}

fn json(
    mut head: Head,
    rest: Option<AnswerBody>,
    length: Option<u64>,
    mut watch: Watch,
) -> Result<Opened, NoAnswer> {
    let mut ready = Frames::default();
    while let Some(frame) = head.frames.pop_front() {
        watch.pass(frame, &mut ready);
    }
    if head.ended && !watch.is_whole() {
        // A wrong number of items may be the doing of an odd id; a cut is the node's.
        return Err(match watch.is_complete() {
            true => NoAnswer::Refused("the answer has the wrong number of items"),
            false => NoAnswer::Unusable("the answer is truncated"),
        });
    }
    let length = match (&watch, &rest) {
        (_, None) => Some(ready.bytes()),
        (Watch::Joined { .. }, Some(_)) => None,
        _ => length,
    };
    Ok(Opened { ready, rest, length, watch })
}

impl Opened {
    /// An answer that was read to its end.
    pub(crate) fn whole(bytes: Bytes) -> Opened {
        let length = Some(bytes.len() as u64);
        Opened { ready: bytes.into(), rest: None, length, watch: Watch::Nothing }
    }

    /// Reads the rest and returns the whole. `take` claims room for each frame before it is kept.
    ///
    /// # Errors
    /// What `take` says, or the failure of an answer whose rest does not arrive.
    pub(crate) async fn collect(
        mut self,
        take: impl Fn(u64) -> Result<(), Failure>,
    ) -> Result<Bytes, Failure> {
        take(self.ready.bytes())?;
        while let Some(rest) = self.rest.as_mut()
            && let Some(frame) = rest.frame().await
        {
            let data = frame.map_err(NoAnswer::Node)?.into_data().unwrap_or_default();
            take(data.len() as u64)?;
            self.watch.pass(data, &mut self.ready);
        }
        if !self.watch.is_whole() {
            return Err(NoAnswer::Unusable("the answer is truncated").into());
        }
        if self.ready.len() == 1 {
            return Ok(self.ready.pop_front().unwrap_or_default());
        }
        Ok(self.ready.iter().flatten().copied().collect::<Vec<u8>>().into())
    }
}
