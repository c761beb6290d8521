//! What holds on every chain, whatever its transactions do: sums are those of what is listed,
//! histories have exactly what stands in transactions, walks lose nothing, forms are one.

use std::collections::{BTreeMap, BTreeSet};

use chain::account::{U256, keccak256, next_base_fee};
use serde_json::Value;

use crate::account::rig::Rig;
use crate::account::signed;

/// Members that are amounts, and members that are numbers.
const AMOUNTS: [&str; 17] = [
    "amount",
    "balance",
    "base_fee_per_gas",
    "difficulty",
    "effective_gas_price",
    "fee",
    "gas_price",
    "issuance",
    "max_fee_per_gas",
    "max_priority_fee_per_gas",
    "next_base_fee",
    "token_id",
    "total_fees",
    "total_value",
    "value",
    "hash",
    "input",
];
const NUMBERS: [&str; 17] = [
    "at_block",
    "block_height",
    "code_size",
    "confirmations",
    "decimals",
    "excess_blob_gas",
    "from_height",
    "gas_limit",
    "gas_used",
    "height",
    "index",
    "log_count",
    "next_cursor",
    "nonce",
    "time",
    "to_height",
    "tx_count",
];

/// Amounts are digits in a text, numbers are numbers.
fn formed(value: &Value, path: &str) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| formed(item, path)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            let name = name.as_str();
            assert!(!AMOUNTS.contains(&name) || member.is_string(), "{path}: {name} {member}");
            assert!(!NUMBERS.contains(&name) || member.is_u64(), "{path}: {name} {member}");
            formed(member, path);
        }),
        _ => {}
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value}"))
}

/// Two forms of a path have one answer: a node may mine meanwhile, so of one tip.
async fn same(rig: &Rig, path: &str, form: &str, what: &str) {
    for _ in 0..100 {
        let (before, found) = (rig.ok(path).await, rig.ok(form).await);
        if rig.ok(path).await == before {
            assert_eq!(found, before, "{what}: {form}");
            return;
        }
    }
    panic!("{what}: {path} is another each time");
}

/// The address of a contract that a transaction creates.
fn created(from: &str, nonce: u64) -> String {
    let from = const_hex::decode(from).unwrap();
    let nonce = nonce.to_be_bytes();
    let nonce = &nonce[nonce.iter().take_while(|byte| **byte == 0).count()..];
    let hash = keccak256(&signed::list(&[signed::bytes(&from), signed::bytes(nonce)]));
    const_hex::encode_prefixed(&hash[12..])
}

/// Who takes part in which transaction, and who sent how many.
#[derive(Default)]
struct Stands {
    /// By address: places and hashes.
    by_address: BTreeMap<String, BTreeSet<(u64, u64, String)>>,
    sent: BTreeMap<String, u64>,
    delegating: u64,
    from_height: u64,
    to_height: u64,
}

impl Stands {
    fn add(&mut self, address: &str, tx: &Value) {
        let place = (tx["block_height"].as_u64().unwrap(), tx["index"].as_u64().unwrap());
        let here = (place.0, place.1, text(&tx["hash"]).to_owned());
        self.by_address.entry(address.to_owned()).or_default().insert(here);
    }

    fn take(&mut self, tx: &Value) {
        let from = text(&tx["from"]);
        *self.sent.entry(from.to_owned()).or_default() += 1;
        self.delegating += u64::from(tx["type"] == 4);
        self.add(from, tx);
        match tx.get("to") {
            Some(to) => self.add(text(to), tx),
            None if tx["status"] == "success" => {
                self.add(&created(from, tx["nonce"].as_u64().unwrap()), tx);
            }
            None => {}
        }
        for list in ["token_transfers", "internal_operations"] {
            for one in tx[list].as_array().unwrap() {
                self.add(text(&one["from"]), tx);
                self.add(text(&one["to"]), tx);
            }
        }
    }
}

/// Everything from a height on holds; from genesis on, also what only a whole chain tells.
pub async fn invariants(rig: &Rig, from_height: u64, what: &str) {
    let tip = rig.ok("status").await["height"].as_u64().unwrap();
    let mut stands = Stands { from_height, to_height: tip, ..Stands::default() };
    for height in from_height..=tip {
        block(rig, height, &mut stands, what).await;
    }
    histories(rig, &stands, what).await;
    if from_height == 0 {
        nonces(rig, &stands, what).await;
    }
}

/// The base fee of each block is what follows from the block before.
pub async fn base_fees(rig: &Rig, what: &str) {
    let tip = rig.ok("status").await["height"].as_u64().unwrap();
    let mut expected: Option<U256> = None;
    for height in 0..=tip {
        let block = rig.ok(&format!("block/{height}")).await;
        let base_fee: U256 = text(&block["base_fee_per_gas"]).parse().unwrap();
        assert!(expected.is_none_or(|fee| fee == base_fee), "{what}: {block}, not {expected:?}");
        let (used, limit) = (block["gas_used"].as_u64(), block["gas_limit"].as_u64());
        expected = Some(next_base_fee(base_fee, used.unwrap(), limit.unwrap()));
    }
    let next = expected.unwrap().to_string();
    let (status, gas) = (rig.ok("status").await, rig.ok("gas").await);
    // Unless a block came since.
    for (height, told) in [(&status["height"], &status["account"]), (&gas["height"], &gas)] {
        assert!(*height != tip || told["next_base_fee"] == next, "{what}: {told}, not {next}");
    }
}

/// Sums over what is listed are what is told of the block; a list says what the whole says.
async fn block(rig: &Rig, height: u64, stands: &mut Stands, what: &str) {
    let block = rig.ok(&format!("block/{height}")).await;
    formed(&block, what);
    let by_hash = format!("block/0x{}", text(&block["hash"])[2..].to_uppercase());
    same(rig, &format!("block/{height}"), &by_hash, what).await;
    let (txs, pages) = rig.walk(&format!("block/{height}/txs"), 7).await;
    assert_eq!((&block["tx_count"], pages), (&txs.len().into(), txs.len().div_ceil(7).max(1)));
    for (name, total) in [("fee", "total_fees"), ("value", "total_value")] {
        let sum: u128 = txs.iter().map(|tx| text(&tx[name]).parse::<u128>().unwrap()).sum();
        assert_eq!(block[total], sum.to_string(), "{what}: {height}: {total}");
    }
    for (place, listed) in txs.iter().enumerate() {
        assert_eq!(listed["index"], place, "{what}: {height}");
        let path = format!("tx/{}", text(&listed["hash"]));
        let tx = rig.ok(&path).await;
        formed(&tx, what);
        let fixed = listed.as_object().unwrap().iter().filter(|(name, _)| *name != "confirmations");
        for (name, value) in fixed {
            assert_eq!(&tx[name], value, "{what}: {path}: {name}");
        }
        assert_eq!(tx["logs"].as_array().unwrap().len(), tx["log_count"], "{what}: {path}");
        stands.take(&tx);
    }
    if let Some(tx) = txs.first() {
        let path = format!("tx/{}", text(&tx["hash"]));
        let upper = format!("tx/0X{}", path[5..].to_uppercase());
        same(rig, &path, &upper, what).await;
    }
}

/// A history has exactly the transactions in which its address stands, however it is walked.
async fn histories(rig: &Rig, stands: &Stands, what: &str) {
    for (n, (address, stands_in)) in stands.by_address.iter().enumerate() {
        let expected: Vec<&str> = stands_in.iter().rev().map(|(.., hash)| hash.as_str()).collect();
        let limit = [50, 1, 3, 7][n % 4];
        let path = format!("address/{address}/txs");
        let (txs, _) = rig.walk(&path, limit).await;
        let heights = stands.from_height..=stands.to_height;
        let in_time = |tx: &&Value| heights.contains(&tx["block_height"].as_u64().unwrap());
        let recent = txs.iter().filter(in_time);
        let found: Vec<&str> = recent.map(|tx| text(&tx["hash"])).collect();
        assert_eq!(found, expected, "{what}: {address} by {limit}");
        let places: Vec<_> = txs
            .iter()
            .map(|tx| (tx["block_height"].as_u64().unwrap(), tx["index"].as_u64().unwrap()))
            .collect();
        assert!(places.is_sorted_by(|a, b| a > b), "{what}: {address} by {limit}");
        let upper = format!("address/0x{}/txs", address[2..].to_uppercase());
        same(rig, &path, &upper, what).await;
    }
}

/// Who has no code has sent as many as its nonce says, but for what it signed for others.
async fn nonces(rig: &Rig, stands: &Stands, what: &str) {
    let mut signed_for_others = 0;
    for (address, sent) in &stands.sent {
        let account = rig.ok(&format!("address/{address}")).await;
        formed(&account, what);
        let nonce = account["nonce"].as_u64().unwrap();
        assert!(nonce >= *sent, "{what}: {address} sent {sent}, {account}");
        // A block that came since may hold more of its own.
        let is_then = account["at_block"] == stands.to_height;
        signed_for_others += if is_then { nonce - sent } else { 0 };
    }
    // A transaction of the recorded chains carries two authorizations at most.
    let most = 2 * stands.delegating;
    assert!(signed_for_others <= most, "{what}: {signed_for_others} of {most}");
}
