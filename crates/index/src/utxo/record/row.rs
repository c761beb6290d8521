//! The bytes of a record: the order of its parts, for whoever knows them at different times.
//!
//! The first load writes a transaction's own parts where it is decoded, and joins them with what
//! its inputs spend once that is known. Leaves outputs to `outputs`. Invariant: a row is the same
//! bytes whoever writes it.

use chain::Hash32;
use chain::utxo::{Kind, Pools};

use super::kind::{code, has_base, of_code};
use super::{BaseInput, InputRecord, NAMED_ABOVE, Spent, TransactionRecord, fee};
use crate::row::{BadRow, RowReader, put_prefixed, put_signed, put_varint};
use crate::utxo::outputs::{Extras, OutputRecord, put_output, read_output, read_outputs};

/// The kind's code.
const KIND: u8 = 7;
/// The previous txids stand behind the inputs.
const NAMED: u8 = 8;
/// An output has tokens, so that of each it is said which.
const TOKENS: u8 = 16;
/// Outputs replaced those of an earlier twin.
const REPLACED: u8 = 32;
/// It moves coins in or out of shielded pools.
const POOLS: u8 = 64;
/// The script of an output has another version than 0, so that of each it is said which.
const VERSIONS: u8 = 128;

/// What a row begins with.
pub(crate) struct Head<'a> {
    pub(crate) txid: Hash32,
    pub(crate) kind: Kind,
    pub(crate) version: i32,
    pub(crate) lock_time: u32,
    pub(crate) size: u32,
    pub(crate) vsize: u32,
    pub(crate) pools: &'a Pools,
    /// Whether an output has tokens.
    pub(crate) tokens: bool,
    /// Whether an output's script has another version than 0.
    pub(crate) versions: bool,
    /// Whether the previous txids stand behind the inputs.
    pub(crate) named: bool,
}

/// What a transaction gives of its row by itself.
pub(crate) struct Parts<'a> {
    /// [`put_head`].
    pub(crate) head: &'a [u8],
    /// [`put_outputs`], then [`put_base`] if its first input spends no output.
    pub(crate) outputs: &'a [u8],
    /// The previous txids, if it is named.
    pub(crate) names: &'a [u8],
}

/// Marks, txid, version, lock time, size, size less vsize, pools.
pub(crate) fn put_head(out: &mut Vec<u8>, head: &Head<'_>) {
    let mark = |on: bool, mark: u8| if on { mark } else { 0 };
    out.push(
        code(head.kind)
            | mark(head.named, NAMED)
            | mark(head.tokens, TOKENS)
            | mark(*head.pools != Pools::default(), POOLS)
            | mark(head.versions, VERSIONS),
    );
    out.extend_from_slice(head.txid.wire());
    put_signed(out, head.version.into());
    put_varint(out, head.lock_time.into());
    put_varint(out, head.size.into());
    put_signed(out, i128::from(head.size) - i128::from(head.vsize));
    put_pools(out, head.pools);
}

/// The pools that it changes: their number, then code and value of each; nothing if there are none.
fn put_pools(out: &mut Vec<u8>, pools: &Pools) {
    let all = || (0u8..).zip(pools.by_name()).filter(|(_, (_, value))| *value != 0);
    let count = all().count() as u64;
    if count > 0 {
        put_varint(out, count);
    }
    for (code, (_, value)) in all() {
        out.push(code);
        put_signed(out, value);
    }
}

/// The number of outputs, then each.
pub(crate) fn put_outputs(
    out: &mut Vec<u8>,
    outputs: &[OutputRecord],
    tokens: bool,
    versions: bool,
) {
    put_varint(out, outputs.len() as u64);
    for OutputRecord { value, version, script, token } in outputs {
        let token = tokens.then_some(token.as_ref());
        put_output(out, *value, script, token, versions.then_some(*version));
    }
}

/// The first input, where it spends no output: sequence, 1 and a value or 0, script.
pub(crate) fn put_base(out: &mut Vec<u8>, sequence: u32, value: Option<u64>, script: &[u8]) {
    put_sequence(out, sequence);
    match value {
        None => out.push(0),
        Some(value) => {
            out.push(1);
            put_varint(out, value);
        }
    }
    put_prefixed(out, script);
}

/// Puts the row of the transaction at `txnum` together. `value` is the sum of the inputs less that
/// of the outputs, of kinds that count it.
pub(crate) fn put_row(
    out: &mut Vec<u8>,
    txnum: u64,
    parts: &Parts<'_>,
    value: Option<i128>,
    inputs: impl ExactSizeIterator<Item = InputRecord>,
    replaced: &[u32],
) {
    let at = out.len();
    out.extend_from_slice(parts.head);
    if let Some(value) = value {
        put_signed(out, value);
    }
    out.extend_from_slice(parts.outputs);
    put_varint(out, inputs.len() as u64);
    for InputRecord { txnum: previous, vout, sequence } in inputs {
        put_signed(out, i128::from(txnum) - i128::from(previous));
        put_varint(out, vout.into());
        put_sequence(out, sequence);
    }
    out.extend_from_slice(parts.names);
    if !replaced.is_empty() {
        out[at] |= REPLACED;
        put_varint(out, replaced.len() as u64);
        replaced.iter().for_each(|vout| put_varint(out, (*vout).into()));
    }
}

/// A head that was read, with its marks.
pub(super) struct ReadHead {
    marks: u8,
    txid: Hash32,
    kind: Kind,
    version: i32,
    lock_time: u32,
    size: u32,
    vsize: u32,
    pools: Pools,
    value: Option<i128>,
}

impl ReadHead {
    fn extras(&self) -> Extras {
        Extras { tokens: self.marks & TOKENS != 0, versions: self.marks & VERSIONS != 0 }
    }
}

pub(super) fn read_head(reader: &mut RowReader<'_>) -> Result<ReadHead, BadRow> {
    let marks = reader.u8()?;
    let kind = of_code(marks & KIND);
    let txid = Hash32::from_wire(reader.array()?);
    let version = i32::try_from(reader.signed()?).map_err(|_| BadRow)?;
    let (lock_time, size) = (reader.small()?, reader.small()?);
    let less = reader.signed()?;
    let vsize = i128::from(size).checked_sub(less).and_then(|vsize| vsize.try_into().ok());
    let vsize = vsize.ok_or(BadRow)?;
    let pools = if marks & POOLS != 0 { read_pools(reader)? } else { Pools::default() };
    let value = if kind.has_value_in() { Some(reader.signed()?) } else { None };
    Ok(ReadHead { marks, txid, kind, version, lock_time, size, vsize, pools, value })
}

fn read_pools(reader: &mut RowReader<'_>) -> Result<Pools, BadRow> {
    let mut pools = Pools::default();
    let mut last = None;
    for _ in 0..reader.count()? {
        let (code, value) = (reader.u8()?, reader.signed()?);
        if value == 0 || last >= Some(code) {
            return Err(BadRow);
        }
        let small = || i64::try_from(value).map_err(|_| BadRow);
        match code {
            0 => pools.sprout = value,
            1 => pools.sapling = small()?,
            2 => pools.orchard = small()?,
            3 => pools.ironwood = small()?,
            _ => return Err(BadRow),
        }
        last = Some(code);
    }
    let sane = pools.sprout.unsigned_abs() <= 1 << 100;
    if last.is_some() && sane { Ok(pools) } else { Err(BadRow) }
}

/// Reads what follows a head.
pub(super) fn read_rest(
    reader: &mut RowReader<'_>,
    head: ReadHead,
    txnum: u64,
) -> Result<TransactionRecord, BadRow> {
    let outputs = read_outputs(reader, head.extras())?;
    let base = if has_base(head.kind) { Some(read_base(reader)?) } else { None };
    let inputs = read_inputs(reader, txnum)?;
    let named = head.marks & NAMED != 0;
    let names = if named { Some(read_names(reader, inputs.len())?) } else { None };
    let replaced = if head.marks & REPLACED != 0 { read_replaced(reader)? } else { Vec::new() };
    reader.end()?;
    let ReadHead { txid, kind, version, lock_time, size, vsize, pools, value, .. } = head;
    let value_out: u128 = outputs.iter().map(|output| u128::from(output.value)).sum();
    let value_in = value.map(|value| value.checked_add(value_out as i128).ok_or(BadRow));
    let value_in = value_in.transpose()?.map(u128::try_from).transpose().map_err(|_| BadRow)?;
    if value_in.is_some_and(|value_in| value_in > i128::MAX as u128 / 2) {
        return Err(BadRow);
    }
    let fee = fee(kind, value_in, value_out, &pools);
    Ok(TransactionRecord {
        txid,
        kind,
        version,
        lock_time,
        size,
        vsize,
        value_in,
        fee,
        pools,
        base,
        outputs,
        inputs,
        names,
        replaced,
    })
}

fn read_base(reader: &mut RowReader<'_>) -> Result<BaseInput, BadRow> {
    let sequence = read_sequence(reader)?;
    let value = match reader.u8()? {
        0 => None,
        1 => Some(reader.varint()?),
        _ => return Err(BadRow),
    };
    Ok(BaseInput { sequence, value, script: reader.prefixed()?.to_vec() })
}

fn read_inputs(reader: &mut RowReader<'_>, txnum: u64) -> Result<Vec<InputRecord>, BadRow> {
    let count = reader.count()?;
    let mut inputs = Vec::with_capacity(count);
    for _ in 0..count {
        let previous = i128::from(txnum).checked_sub(reader.signed()?).ok_or(BadRow)?;
        inputs.push(InputRecord {
            txnum: u64::try_from(previous).map_err(|_| BadRow)?,
            vout: reader.small()?,
            sequence: read_sequence(reader)?,
        });
    }
    Ok(inputs)
}

fn read_names(reader: &mut RowReader<'_>, count: usize) -> Result<Vec<Hash32>, BadRow> {
    (0..count).map(|_| reader.array().map(Hash32::from_wire)).collect()
}

fn read_replaced(reader: &mut RowReader<'_>) -> Result<Vec<u32>, BadRow> {
    (0..reader.count()?).map(|_| reader.small()).collect()
}

/// Reads of the row at one place only the id and one output; none where it has fewer outputs.
pub(crate) fn read_spent(row: &[u8], vout: u32) -> Result<Option<Spent>, BadRow> {
    let mut reader = RowReader::new(row);
    let head = read_head(&mut reader)?;
    let output = read_output(&mut reader, head.extras(), vout)?;
    let coinbase = head.kind == Kind::Coinbase;
    Ok(output.map(|output| Spent { txid: head.txid, coinbase, output }))
}

/// Reads of a row only the id.
pub(crate) fn read_txid(row: &[u8]) -> Result<Hash32, BadRow> {
    let mut reader = RowReader::new(row);
    reader.u8()?;
    reader.array().map(Hash32::from_wire)
}

/// Whether the previous txids of so many inputs stand in the row.
pub(crate) fn is_named(inputs: usize) -> bool {
    inputs > NAMED_ABOVE
}

/// The usual sequence numbers take one byte.
const USUAL: [u32; 4] = [u32::MAX, u32::MAX - 1, u32::MAX - 2, 0];

fn put_sequence(out: &mut Vec<u8>, sequence: u32) {
    match USUAL.iter().position(|usual| *usual == sequence) {
        Some(place) => out.push(place as u8),
        None => {
            out.push(USUAL.len() as u8);
            out.extend_from_slice(&sequence.to_be_bytes());
        }
    }
}

fn read_sequence(reader: &mut RowReader<'_>) -> Result<u32, BadRow> {
    let code = usize::from(reader.u8()?);
    match USUAL.get(code) {
        Some(sequence) => Ok(*sequence),
        None if code == USUAL.len() => reader.u32(),
        None => Err(BadRow),
    }
}
