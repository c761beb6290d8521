//! RLP, as far as the conformance chain needs it: blocks as a node would write them in JSON.

use chain::account::keccak256;
use serde_json::{Value, json};
use testkit::AccountBlock;

/// An item: its own bytes, and what it holds.
pub struct Item<'a> {
    whole: &'a [u8],
    kind: Kind<'a>,
}

enum Kind<'a> {
    Bytes(&'a [u8]),
    List(Vec<Item<'a>>),
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}

/// Reads one item from the front.
pub fn item(bytes: &[u8]) -> (Item<'_>, &[u8]) {
    let first = usize::from(bytes[0]);
    let (start, length, list) = match first {
        ..0x80 => (0, 1, false),
        0x80..0xb8 => (1, first - 0x80, false),
        0xb8..0xc0 => (1 + first - 0xb7, number(&bytes[1..1 + first - 0xb7]), false),
        0xc0..0xf8 => (1, first - 0xc0, true),
        _ => (1 + first - 0xf7, number(&bytes[1..1 + first - 0xf7]), true),
    };
    let (whole, rest) = bytes.split_at(start + length);
    let held = &whole[start..];
    let kind = match list {
        false => Kind::Bytes(held),
        true => {
            let (mut items, mut left) = (Vec::new(), held);
            while !left.is_empty() {
                let (one, more) = item(left);
                items.push(one);
                left = more;
            }
            Kind::List(items)
        }
    };
    (Item { whole, kind }, rest)
}

impl<'a> Item<'a> {
    fn list(&self) -> &[Item<'a>] {
        match &self.kind {
            Kind::List(items) => items,
            Kind::Bytes(_) => panic!("not a list"),
        }
    }

    fn bytes(&self) -> &'a [u8] {
        match self.kind {
            Kind::Bytes(bytes) => bytes,
            Kind::List(_) => panic!("a list"),
        }
    }

    fn hex(&self) -> String {
        format!("0x{}", const_hex::encode(self.bytes()))
    }

    fn quantity(&self) -> String {
        let digits = const_hex::encode(self.bytes());
        let digits = digits.trim_start_matches('0');
        format!("0x{}", if digits.is_empty() { "0" } else { digits })
    }

    fn hash(&self) -> String {
        format!("0x{}", const_hex::encode(keccak256(self.whole)))
    }
}

/// A block with receipts of our own making: what the chain's file does not tell.
pub fn block(item: &Item<'_>) -> AccountBlock {
    let parts = item.list();
    let (header, hash) = (parts[0].list(), parts[0].hash());
    let number = header[8].quantity();
    let mut body = json!({
        "hash": hash, "parentHash": header[0].hex(), "miner": header[2].hex(),
        "stateRoot": header[3].hex(), "difficulty": header[7].quantity(), "number": number,
        "gasLimit": header[9].quantity(), "gasUsed": header[10].quantity(),
        "timestamp": header[11].quantity(), "extraData": header[12].hex(),
        "size": format!("{:#x}", item.whole.len()),
    });
    if let Some(base_fee) = header.get(15) {
        body["baseFeePerGas"] = json!(base_fee.quantity());
    }
    if let Some(excess) = header.get(18) {
        body["excessBlobGas"] = json!(excess.quantity());
    }
    if let Some(withdrawals) = parts.get(3) {
        body["withdrawals"] = vec![json!({}); withdrawals.list().len()].into();
    }
    let uncles = parts[2].list();
    body["uncles"] = uncles.iter().map(|uncle| json!(uncle.hash())).collect();
    let txs: Vec<Value> = parts[1]
        .list()
        .iter()
        .enumerate()
        .map(|(place, tx)| transaction(tx, place, &hash))
        .collect();
    let receipt = |(place, tx): (usize, &Value)| {
        let mut receipt = json!({
            "transactionHash": tx["hash"], "blockHash": hash, "transactionIndex": format!("{place:#x}"),
            "gasUsed": "0x5208", "status": "0x1", "logs": [],
        });
        if tx["type"] == "0x3" {
            (receipt["blobGasUsed"], receipt["blobGasPrice"]) = (json!("0x20000"), json!("0x1"));
        }
        if tx.get("to").is_none() {
            receipt["contractAddress"] = json!(format!("0x{:040x}", 0xc0de_0000 + place));
        }
        receipt
    };
    let receipts = txs.iter().enumerate().map(receipt).collect();
    let trace =
        |tx: &Value| json!({"txHash": tx["hash"], "result": {"type": "CALL", "from": tx["from"]}});
    let traces = txs.iter().map(trace).collect();
    body["transactions"] = txs.into();
    let uncles = uncles.iter().map(|uncle| json!({"number": uncle.list()[8].quantity()})).collect();
    AccountBlock { body, receipts, traces, raw_traces: None, uncles }
}

fn transaction(tx: &Item<'_>, place: usize, block: &str) -> Value {
    let from = format!("0x{:040x}", place + 1);
    let mut told = json!({
        "blockHash": block, "transactionIndex": format!("{place:#x}"), "from": from,
    });
    let mut fill =
        |kind: u8, fields: &[Item<'_>], names: &[(&str, usize)], to: usize, input: usize| {
            told["type"] = json!(format!("{kind:#x}"));
            for (name, at) in names {
                told[*name] = json!(fields[*at].quantity());
            }
            if !fields[to].bytes().is_empty() {
                told["to"] = json!(fields[to].hex());
            }
            told["input"] = json!(fields[input].hex());
        };
    let dynamic =
        [("nonce", 1), ("maxPriorityFeePerGas", 2), ("maxFeePerGas", 3), ("gas", 4), ("value", 6)];
    let hash = match &tx.kind {
        Kind::List(fields) => {
            let names = [("nonce", 0), ("gasPrice", 1), ("gas", 2), ("value", 4)];
            fill(0, fields, &names, 3, 5);
            tx.hash()
        }
        Kind::Bytes(typed) => {
            let (fields, _) = item(&typed[1..]);
            let names = [("nonce", 1), ("gasPrice", 2), ("gas", 3), ("value", 5)];
            match typed[0] {
                1 => fill(1, fields.list(), &names, 4, 6),
                kind => fill(kind, fields.list(), &dynamic, 5, 7),
            }
            format!("0x{}", const_hex::encode(keccak256(typed)))
        }
    };
    told["hash"] = json!(hash);
    told
}
