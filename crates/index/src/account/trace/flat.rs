//! Flat traces: every frame of a block in one list, each with its path.
//!
//! Source: the `trace_block` call of OpenEthereum, as reth, Erigon, Nethermind and anvil write it.

use std::collections::HashMap;

use chain::account::{Address, Hash, U256};
use serde::Deserialize;

use super::{BadTrace, OneTrace};
use crate::account::facts::{Operation, OperationKind, Traced};
use crate::account::quantity::Hex;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    action: Action,
    result: Option<Made>,
    error: Option<String>,
    #[serde(default)]
    trace_address: Vec<u32>,
    block_hash: Option<Hex<Hash>>,
    transaction_hash: Option<Hex<Hash>>,
    transaction_position: Option<u32>,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Action {
    from: Option<Hex<Address>>,
    to: Option<Hex<Address>>,
    value: Option<Hex<U256>>,
    call_type: Option<String>,
    creation_method: Option<String>,
    address: Option<Hex<Address>>,
    refund_address: Option<Hex<Address>>,
    balance: Option<Hex<U256>>,
}

#[derive(Deserialize)]
struct Made {
    address: Option<Hex<Address>>,
}

/// What was read of a transaction so far.
#[derive(Default)]
struct Reading {
    hash: Option<Hash>,
    traced: Traced,
    /// Paths of frames that failed.
    failed: Vec<Vec<u32>>,
    seen: bool,
    /// A frame lacks what it must have.
    torn: bool,
}

/// Reads the traces of the block of that hash, which has `count` transactions.
pub(in crate::account) fn read_flat(
    text: &str,
    block: Hash,
    count: usize,
) -> Result<Vec<OneTrace>, BadTrace> {
    let entries: Vec<Entry> = serde_json::from_str(text).map_err(|_| BadTrace)?;
    let mut readings: HashMap<usize, Reading> = HashMap::new();
    for entry in entries {
        if entry.block_hash.as_ref().is_some_and(|hash| hash.0 != block) {
            return Err(BadTrace);
        }
        // A reward is of no transaction.
        let Some(place) = entry.transaction_position else { continue };
        let place = usize::try_from(place).ok().filter(|place| *place < count).ok_or(BadTrace)?;
        readings.entry(place).or_default().take(entry);
    }
    let mut one = |place: usize| {
        let reading = readings.remove(&place).filter(|reading| reading.seen);
        let hash = reading.as_ref().and_then(|reading| reading.hash);
        OneTrace { hash, traced: reading.and_then(Reading::end), is_foreign: false }
    };
    Ok((0..count).map(&mut one).collect())
}

impl Reading {
    fn take(&mut self, entry: Entry) {
        self.hash = entry.transaction_hash.as_ref().map(|hash| hash.0);
        let root = entry.trace_address.is_empty();
        self.seen |= root;
        let failed = entry.error.is_some();
        if self.failed.iter().any(|path| entry.trace_address.starts_with(path)) {
            return;
        }
        if failed {
            self.traced.failed |= root;
            self.failed.push(entry.trace_address);
            return;
        }
        if !root {
            match entry.operation() {
                Ok(operation) => self.traced.operations.extend(operation),
                Err(BadTrace) => self.torn = true,
            }
        }
    }

    /// What the frames tell; none where one of them lacks what it must have.
    fn end(self) -> Option<Traced> {
        (!self.torn).then_some(self.traced)
    }
}

impl Entry {
    /// What a frame that did not fail has done, if that is told.
    fn operation(&self) -> Result<Option<Operation>, BadTrace> {
        let action = &self.action;
        // What a node leaves out is not the address of nobody.
        let of = |address: &Option<Hex<Address>>| address.as_ref().map(|it| it.0).ok_or(BadTrace);
        let value = action.value.as_ref().map_or(U256::ZERO, |it| it.0);
        Ok(match self.kind.as_str() {
            "call" => {
                let plain = action.call_type.as_deref().is_none_or(|kind| kind == "call");
                if !plain || value.is_zero() {
                    return Ok(None);
                }
                let (from, to) = (of(&action.from)?, of(&action.to)?);
                Some(Operation { kind: OperationKind::Call, from, to, value })
            }
            "create" => {
                let kind = match action.creation_method.as_deref() {
                    Some("create2") => OperationKind::Create2,
                    _ => OperationKind::Create,
                };
                let made = self.result.as_ref().ok_or(BadTrace)?;
                let (from, to) = (of(&action.from)?, of(&made.address)?);
                Some(Operation { kind, from, to, value })
            }
            "suicide" | "selfdestruct" => Some(Operation {
                kind: OperationKind::SelfDestruct,
                from: of(&action.address)?,
                to: of(&action.refund_address)?,
                value: action.balance.as_ref().ok_or(BadTrace)?.0,
            }),
            _ => None,
        })
    }
}
