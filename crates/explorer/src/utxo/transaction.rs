//! A transaction as `/tx/{txid}` and every list show it.

use std::borrow::Cow;

use chain::utxo::{Destination, Kind, Layout, ScriptClass, Vote};
use index::utxo::{
    Inclusion, InputView, OutputRecord, TokenRecord, TransactionRecord, TransactionView,
};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::Desk;
use super::amount::Amount;
use super::hex::{BytesHex, HashHex};

/// A transaction.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Transaction")]
pub struct TransactionJson<'a> {
    /// Id.
    pub txid: HashHex,
    /// Absent while it waits and where it was voided, like `block_height`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_hash: Option<HashHex>,
    /// Height of its block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_height: Option<u32>,
    /// 0 while it waits, and where the votes of the next block voided it.
    pub confirmations: u32,
    /// Seconds since 1970 of its block; while it waits, of when it was seen first.
    pub time: u64,
    /// Inputs less outputs, and what comes out of shielded pools. Absent on a coinbase or treasurybase,
    /// and where all of a transaction is hidden in an extension block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fee: Option<Amount>,
    /// Bytes in all.
    pub size: u32,
    /// On chains with witness data. Of a waiting transaction with extension data on ltc it is the
    /// node's own, 0 if all of it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vsize: Option<u32>,
    /// As the chain's node prints it, unsigned on btc, ltc and xec.
    pub version: i64,
    /// Height or time before which it was not valid.
    pub lock_time: u32,
    /// Sum of the inputs; absent on a coinbase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_in: Option<Amount>,
    /// Sum of the outputs.
    pub value_out: Amount,
    /// Absent unless it is one.
    #[schemars(extend("enum" = [true]))]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub coinbase: bool,
    /// What it is for, on dcr; a coinbase is `regular` there.
    #[schemars(extend("enum" = [
        "regular", "ticket", "vote", "revocation", "treasurybase", "treasuryadd", "treasuryspend",
    ]))]
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// What a vote says, on dcr.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stake: Option<Stake>,
    /// Inputs in all, where `truncated`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vin_count: Option<usize>,
    /// Outputs in all, where `truncated`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vout_count: Option<usize>,
    /// In lists, from the first transaction on with which a page would have more than 5000 inputs
    /// and outputs; `vin` and `vout` are the first 25 of each then. `/tx` shows all.
    #[schemars(extend("enum" = [true]))]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    // These two are last: a long transaction is written up to here, and then item by item.
    /// Inputs in order.
    #[schemars(with = "Vec<Input<'a>>")]
    pub vin: Inputs<'a>,
    /// Outputs in order.
    #[schemars(with = "Vec<Output<'a>>")]
    pub vout: Outputs<'a>,
}

/// Inputs of a transaction, each made when it is written.
pub struct Inputs<'a> {
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

/// Outputs of a transaction, likewise.
pub struct Outputs<'a> {
    desk: &'a Desk,
    tx: &'a TransactionView,
    most: usize,
}

impl Serialize for Outputs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let outputs = (0..).zip(self.tx.record.outputs.iter().take(self.most));
        let kind = self.tx.record.kind;
        serializer.collect_seq(outputs.map(|(n, output)| self::output(self.desk, kind, n, output)))
    }
}

/// What a vote says of a block.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Stake {
    /// Whether the block's regular transactions are to stand.
    pub approves: bool,
    /// All choices of the vote, of which the lowest bit approves.
    pub vote_bits: u16,
    /// Version of the rules that the choices are of; 0 where the vote names none.
    pub vote_version: u32,
    /// Hash of the block that is voted on.
    pub votes_block_hash: HashHex,
    /// Its height.
    pub votes_height: u32,
}

/// An input.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Input<'a> {
    /// Place among the inputs.
    pub n: u32,
    /// Sequence number.
    pub sequence: u32,
    /// Absent where it spends no output: on a coinbase, and the first of a vote and the like on dcr.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub txid: Option<HashHex>,
    /// 4294967295 where it spends no output.
    pub vout: u32,
    /// Of the output that it spends. In lists absent, like `addresses`, from the first transaction on
    /// with which a page would need more than 1000 earlier outputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Amount>,
    /// The one address that the output pays; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addresses: Option<[Cow<'a, str>; 1]>,
    /// The script of a coinbase in hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coinbase: Option<BytesHex<'a>>,
}

/// An output.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output<'a> {
    /// Place among the outputs.
    pub n: u32,
    /// Amount in the smallest unit.
    pub value: Amount,
    /// The one address that it pays; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addresses: Option<[Cow<'a, str>; 1]>,
    /// On bch without the prefix of tokens.
    pub script_hex: BytesHex<'a>,
    /// The script's class, in the node's spelling.
    #[serde(rename = "type")]
    pub class: &'static str,
    /// Tokens that it holds, on bch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<Token<'a>>,
}

/// Tokens of an output, in the node's own words.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Token<'a> {
    /// Of fungible tokens.
    pub amount: Amount,
    /// Id of the kind.
    pub category: HashHex,
    /// The one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nft: Option<Nft<'a>>,
}

/// A token of its own.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Nft<'a> {
    /// What may be made of it.
    #[schemars(extend("enum" = ["none", "mutable", "minting"]))]
    pub capability: &'static str,
    /// Hex.
    pub commitment: BytesHex<'a>,
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

/// A transaction as it is shown.
pub(super) fn transaction_json<'a>(
    desk: &'a Desk,
    tx: &'a TransactionView,
    shape: Shape,
) -> TransactionJson<'a> {
    let (record, cut) = (&tx.record, shape == Shape::Cut);
    let value_out = record.value_out() as i128;
    let (block_hash, block_height, confirmations, time) = match tx.inclusion {
        Inclusion::Block { height, hash, time } => {
            (Some(HashHex(hash)), Some(height), desk.confirmations(height), time.into())
        }
        Inclusion::Voided { time, .. } => (None, None, 0, time.into()),
        Inclusion::Mempool { first_seen } => (None, None, 0, first_seen),
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
        version: version(desk, record.version),
        lock_time: record.lock_time,
        value_in: record.value_in.map(|value_in| Amount(value_in as i128)),
        value_out: Amount(value_out),
        coinbase: record.is_coinbase(),
        kind: (desk.format.layout == Layout::Staked).then(|| record.kind.as_str()),
        stake: stake(record),
        vin_count: cut.then_some(tx.inputs.len()),
        vout_count: cut.then_some(record.outputs.len()),
        truncated: cut,
        vin: Inputs { desk, tx, most: shape.most() },
        vout: Outputs { desk, tx, most: shape.most() },
    }
}

/// A version as the chain's node prints it (decision U12).
fn version(desk: &Desk, version: i32) -> i64 {
    if desk.format.unsigned_version { i64::from(version.cast_unsigned()) } else { version.into() }
}

/// What it says, if it is a vote: the first two outputs hold it.
fn stake(record: &TransactionRecord) -> Option<Stake> {
    let [block, choices, ..] = &record.outputs[..] else { return None };
    if record.kind != Kind::Vote {
        return None;
    }
    let vote = Vote::of_scripts(&block.script, &choices.script)?;
    Some(Stake {
        approves: vote.approves(),
        vote_bits: vote.bits,
        vote_version: vote.version,
        votes_block_hash: HashHex(vote.block_hash),
        votes_height: vote.block_height,
    })
}

/// An input, the `n`th.
pub(super) fn input<'a>(
    desk: &'a Desk,
    n: u32,
    input: &InputView,
    coinbase: Option<&'a [u8]>,
) -> Input<'a> {
    let spent = input.spent.as_ref();
    Input {
        n,
        sequence: input.sequence,
        txid: input.txid.map(HashHex),
        vout: input.vout,
        value: input.value.map(Amount::of),
        addresses: spent.and_then(|spent| addresses(desk, spent)),
        coinbase: coinbase.map(BytesHex),
    }
}

/// An output, the `n`th.
pub(super) fn output<'a>(
    desk: &'a Desk,
    kind: Kind,
    n: u32,
    output: &'a OutputRecord,
) -> Output<'a> {
    let (script, version) = (&output.script[..], output.version);
    let class = ScriptClass::of_output(script, version, kind, n as usize, &desk.format.scripts);
    Output {
        n,
        value: Amount::of(output.value),
        addresses: addresses(desk, output),
        script_hex: BytesHex(&output.script),
        class: class.as_str(),
        token: output.token.as_ref().map(token),
    }
}

/// The one address of an output, if it has one (decision U1): a script of another version than the
/// first means nothing yet.
fn addresses<'a>(desk: &'a Desk, output: &OutputRecord) -> Option<[Cow<'a, str>; 1]> {
    let script = (output.version == 0).then_some(&output.script)?;
    // That of the list's own address stands in each of its transactions.
    if let Some(own) = desk.own.as_ref().filter(|own| own.script() == script) {
        return Some([own.address().into()]);
    }
    let destination = Destination::of_script(script, &desk.format.scripts)?;
    desk.network.addresses.encode(&destination).map(|address| [address.into()])
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
