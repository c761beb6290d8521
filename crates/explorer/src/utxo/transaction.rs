//! `/tx/{txid}`, and a transaction as every list shows it.

use chain::Hash32;
use chain::utxo::{Destination, ScriptClass};
use index::utxo::{InputView, OutputRecord, Place, TokenRecord, TransactionView};
use serde::Serialize;

use super::amount::Amount;
use super::block::confirmations;
use super::{Desk, Fail};
use crate::refusal::Reason;

/// A transaction.
#[derive(Debug, Serialize)]
pub(crate) struct TransactionJson {
    txid: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_hash: Option<String>,
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
    vin: Vec<Input>,
    vout: Vec<Output>,
}

#[derive(Debug, Serialize)]
struct Input {
    n: u32,
    sequence: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    txid: Option<String>,
    vout: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    addresses: Option<[String; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    coinbase: Option<String>,
}

#[derive(Debug, Serialize)]
struct Output {
    n: u32,
    value: Amount,
    #[serde(skip_serializing_if = "Option::is_none")]
    addresses: Option<[String; 1]>,
    script_hex: String,
    #[serde(rename = "type")]
    class: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<Token>,
}

/// Tokens of an output, in the node's own words.
#[derive(Debug, Serialize)]
struct Token {
    amount: String,
    category: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    nft: Option<Nft>,
}

#[derive(Debug, Serialize)]
struct Nft {
    capability: &'static str,
    commitment: String,
}

/// One transaction with every input resolved.
pub(crate) fn transaction(desk: &Desk, txid: &Hash32) -> Result<TransactionJson, Fail> {
    let found = desk.view.transaction(txid)?.ok_or(Reason::NotFound)?;
    Ok(transaction_json(desk, &found))
}

/// A transaction as it is shown.
pub(crate) fn transaction_json(desk: &Desk, tx: &TransactionView) -> TransactionJson {
    let record = &tx.record;
    let value_out: i128 = record.outputs.iter().map(|output| i128::from(output.value)).sum();
    let (block_hash, block_height, confirmations, time) = match tx.place {
        Place::Block { height, hash, time } => {
            let confirmations = confirmations(desk, height);
            (Some(hash.to_string()), Some(height), confirmations, time.into())
        }
        Place::Mempool { first_seen } => (None, None, 0, first_seen),
    };
    TransactionJson {
        txid: record.txid.to_string(),
        block_hash,
        block_height,
        confirmations,
        time,
        fee: record.fee.map(Amount),
        size: record.size,
        vsize: desk.format.witness.then_some(record.vsize),
        version: record.version,
        lock_time: record.lock_time,
        value_in: record.fee.map(|fee| Amount(value_out + fee)),
        value_out: Amount(value_out),
        coinbase: record.coinbase.is_some(),
        vin: (0..).zip(&tx.inputs).map(|(n, i)| input(desk, n, i, &record.coinbase)).collect(),
        vout: (0..).zip(&record.outputs).map(|(n, output)| self::output(desk, n, output)).collect(),
    }
}

fn input(desk: &Desk, n: u32, input: &InputView, coinbase: &Option<Vec<u8>>) -> Input {
    let spent = input.spent.as_ref();
    Input {
        n,
        sequence: input.sequence,
        txid: input.txid.map(|txid| txid.to_string()),
        vout: input.vout,
        value: spent.map(|spent| Amount::of(spent.value)),
        addresses: spent.and_then(|spent| addresses(desk, &spent.script)),
        coinbase: coinbase.as_ref().map(const_hex::encode),
    }
}

fn output(desk: &Desk, n: u32, output: &OutputRecord) -> Output {
    Output {
        n,
        value: Amount::of(output.value),
        addresses: addresses(desk, &output.script),
        script_hex: const_hex::encode(&output.script),
        class: ScriptClass::of(&output.script, &desk.format.scripts).as_str(),
        token: output.token.as_ref().map(token),
    }
}

/// The one address of a script, if it has one (decision U1).
fn addresses(desk: &Desk, script: &[u8]) -> Option<[String; 1]> {
    let destination = Destination::of_script(script, &desk.format.scripts)?;
    desk.network.addresses.encode(&destination).map(|address| [address])
}

fn token(token: &TokenRecord) -> Token {
    Token {
        amount: token.amount.to_string(),
        category: token.category.to_string(),
        nft: token.nft.as_ref().map(|nft| Nft {
            capability: nft.capability.as_str(),
            commitment: const_hex::encode(&nft.commitment),
        }),
    }
}
