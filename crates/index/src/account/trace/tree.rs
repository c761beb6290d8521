//! Trees of the call tracer.
//!
//! Source: go-ethereum 1.17, eth/tracers/native/call.go; geth, reth, Erigon, Nethermind and anvil
//! write the same. A frame's members come in any order, its children before its own kind too, so
//! each frame keeps a place in the list until it ends.

use chain::account::{Address, U256};

use super::cursor::Cursor;
use super::{BadTrace, OneTrace};
use crate::account::facts::{Operation, OperationKind, Traced};
use crate::account::quantity;

/// Frames in each other; the protocol allows 1,024 and the root.
const DEEPEST: usize = 4096;

/// Reads the traces of a block: one object a transaction, with its tree or an error.
pub(in crate::account) fn read_trees(text: &str) -> Result<Vec<OneTrace>, BadTrace> {
    let mut cursor = Cursor::new(text);
    let mut traces = Vec::new();
    cursor.take(b'[')?;
    while !cursor.takes(b']')? {
        traces.push(one(&mut cursor)?);
        cursor.takes(b',')?;
    }
    Ok(traces)
}

/// Reads the trace of one transaction; none where a node gave something else than such a tree: what
/// its own tracer makes, or an object with nothing in it.
pub(in crate::account) fn read_tree(text: &str) -> Result<Option<Traced>, BadTrace> {
    tree(&mut Cursor::new(text))
}

fn one(cursor: &mut Cursor<'_>) -> Result<OneTrace, BadTrace> {
    let mut trace = OneTrace::default();
    cursor.take(b'{')?;
    while !cursor.takes(b'}')? {
        let name = cursor.string()?;
        cursor.take(b':')?;
        match name {
            "txHash" => {
                let text = cursor.string_or_null()?;
                trace.hash = text.map(|text| quantity::read(text).ok_or(BadTrace)).transpose()?;
            }
            "result" if cursor.peek()? == b'{' => {
                let start = cursor.clone();
                match tree(cursor) {
                    Ok(traced) => {
                        trace.is_foreign = traced.is_none();
                        trace.traced = traced;
                    }
                    // It spoils no other one.
                    Err(BadTrace) => {
                        *cursor = start;
                        cursor.skip()?;
                    }
                }
            }
            _ => cursor.skip()?,
        }
        cursor.takes(b',')?;
    }
    Ok(trace)
}

/// A frame whose end was not read yet.
#[derive(Default)]
struct Frame<'a> {
    kind: Option<&'a str>,
    from: Option<&'a str>,
    to: Option<&'a str>,
    value: Option<&'a str>,
    failed: bool,
    /// Its place among the operations.
    place: usize,
}

fn tree(cursor: &mut Cursor<'_>) -> Result<Option<Traced>, BadTrace> {
    let mut operations: Vec<Option<Operation>> = vec![None];
    let mut open = vec![Frame::default()];
    cursor.take(b'{')?;
    loop {
        let frame = open.last_mut().ok_or(BadTrace)?;
        if !cursor.takes(b'}')? {
            let name = cursor.string()?;
            cursor.take(b':')?;
            if name != "calls" || cursor.peek()? != b'[' {
                frame.member(name, cursor)?;
                cursor.takes(b',')?;
                continue;
            }
            cursor.take(b'[')?;
            if !cursor.takes(b']')? {
                begin(cursor, &mut open, &mut operations)?;
                continue;
            }
            cursor.takes(b',')?;
            continue;
        }
        let frame = open.pop().ok_or(BadTrace)?;
        if open.is_empty() {
            if !frame.is_root() {
                return Ok(None);
            }
            let mut operations: Vec<Operation> = operations.into_iter().flatten().collect();
            if frame.failed {
                operations.clear();
            }
            return Ok(Some(Traced { failed: frame.failed, operations }));
        }
        match frame.failed {
            true => operations.truncate(frame.place),
            false => operations[frame.place] = frame.operation()?,
        }
        match cursor.takes(b',')? {
            true => begin(cursor, &mut open, &mut operations)?,
            false => {
                // The list of children ends, and with it the member of the frame above.
                cursor.take(b']')?;
                cursor.takes(b',')?;
            }
        }
    }
}

fn begin<'a>(
    cursor: &mut Cursor<'a>,
    open: &mut Vec<Frame<'a>>,
    operations: &mut Vec<Option<Operation>>,
) -> Result<(), BadTrace> {
    cursor.take(b'{')?;
    if open.len() == DEEPEST {
        return Err(BadTrace);
    }
    open.push(Frame { place: operations.len(), ..Frame::default() });
    operations.push(None);
    Ok(())
}

impl<'a> Frame<'a> {
    fn member(&mut self, name: &str, cursor: &mut Cursor<'a>) -> Result<(), BadTrace> {
        match name {
            "type" => self.kind = cursor.string_or_null()?,
            "from" => self.from = cursor.string_or_null()?,
            "to" => self.to = cursor.string_or_null()?,
            "value" => self.value = cursor.string_or_null()?,
            "error" => self.failed |= cursor.string_or_null()?.is_some_and(|text| !text.is_empty()),
            _ => cursor.skip()?,
        }
        Ok(())
    }

    /// Whether it is what a transaction does first: a call or a creation, and by whom.
    fn is_root(&self) -> bool {
        matches!(self.kind, Some("CALL" | "CREATE")) && self.from.is_some()
    }

    /// What a frame that did not fail has done, if that is told.
    fn operation(&self) -> Result<Option<Operation>, BadTrace> {
        let value = match self.value {
            Some(text) => quantity::read::<U256>(text).ok_or(BadTrace)?,
            None if matches!(self.kind, Some("SELFDESTRUCT" | "SUICIDE")) => return Err(BadTrace),
            None => U256::ZERO,
        };
        let kind = match self.kind {
            Some("CALL") if value.is_zero() => return Ok(None),
            Some("CALL") => OperationKind::Call,
            Some("CREATE") => OperationKind::Create,
            Some("CREATE2") => OperationKind::Create2,
            Some("SELFDESTRUCT" | "SUICIDE") => OperationKind::SelfDestruct,
            Some(_) => return Ok(None),
            None => return Err(BadTrace),
        };
        // What a node leaves out is not the address of nobody.
        let address = |text: Option<&str>| text.and_then(quantity::read::<Address>).ok_or(BadTrace);
        // A created contract that has no address was not created.
        if self.to.is_none() && matches!(kind, OperationKind::Create | OperationKind::Create2) {
            return Ok(None);
        }
        Ok(Some(Operation { kind, from: address(self.from)?, to: address(self.to)?, value }))
    }
}
