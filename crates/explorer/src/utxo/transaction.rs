//! `/tx/{txid}`, and a transaction as every list shows it.

use chain::Hash32;
use chain::utxo::{Destination, ScriptClass};
use index::utxo::{InputView, OutputRecord, Place, TokenRecord, TransactionView};
use serde::{Serialize, Serializer};

use super::amount::Amount;
use super::block::confirmations;
use super::hex::{BytesHex, HashHex};
use super::{Desk, Fail, Length};
use crate::refusal::Reason;

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
    version: i32,
    lock_time: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_in: Option<Amount>,
    value_out: Amount,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    coinbase: bool,
    vin: Inputs<'a>,
    vout: Outputs<'a>,
}

/// Its inputs, each made when it is written.
struct Inputs<'a> {
    desk: &'a Desk,
    tx: &'a TransactionView,
}

impl Serialize for Inputs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let coinbase = self.tx.record.coinbase_script();
        let inputs = (0..).zip(&self.tx.inputs);
        serializer.collect_seq(inputs.map(|(n, input)| self::input(self.desk, n, input, coinbase)))
    }
}

/// Its outputs, likewise.
struct Outputs<'a> {
    desk: &'a Desk,
    tx: &'a TransactionView,
}

impl Serialize for Outputs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let outputs = (0..).zip(&self.tx.record.outputs);
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

/// Transactions as they are shown: one, or a list.
pub(crate) struct Shown<'d, T> {
    pub(crate) desk: &'d Desk,
    pub(crate) txs: T,
}

impl Serialize for Shown<'_, TransactionView> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        transaction_json(self.desk, &self.txs).serialize(serializer)
    }
}

impl Serialize for Shown<'_, Vec<TransactionView>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.txs.iter().map(|tx| transaction_json(self.desk, tx)))
    }
}

impl Length for Shown<'_, TransactionView> {
    fn length(&self) -> usize {
        length(&self.txs)
    }
}

impl Length for Shown<'_, Vec<TransactionView>> {
    fn length(&self) -> usize {
        self.txs.iter().map(length).sum()
    }
}

/// About so many bytes a transaction takes.
fn length(tx: &TransactionView) -> usize {
    let coinbase = tx.record.coinbase_script().map_or(0, <[u8]>::len);
    let scripts: usize = tx.record.outputs.iter().map(|output| output.script.len()).sum();
    480 + 2 * (coinbase + scripts) + 208 * tx.inputs.len() + 144 * tx.record.outputs.len()
}

/// One transaction with every input resolved.
pub(crate) fn transaction<'d>(
    desk: &'d Desk,
    txid: &Hash32,
) -> Result<Shown<'d, TransactionView>, Fail> {
    let found = desk.view.transaction_within(desk.tier, txid)?.ok_or(Reason::NotFound)?;
    Ok(Shown { desk, txs: found })
}

/// A transaction as it is shown.
fn transaction_json<'a>(desk: &'a Desk, tx: &'a TransactionView) -> TransactionJson<'a> {
    let record = &tx.record;
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
        version: record.version,
        lock_time: record.lock_time,
        value_in: record.value_in.map(|value_in| Amount(value_in as i128)),
        value_out: Amount(value_out),
        coinbase: record.is_coinbase(),
        vin: Inputs { desk, tx },
        vout: Outputs { desk, tx },
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
