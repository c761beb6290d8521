//! An open websocket: several calls under way, answers told apart by their ids.
//!
//! A task of its own reads and writes, so that a caller who gives up leaves nothing half done.
//! Invariants: a call's slot is held until its answer came or the websocket ended, whoever still
//! waits for it; one answer that is nobody's, or a frame that is no answer, ends the websocket and
//! all that is under way over it (decision G10), and that counts as one failure of the node.

use std::collections::HashMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::stream::SplitStream;
use futures_util::{SinkExt, StreamExt};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes};

use super::stream::{Progress, Stream};
use crate::gate::Lease;
use crate::health::Health;
use crate::ids::Ids;
use crate::members::{Items, Members};
use crate::{Cause, NodeError, Sent};

/// What dcrd says of itself after `notifyblocks` (rpc/jsonrpc/types/chainsvrwsntfns.go).
const NEWS: [&[u8]; 3] = [b"\"blockconnected\"", b"\"blockdisconnected\"", b"\"reorganization\""];

/// An open websocket. Its task ends, and with it the connection, once nobody holds it.
pub(crate) struct Multiplex {
    /// Unbounded; no more calls are in it than hold a slot.
    calls: mpsc::UnboundedSender<Call>,
    progress: Arc<Progress>,
    _held: oneshot::Sender<()>,
}

/// A call that is to be written.
struct Call {
    id: u64,
    body: Utf8Bytes,
    waiting: Waiting,
}

/// Who waits for an answer.
struct Waiting {
    answer: oneshot::Sender<Result<Bytes, NodeError>>,
    /// The slot of the call; the first one has none, and is no measure of the node.
    lease: Option<Lease>,
}

impl Multiplex {
    /// Begins to write and read.
    pub(super) fn run(
        stream: WebSocketStream<Stream>,
        progress: Arc<Progress>,
        answers: Answers,
    ) -> Multiplex {
        let (calls, to_write) = mpsc::unbounded_channel();
        let (held, let_go) = oneshot::channel();
        tokio::spawn(answers.exchange(stream, to_write, let_go));
        Multiplex { calls, progress, _held: held }
    }

    /// Whether calls can be sent over it, as far as is known.
    pub(super) fn is_open(&self) -> bool {
        !self.calls.is_closed()
    }

    /// Bytes that came over it so far.
    pub(super) fn read(&self) -> u64 {
        self.progress.read()
    }

    /// Sends a body that bears these ids and waits for its answer.
    pub(super) async fn send(
        &self,
        ids: &Ids,
        body: Bytes,
        lease: Option<Lease>,
    ) -> Result<Bytes, NodeError> {
        let malformed = || NodeError::unsent(Cause::Malformed, "the call is no text with an id");
        let id = first_id(ids).ok_or_else(malformed)?;
        let body = Utf8Bytes::try_from(body).map_err(|_| malformed())?;
        let (answer, answered) = oneshot::channel();
        let call = Call { id, body, waiting: Waiting { answer, lease } };
        self.calls.send(call).map_err(|_| closed())?;
        answered.await.unwrap_or_else(|_| Err(closed()))
    }
}

/// It was closed before anything of a call was written.
fn closed() -> NodeError {
    NodeError::unsent(Cause::Broken, "the websocket was closed").reused(true)
}

/// The id of the first call; ours are numbers.
fn first_id(ids: &Ids) -> Option<u64> {
    let raw = match ids {
        Ids::One(id) => id.as_ref(),
        Ids::Batch(calls) => calls.first()?.id.as_ref(),
        Ids::None => None,
    };
    number(raw?)
}

fn number(raw: &[u8]) -> Option<u64> {
    std::str::from_utf8(raw).ok()?.parse().ok()
}

/// Those who wait for the answers of a websocket.
pub(super) struct Answers {
    waiting: Mutex<HashMap<u64, Waiting>>,
    health: Arc<Health>,
    news: watch::Sender<u64>,
}

impl Answers {
    /// Nobody yet; `news` changes whenever the node tells of a block.
    pub(super) fn new(health: Arc<Health>, news: watch::Sender<u64>) -> Answers {
        Answers { waiting: Mutex::default(), health, news }
    }

    /// Writes calls and hands out answers until one side lets go.
    async fn exchange(
        self,
        stream: WebSocketStream<Stream>,
        mut calls: mpsc::UnboundedReceiver<Call>,
        let_go: oneshot::Receiver<()>,
    ) {
        let (mut sink, stream) = stream.split();
        let writing = async {
            while let Some(call) = calls.recv().await {
                self.lock().insert(call.id, call.waiting);
                if let Err(error) = sink.send(Message::Text(call.body)).await {
                    return ended(&error);
                }
            }
            pending().await
        };
        let end = tokio::select! {
            end = writing => end,
            end = self.hear(stream) => end,
            // Nobody waits any more.
            _ = let_go => return,
        };
        calls.close();
        while let Ok(call) = calls.try_recv() {
            let _ = call.waiting.answer.send(Err(closed()));
        }
        self.end(&end);
    }

    /// Hands out answers until they end, and says why they did.
    async fn hear(&self, mut stream: SplitStream<WebSocketStream<Stream>>) -> NodeError {
        loop {
            match stream.next().await {
                Some(Ok(Message::Text(text))) => {
                    if let Err(end) = self.take(Bytes::from(text)) {
                        return end;
                    }
                }
                // A pong goes out by itself.
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Ok(Message::Binary(_))) => return broken("a message that is no text"),
                Some(Ok(Message::Close(_))) | None => return broken("the node closed it"),
                Some(Err(error)) => return ended(&error),
            }
        }
    }

    /// Takes a message of the node.
    fn take(&self, text: Bytes) -> Result<(), NodeError> {
        match Word::of(&text) {
            Some(Word::Answer(id)) => {
                let stray = || NodeError::answered(Cause::Stray);
                let waiting = self.lock().remove(&id).ok_or_else(stray)?;
                // Whoever gave up has no use for it.
                let _ = waiting.answer.send(Ok(text));
                Ok(())
            }
            Some(Word::News) => {
                self.health.tip_changed();
                self.news.send_modify(|count| *count = count.wrapping_add(1));
                Ok(())
            }
            Some(Word::Other) => Ok(()),
            None => Err(NodeError::answered(Cause::Stray)),
        }
    }

    /// Tells everybody that there will be no answer.
    fn end(&self, end: &NodeError) {
        let waiting = std::mem::take(&mut *self.lock());
        let mut failed = false;
        for Waiting { answer, lease } in waiting.into_values() {
            let told = answer.send(Err(end.clone())).is_ok();
            failed |= told && lease.is_some();
        }
        // One failure, however many wait.
        if failed && end.blames_node() {
            self.health.call_failed();
            self.health.complaints.add(&format_args!("a websocket broke off: {end}"));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn broken(how: &str) -> NodeError {
    NodeError::new(Cause::Broken, Sent::Maybe).detail(how)
}

/// What an error of the websocket means; no text of the node is repeated.
fn ended(error: &tungstenite::Error) -> NodeError {
    match error {
        tungstenite::Error::Capacity(_) => NodeError::answered(Cause::TooLarge),
        tungstenite::Error::Io(error) => broken(&error.to_string()),
        tungstenite::Error::Protocol(error) => broken(&error.to_string()),
        tungstenite::Error::Utf8(_) => broken("a text that is no UTF-8"),
        _ => broken("the websocket failed"),
    }
}

/// What a message of the node is.
#[derive(Debug, PartialEq, Eq)]
enum Word {
    /// The answer to the call of this id, or to the batch that begins with it.
    Answer(u64),
    /// It has other blocks.
    News,
    /// It tells something that nobody asked for.
    Other,
}

impl Word {
    /// `None`: it cannot be told what it is.
    fn of(text: &[u8]) -> Option<Word> {
        let first = match text.first()? {
            b'[' => Items::of(text)?.next()?,
            _ => text,
        };
        let (mut id, mut method) = (None, None);
        for (name, value) in Members::of(first)? {
            match name {
                b"id" => id = number(value),
                b"method" => method = Some(value),
                _ => {}
            }
        }
        match (method, id) {
            (Some(method), None) if NEWS.contains(&method) => Some(Word::News),
            (Some(_), None) => Some(Word::Other),
            (_, id) => id.map(Word::Answer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_news_and_others_are_told_apart() {
        let word = |text: &str| Word::of(text.as_bytes());
        assert_eq!(
            word(r#"{"jsonrpc":"1.0","result":{"id":3},"error":null,"id":7}"#),
            Some(Word::Answer(7))
        );
        assert_eq!(word(r#"[{"result":1,"id":8},{"result":2,"id":9}]"#), Some(Word::Answer(8)));
        let news = r#"{"jsonrpc":"1.0","method":"blockconnected","params":["00",[]],"id":null}"#;
        assert_eq!(word(news), Some(Word::News));
        assert_eq!(word(&news.replace("blockconnected", "work")), Some(Word::Other));
        for text in [
            "",
            "7",
            "[]",
            "{}",
            "[7]",
            r#"{"result":1,"id":null}"#,
            r#"{"id":"7"}"#,
            "{\"id\":-1}",
        ] {
            assert_eq!(word(text), None, "{text}");
        }
    }
}
