//! The bytes of the rows' values.
//!
//! Invariant: what is written is read back as it was; anything else is a `BadRow`. Amounts are a
//! length and so many bytes, highest first, without zeros before them.

use chain::account::{Address, Hash, U256};

use super::facts::{BlobCost, BlockFacts, Log, Operation, OperationKind, Status, Transaction};
use crate::row::{BadRow, RowReader, put_prefixed, put_varint};
use crate::store::LastBlock;

fn put_amount(out: &mut Vec<u8>, amount: &U256) {
    let bytes = amount.to_be_bytes::<32>();
    let zeros = amount.leading_zeros() / 8;
    put_prefixed(out, &bytes[zeros..]);
}

fn amount(reader: &mut RowReader<'_>) -> Result<U256, BadRow> {
    let bytes = reader.prefixed()?;
    if bytes.len() > 32 || bytes.first() == Some(&0) {
        return Err(BadRow);
    }
    let mut whole = [0; 32];
    whole[32 - bytes.len()..].copy_from_slice(bytes);
    Ok(U256::from_be_bytes(whole))
}

fn hash(reader: &mut RowReader<'_>) -> Result<Hash, BadRow> {
    reader.array().map(Hash)
}

fn address(reader: &mut RowReader<'_>) -> Result<Address, BadRow> {
    reader.array().map(Address)
}

/// Which optional parts of a block are there.
mod block_marks {
    pub(super) const BASE_FEE: u8 = 1;
    pub(super) const WITHDRAWALS: u8 = 2;
    pub(super) const EXCESS_BLOB_GAS: u8 = 4;
}

impl BlockFacts {
    /// `hash [32] ‖ parent [32] ‖ state root [32] ‖ miner [20] ‖ marks u8`, then varints and
    /// amounts in the order of the fields, then what its maker wrote.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(220);
        for hash in [&self.hash, &self.parent, &self.state_root] {
            out.extend_from_slice(&hash.0);
        }
        out.extend_from_slice(&self.miner.0);
        let mark = |there: bool, mark| if there { mark } else { 0 };
        out.push(
            mark(self.base_fee.is_some(), block_marks::BASE_FEE)
                | mark(self.withdrawals.is_some(), block_marks::WITHDRAWALS)
                | mark(self.excess_blob_gas.is_some(), block_marks::EXCESS_BLOB_GAS),
        );
        let numbers = [self.time, self.tx_count.into(), self.gas_used, self.gas_limit, self.size];
        numbers.into_iter().for_each(|number| put_varint(&mut out, number));
        for amount in [&self.difficulty, &self.total_fees, &self.total_value, &self.issuance] {
            put_amount(&mut out, amount);
        }
        self.base_fee.iter().for_each(|amount| put_amount(&mut out, amount));
        self.withdrawals.iter().for_each(|count| put_varint(&mut out, (*count).into()));
        self.excess_blob_gas.iter().for_each(|gas| put_varint(&mut out, *gas));
        out.extend_from_slice(&self.extra_data);
        out
    }

    pub(crate) fn read(height: u32, row: &[u8]) -> Result<BlockFacts, BadRow> {
        let mut reader = RowReader::new(row);
        let (own, parent) = (hash(&mut reader)?, hash(&mut reader)?);
        let (state_root, miner) = (hash(&mut reader)?, address(&mut reader)?);
        let marks = reader.u8()?;
        let (time, tx_count) = (reader.varint()?, reader.small()?);
        let (gas_used, gas_limit, size) = (reader.varint()?, reader.varint()?, reader.varint()?);
        let (difficulty, total_fees) = (amount(&mut reader)?, amount(&mut reader)?);
        let (total_value, issuance) = (amount(&mut reader)?, amount(&mut reader)?);
        let has = |mark| marks & mark != 0;
        let base_fee = has(block_marks::BASE_FEE).then(|| amount(&mut reader)).transpose()?;
        let withdrawals = has(block_marks::WITHDRAWALS).then(|| reader.small()).transpose()?;
        let blobs = has(block_marks::EXCESS_BLOB_GAS).then(|| reader.varint()).transpose()?;
        Ok(BlockFacts {
            height,
            hash: own,
            parent,
            state_root,
            miner,
            time,
            tx_count,
            gas_used,
            gas_limit,
            base_fee,
            difficulty,
            total_fees,
            total_value,
            issuance,
            size,
            withdrawals,
            excess_blob_gas: blobs,
            extra_data: reader.rest().to_vec(),
        })
    }
}

/// Which optional parts of a transaction are there.
mod tx_marks {
    pub(super) const TO: u8 = 1;
    pub(super) const MAX_FEE: u8 = 2;
    pub(super) const BLOB: u8 = 4;
    pub(super) const CREATED: u8 = 8;
    pub(super) const OTHER_PRICE: u8 = 16;
}

impl Status {
    fn byte(self) -> u8 {
        match self {
            Status::Failed => 0,
            Status::Success => 1,
            Status::Unknown => 2,
        }
    }

    fn of(byte: u8) -> Result<Status, BadRow> {
        match byte {
            0 => Ok(Status::Failed),
            1 => Ok(Status::Success),
            2 => Ok(Status::Unknown),
            _ => Err(BadRow),
        }
    }
}

impl Transaction {
    /// `hash [32] ‖ from [20] ‖ type u8 ‖ status u8 ‖ marks u8 ‖ to [20]? ‖ created [20]?`, then
    /// varints and amounts in the order of the fields, then the input.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(140 + self.input.len());
        out.extend_from_slice(&self.hash.0);
        out.extend_from_slice(&self.from.0);
        let mark = |there: bool, mark| if there { mark } else { 0 };
        let other_price = self.effective_gas_price != self.gas_price;
        let marks = mark(self.to.is_some(), tx_marks::TO)
            | mark(self.max_fee.is_some(), tx_marks::MAX_FEE)
            | mark(self.blob.is_some(), tx_marks::BLOB)
            | mark(self.created.is_some(), tx_marks::CREATED)
            | mark(other_price, tx_marks::OTHER_PRICE);
        out.extend_from_slice(&[self.kind, self.status.byte(), marks]);
        let addresses = self.to.iter().chain(&self.created);
        addresses.for_each(|address| out.extend_from_slice(&address.0));
        let logs = [u64::from(self.first_log), u64::from(self.log_count)];
        let numbers = [self.nonce, self.gas_limit, self.gas_used].into_iter().chain(logs);
        numbers.for_each(|number| put_varint(&mut out, number));
        put_amount(&mut out, &self.value);
        put_amount(&mut out, &self.gas_price);
        if other_price {
            put_amount(&mut out, &self.effective_gas_price);
        }
        self.max_fee.iter().for_each(|amount| put_amount(&mut out, amount));
        if let Some(blob) = &self.blob {
            put_varint(&mut out, blob.gas_used);
            put_amount(&mut out, &blob.gas_price);
        }
        out.extend_from_slice(&self.input);
        out
    }

    pub(crate) fn read(row: &[u8]) -> Result<Transaction, BadRow> {
        let mut reader = RowReader::new(row);
        let (own, from) = (hash(&mut reader)?, address(&mut reader)?);
        let [kind, status, marks] = reader.array()?;
        let has = |mark| marks & mark != 0;
        let to = has(tx_marks::TO).then(|| address(&mut reader)).transpose()?;
        let created = has(tx_marks::CREATED).then(|| address(&mut reader)).transpose()?;
        let (nonce, gas_limit, gas_used) = (reader.varint()?, reader.varint()?, reader.varint()?);
        let (first_log, log_count) = (reader.small()?, reader.small()?);
        let (value, gas_price) = (amount(&mut reader)?, amount(&mut reader)?);
        let price = has(tx_marks::OTHER_PRICE).then(|| amount(&mut reader)).transpose()?;
        let max_fee = has(tx_marks::MAX_FEE).then(|| amount(&mut reader)).transpose()?;
        let mut blob =
            || Ok(BlobCost { gas_used: reader.varint()?, gas_price: amount(&mut reader)? });
        let blob = has(tx_marks::BLOB).then(&mut blob).transpose()?;
        Ok(Transaction {
            hash: own,
            from,
            to,
            kind,
            nonce,
            value,
            gas_limit,
            gas_price,
            max_fee,
            input: reader.rest().to_vec(),
            status: Status::of(status)?,
            gas_used,
            effective_gas_price: price.unwrap_or(gas_price),
            blob,
            created,
            first_log,
            log_count,
        })
    }
}

/// `count`, then of each `address [20] ‖ topics u8 ‖ topic [32]… ‖ data` with its length.
pub(crate) fn logs_bytes(logs: &[Log]) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, logs.len() as u64);
    for log in logs {
        out.extend_from_slice(&log.address.0);
        put_varint(&mut out, log.topics.len() as u64);
        log.topics.iter().for_each(|topic| out.extend_from_slice(topic));
        put_prefixed(&mut out, &log.data);
    }
    out
}

pub(crate) fn read_logs(row: &[u8]) -> Result<Vec<Log>, BadRow> {
    let mut reader = RowReader::new(row);
    let count = reader.count()?;
    let mut logs = Vec::with_capacity(count);
    for _ in 0..count {
        let address = address(&mut reader)?;
        let topics = (0..reader.count()?).map(|_| reader.array()).collect::<Result<_, _>>()?;
        logs.push(Log { address, topics, data: reader.prefixed()?.to_vec() });
    }
    reader.end().map(|()| logs)
}

impl OperationKind {
    fn byte(self) -> u8 {
        self as u8
    }

    fn of(byte: u8) -> Result<OperationKind, BadRow> {
        match byte {
            0 => Ok(OperationKind::Call),
            1 => Ok(OperationKind::Create),
            2 => Ok(OperationKind::Create2),
            3 => Ok(OperationKind::SelfDestruct),
            _ => Err(BadRow),
        }
    }
}

/// `count`, then of each `kind u8 ‖ from [20] ‖ to [20] ‖ value`.
pub(crate) fn operations_bytes(operations: &[Operation]) -> Vec<u8> {
    let mut out = Vec::with_capacity(4 + 50 * operations.len());
    put_varint(&mut out, operations.len() as u64);
    for operation in operations {
        out.push(operation.kind.byte());
        out.extend_from_slice(&operation.from.0);
        out.extend_from_slice(&operation.to.0);
        put_amount(&mut out, &operation.value);
    }
    out
}

pub(crate) fn read_operations(row: &[u8]) -> Result<Vec<Operation>, BadRow> {
    let mut reader = RowReader::new(row);
    let count = reader.count()?;
    let mut operations = Vec::with_capacity(count);
    for _ in 0..count {
        let kind = OperationKind::of(reader.u8()?)?;
        let (from, to) = (address(&mut reader)?, address(&mut reader)?);
        operations.push(Operation { kind, from, to, value: amount(&mut reader)? });
    }
    reader.end().map(|()| operations)
}

/// How often the traces of a block were asked for in vain, and when they are asked for again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Retry {
    pub(crate) tries: u8,
    /// Seconds since 1970.
    pub(crate) next_secs: u64,
}

impl Retry {
    pub(crate) fn bytes(self) -> [u8; 9] {
        let mut out = [self.tries; 9];
        out[1..].copy_from_slice(&self.next_secs.to_be_bytes());
        out
    }

    pub(crate) fn read(row: &[u8]) -> Result<Retry, BadRow> {
        let (tries, next) = row.split_first().ok_or(BadRow)?;
        let next = next.try_into().map_err(|_| BadRow)?;
        Ok(Retry { tries: *tries, next_secs: u64::from_be_bytes(next) })
    }
}

/// An end of what is held: a height and a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct End {
    /// Height of the block.
    pub height: u32,
    /// Its own hash at the tip; that of the block before it at the base.
    pub hash: Hash,
}

impl LastBlock for End {
    type Hash = Hash;
    type Block = BlockFacts;

    fn of(block: &BlockFacts) -> End {
        End { height: block.height, hash: block.hash }
    }

    fn height(&self) -> u32 {
        self.height
    }

    fn hash(&self) -> Hash {
        self.hash
    }

    fn bytes(&self) -> Vec<u8> {
        [&self.height.to_be_bytes()[..], &self.hash.0].concat()
    }

    fn read(row: &[u8]) -> Result<End, BadRow> {
        let mut reader = RowReader::new(row);
        let end = End { height: reader.u32()?, hash: hash(&mut reader)? };
        reader.end().map(|()| end)
    }
}

#[cfg(test)]
mod tests;
