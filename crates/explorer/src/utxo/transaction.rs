//! A transaction as `/tx/{txid}` and every list show it.

use std::ops::Range;

use chain::utxo::{Destination, ScriptClass};
use index::utxo::{InputView, OutputRecord, Place, TokenRecord, TransactionView};
use serde::{Serialize, Serializer};

use super::Desk;
use super::amount::Amount;
use super::block::confirmations;
use super::hex::{BytesHex, HashHex};

/// A transaction.
#[derive(Serialize)]
struct TransactionJson<'a> {
    txid: HashHex,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_hash: Option<HashHex>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_height: Option<u32>,
    confirmations: u32,
    time: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fee: Option<Amount>,
    size: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    vsize: Option<u32>,
    version: i64,
    lock_time: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_in: Option<Amount>,
    value_out: Amount,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    coinbase: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    vin_count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vout_count: Option<usize>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    // These two are last: a long transaction is written up to here, and then item by item.
    vin: Inputs<'a>,
    vout: Outputs<'a>,
}

/// Its inputs, each made when it is written.
struct Inputs<'a> {
    desk: &'a Desk,
    tx: &'a TransactionView,
    most: usize,
}

impl Serialize for Inputs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let coinbase = self.tx.record.coinbase_script();
        let inputs = (0..).zip(self.tx.inputs.iter().take(self.most));
        serializer.collect_seq(inputs.map(|(n, input)| self::input(self.desk, n, input, coinbase)))
    }
}

/// Its outputs, likewise.
struct Outputs<'a> {
    desk: &'a Desk,
    tx: &'a TransactionView,
    most: usize,
}

impl Serialize for Outputs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let outputs = (0..).zip(self.tx.record.outputs.iter().take(self.most));
        serializer.collect_seq(outputs.map(|(n, output)| self::output(self.desk, n, output)))
    }
}

#[derive(Debug, Serialize)]
struct Input<'a> {
    n: u32,
    sequence: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    txid: Option<HashHex>,
    vout: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    addresses: Option<[String; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    coinbase: Option<BytesHex<'a>>,
}

#[derive(Debug, Serialize)]
struct Output<'a> {
    n: u32,
    value: Amount,
    #[serde(skip_serializing_if = "Option::is_none")]
    addresses: Option<[String; 1]>,
    script_hex: BytesHex<'a>,
    #[serde(rename = "type")]
    class: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<Token<'a>>,
}

/// Tokens of an output, in the node's own words.
#[derive(Debug, Serialize)]
struct Token<'a> {
    amount: Amount,
    category: HashHex,
    #[serde(skip_serializing_if = "Option::is_none")]
    nft: Option<Nft<'a>>,
}

#[derive(Debug, Serialize)]
struct Nft<'a> {
    capability: &'static str,
    commitment: BytesHex<'a>,
}

/// How much of a transaction is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// All of it.
    Whole,
    /// The first few inputs and outputs (decision E17).
    Cut,
    /// Neither inputs nor outputs.
    Bare,
}

impl Shape {
    /// Most inputs, and most outputs.
    fn most(self) -> usize {
        match self {
            Shape::Whole => usize::MAX,
            Shape::Cut => 25,
            Shape::Bare => 0,
        }
    }
}

/// About so many bytes a transaction takes.
pub(crate) fn length(tx: &TransactionView) -> usize {
    let coinbase = tx.record.coinbase_script().map_or(0, <[u8]>::len);
    let scripts: usize = tx.record.outputs.iter().map(|output| output.script.len()).sum();
    480 + 2 * (coinbase + scripts) + 208 * tx.inputs.len() + 144 * tx.record.outputs.len()
}

/// Writes a transaction.
pub(crate) fn write(out: &mut Vec<u8>, desk: &Desk, tx: &TransactionView, shape: Shape) {
    put(out, &transaction_json(desk, tx, shape));
}

/// Writes a transaction up to its first input.
pub(crate) fn write_head(out: &mut Vec<u8>, desk: &Desk, tx: &TransactionView) {
    const END: &[u8] = b"],\"vout\":[]}";
    write(out, desk, tx, Shape::Bare);
    debug_assert!(out.ends_with(END));
    out.truncate(out.len() - END.len());
}

/// Writes some of its inputs, as items of the list.
pub(crate) fn write_inputs(
    out: &mut Vec<u8>,
    desk: &Desk,
    tx: &TransactionView,
    which: Range<usize>,
) {
    let coinbase = tx.record.coinbase_script();
    for (n, one) in tx.inputs.iter().enumerate().take(which.end).skip(which.start) {
        separate(out, n);
        put(out, &input(desk, n as u32, one, coinbase));
    }
}

/// Writes some of its outputs, likewise.
pub(crate) fn write_outputs(
    out: &mut Vec<u8>,
    desk: &Desk,
    tx: &TransactionView,
    which: Range<usize>,
) {
    let outputs = tx.record.outputs.iter().enumerate();
    for (n, one) in outputs.take(which.end).skip(which.start) {
        separate(out, n);
        put(out, &output(desk, n as u32, one));
    }
}

fn separate(out: &mut Vec<u8>, n: usize) {
    if n > 0 {
        out.push(b',');
    }
}

fn put(out: &mut Vec<u8>, view: &impl Serialize) {
    serde_json::to_writer(out, view).expect("views have text keys and finite numbers");
}

/// A transaction as it is shown.
fn transaction_json<'a>(
    desk: &'a Desk,
    tx: &'a TransactionView,
    shape: Shape,
) -> TransactionJson<'a> {
    let (record, cut) = (&tx.record, shape == Shape::Cut);
    let value_out = record.value_out() as i128;
    let (block_hash, block_height, confirmations, time) = match tx.place {
        Place::Block { height, hash, time } => {
            let confirmations = confirmations(desk, height);
            (Some(HashHex(hash)), Some(height), confirmations, time.into())
        }
        Place::Voided { time, .. } => (None, None, 0, time.into()),
        Place::Mempool { first_seen } => (None, None, 0, first_seen),
    };
    TransactionJson {
        txid: HashHex(record.txid),
        block_hash,
        block_height,
        confirmations,
        time,
        fee: record.fee.map(Amount),
        size: record.size,
        vsize: desk.format.witness.then_some(record.vsize),
        // The bits are the same; only how they are printed differs (decision U12).
        version: match desk.format.unsigned_version {
            true => i64::from(record.version as u32),
            false => i64::from(record.version),
        },
        lock_time: record.lock_time,
        value_in: record.value_in.map(|value_in| Amount(value_in as i128)),
        value_out: Amount(value_out),
        coinbase: record.is_coinbase(),
        vin_count: cut.then_some(tx.inputs.len()),
        vout_count: cut.then_some(record.outputs.len()),
        truncated: cut,
        vin: Inputs { desk, tx, most: shape.most() },
        vout: Outputs { desk, tx, most: shape.most() },
    }
}

fn input<'a>(desk: &Desk, n: u32, input: &InputView, coinbase: Option<&'a [u8]>) -> Input<'a> {
    let spent = input.spent.as_ref();
    Input {
        n,
        sequence: input.sequence,
        txid: input.txid.map(HashHex),
        vout: input.vout,
        value: input.value.map(Amount::of),
        addresses: spent.and_then(|spent| addresses(desk, &spent.script)),
        coinbase: coinbase.map(BytesHex),
    }
}

fn output<'a>(desk: &Desk, n: u32, output: &'a OutputRecord) -> Output<'a> {
    Output {
        n,
        value: Amount::of(output.value),
        addresses: addresses(desk, &output.script),
        script_hex: BytesHex(&output.script),
        class: ScriptClass::of(&output.script, &desk.format.scripts).as_str(),
        token: output.token.as_ref().map(token),
    }
}

/// The one address of a script, if it has one (decision U1).
fn addresses(desk: &Desk, script: &[u8]) -> Option<[String; 1]> {
    let destination = Destination::of_script(script, &desk.format.scripts)?;
    desk.network.addresses.encode(&destination).map(|address| [address])
}

fn token(token: &TokenRecord) -> Token<'_> {
    Token {
        amount: Amount::of(token.amount),
        category: HashHex(token.category),
        nft: token.nft.as_ref().map(|nft| Nft {
            capability: nft.capability.as_str(),
            commitment: BytesHex(&nft.commitment),
        }),
    }
}
