//! Many raw blocks at once, with their transactions, by monerod's `get_blocks.bin`.
//!
//! Decoding is left to the caller. Source: monero, src/rpc/core_rpc_server_commands_defs.h,
//! `COMMAND_RPC_GET_BLOCKS_FAST`: up to 1,000 blocks, 20,000 transactions or 100 MB an answer.
//! Invariants: memory is a small multiple of the answer's bytes; a route that a node lacks is not
//! asked for again until its time has come.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;

use crate::bounds;
use crate::epee::{BadStorage, Kind, Reader, Writer};
use crate::ids::Ids;
use crate::node::{Node, Route};
use crate::{Busy, CallError, Weight};

const PATH: &str = "/get_blocks.bin";
/// monerod gives 1,000 at most; more than this is no answer of one.
const MOST_BLOCKS: usize = 10_000;
/// No transaction is shorter than its one input and output.
const LEAST_TRANSACTION: usize = 40;

/// Blocks that follow each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Height of the first one.
    pub start_height: u64,
    /// The blocks.
    pub blocks: Vec<SpanBlock>,
}

/// A block of a span.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanBlock {
    /// Header, coinbase and hashes of the other transactions.
    pub block: Bytes,
    /// The other transactions, whole, in block order.
    pub transactions: Vec<Bytes>,
    /// The places of all outputs of the block among those of their amounts, the coinbase's first;
    /// none where the node gave none.
    pub output_indices: Option<Vec<u64>>,
}

impl Node {
    /// Blocks of the node's chain from a height on, as many as it gives at once; none where it has
    /// no such endpoint. `genesis` is the hash of block 0, in the order of its bytes.
    ///
    /// # Errors
    /// Those of [`call_path`](Node::call_path); `Busy` where the node says so, `Shape` for
    /// anything that is not such blocks.
    pub async fn raw_span(
        self: &Arc<Node>,
        genesis: &[u8; 32],
        start_height: u64,
    ) -> Result<Option<Span>, CallError> {
        if !self.routes.spans.may_be_there() {
            return Ok(None);
        }
        let mut request = Writer::new(3);
        request.string("block_ids", genesis);
        request.bool("prune", false);
        request.u64("start_height", start_height);
        let body = Bytes::from(request.finish());
        let bound = bounds::of_path(self.chain(), PATH);
        match self.ask(Route::Path(PATH), body, Ids::None, Weight::Internal, bound).await? {
            (status @ StatusCode::OK, answer) => {
                let shape = |BadStorage| CallError::Shape { status };
                let (span, said) = read(&answer).map_err(shape)?;
                match said.as_ref() {
                    b"OK" => Ok(Some(span)),
                    b"BUSY" => Err(Busy.into()),
                    _ => Err(CallError::Shape { status }),
                }
            }
            (StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED, _) => {
                self.routes.spans.note_missing();
                Ok(None)
            }
            (status, _) => Err(CallError::Shape { status }),
        }
    }
}

/// The blocks of an answer, and what the node calls it.
fn read(answer: &Bytes) -> Result<(Span, Bytes), BadStorage> {
    let (mut span, mut said, mut indices) = (Span::default(), Bytes::new(), Vec::new());
    Reader::new(answer)?.object(|reader, name, kind| match name {
        b"blocks" => reader.objects(kind, |reader| {
            let block = block(answer, reader)?;
            push(&mut span.blocks, block)
        }),
        b"output_indices" => {
            reader.objects(kind, |reader| push(&mut indices, block_indices(reader)?))
        }
        b"start_height" => reader.u64(kind).map(|height| span.start_height = height),
        b"status" => reader.string(kind).map(|text| said = answer.slice_ref(text)),
        _ => reader.skip(kind),
    })?;
    if !indices.is_empty() {
        if indices.len() != span.blocks.len() {
            return Err(BadStorage);
        }
        for (block, indices) in span.blocks.iter_mut().zip(indices) {
            block.output_indices = Some(indices);
        }
    }
    Ok((span, said))
}

fn push<T>(list: &mut Vec<T>, item: T) -> Result<(), BadStorage> {
    if list.len() == MOST_BLOCKS {
        return Err(BadStorage);
    }
    list.push(item);
    Ok(())
}

fn block(answer: &Bytes, reader: &mut Reader<'_>) -> Result<SpanBlock, BadStorage> {
    let mut block = SpanBlock::default();
    reader.object(|reader, name, kind| match name {
        b"block" => reader.string(kind).map(|blob| block.block = answer.slice_ref(blob)),
        b"txs" => {
            let blobs = reader.strings(kind, LEAST_TRANSACTION)?;
            block.transactions = blobs.into_iter().map(|blob| answer.slice_ref(blob)).collect();
            Ok(())
        }
        _ => reader.skip(kind),
    })?;
    Ok(block)
}

/// The places of all outputs of a block, one transaction after the other.
fn block_indices(reader: &mut Reader<'_>) -> Result<Vec<u64>, BadStorage> {
    let mut all = Vec::new();
    let mut of_transaction = |reader: &mut Reader<'_>| {
        reader.object(|reader, name, kind: Kind| match name {
            b"indices" => reader.numbers(kind, &mut all),
            _ => reader.skip(kind),
        })
    };
    reader.object(|reader, name, kind| match name {
        b"indices" => reader.objects(kind, &mut of_transaction),
        _ => reader.skip(kind),
    })?;
    Ok(all)
}
