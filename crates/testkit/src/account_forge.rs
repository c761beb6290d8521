//! Chains of accounts made to measure: as long and as full as a test wants, the same for a seed.
//!
//! Invariant: a block's parts fit together as a node's do; the numbers add up (fees, logs, blooms).

use chain::account::{Address, keccak256};
use serde_json::{Value, json};

use crate::account_chain::{AccountBlock, AccountChain};

/// `Transfer(address,address,uint256)`.
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
/// The address that takes part in every third transaction.
const WHALE: Address = Address([0x77; 20]);
/// Gas that a transaction uses, and what it pays for a unit.
const GAS: u64 = 50_000;
const PRICE: u64 = 20;

fn hash(parts: &[u64]) -> [u8; 32] {
    keccak256(&parts.iter().flat_map(|part| part.to_be_bytes()).collect::<Vec<u8>>())
}

fn hex32(bytes: [u8; 32]) -> String {
    const_hex::encode_prefixed(bytes)
}

fn address(parts: &[u64]) -> String {
    const_hex::encode_prefixed(&hash(parts)[12..])
}

fn word(of: &str) -> String {
    format!("0x{:0>64}", of.trim_start_matches("0x"))
}

/// A transaction with its receipt and its trace.
struct Made {
    body: Value,
    receipt: Value,
    trace: Value,
}

impl AccountChain {
    /// The address that every third transaction of a chain that was grown pays to.
    pub fn whale() -> String {
        WHALE.to_string()
    }

    /// A chain of a genesis and so many blocks, each with so many transactions: payments, tokens,
    /// creations, calls that move and create, failures.
    pub fn grown(blocks: u64, transactions: u64, seed: u64) -> AccountChain {
        let mut chain = AccountChain::default();
        let said = [("eth_chainId", json!("0x539")), ("web3_clientVersion", json!("Forged/1"))];
        for (method, answer) in said {
            chain.said.insert((method.to_owned(), "[]".to_owned()), answer);
        }
        chain.blocks.push(block(&format!("0x{}", "0".repeat(64)), 0, 0, 0));
        chain.grow(blocks, transactions, seed);
        chain
    }

    /// So many blocks more.
    pub fn grow(&mut self, blocks: u64, transactions: u64, seed: u64) {
        for _ in 0..blocks {
            let (parent, height) = (self.tip().hash().to_owned(), self.tip().height() + 1);
            self.blocks.push(block(&parent, height, transactions, seed));
        }
    }

    /// Puts other blocks in the place of the last `depth`.
    pub fn regrow(&mut self, depth: usize, blocks: u64, transactions: u64, seed: u64) {
        self.blocks.truncate(self.blocks.len().saturating_sub(depth).max(1));
        self.grow(blocks, transactions, seed);
    }
}

fn block(parent: &str, height: u64, transactions: u64, seed: u64) -> AccountBlock {
    let own = hex32(hash(&[seed, height, u64::MAX]));
    let made: Vec<Made> =
        (0..transactions).map(|index| transaction(&own, height, index, seed)).collect();
    let body = json!({
        "hash": own, "parentHash": parent, "number": format!("{height:#x}"),
        "stateRoot": hex32(hash(&[seed, height])), "miner": address(&[9]),
        "timestamp": format!("{:#x}", 1_700_000_000 + 12 * height), "difficulty": "0x0",
        "gasLimit": "0x3938700", "gasUsed": format!("{:#x}", GAS * transactions),
        "baseFeePerGas": "0x7", "size": format!("{:#x}", 600 + 150 * transactions),
        "extraData": "0x", "withdrawals": [], "uncles": [],
        "transactions": made.iter().map(|made| &made.body).collect::<Vec<_>>(),
    });
    let receipts = made.iter().map(|made| made.receipt.clone()).collect();
    let traces = made.into_iter().map(|made| made.trace).collect();
    AccountBlock { body, receipts, traces, ..AccountBlock::default() }
}

fn transaction(block: &str, height: u64, index: u64, seed: u64) -> Made {
    let n = height << 16 | index;
    let own = hex32(hash(&[seed, n, 1]));
    let from = address(&[seed, n % 997, 2]);
    let to = match index % 3 {
        0 => WHALE.to_string(),
        _ => address(&[seed, n % 10_007, 3]),
    };
    let (failed, creates) = (index % 11 == 10, index % 17 == 5);
    let token = (index % 3 == 1 && !failed && !creates).then(|| address(&[n % 101, 4]));
    let calls = index % 5 == 2 && !failed && !creates;
    let created = creates.then(|| address(&[seed, n, 5]));
    let value = format!("{:#x}", n % 1000);
    let mut body = json!({
        "hash": own, "from": from, "type": "0x2", "nonce": format!("{:#x}", height),
        "value": value, "gas": format!("{:#x}", 2 * GAS), "gasPrice": format!("{PRICE:#x}"),
        "maxFeePerGas": "0x64", "maxPriorityFeePerGas": "0xd", "input": "0xa9059cbb",
        "blockHash": block, "blockNumber": format!("{height:#x}"),
        "transactionIndex": format!("{index:#x}"),
    });
    let log = token.map(|token| {
        let topics = json!([TRANSFER, word(&from), word(&to)]);
        json!({"address": token, "topics": topics, "data": word(&value)})
    });
    let bloom = format!("0x{}{}", "0".repeat(511), u8::from(log.is_some()));
    let mut receipt = json!({
        "transactionHash": own, "blockHash": block, "transactionIndex": format!("{index:#x}"),
        "status": if failed { "0x0" } else { "0x1" }, "gasUsed": format!("{GAS:#x}"),
        "effectiveGasPrice": format!("{PRICE:#x}"), "logsBloom": bloom,
        "logs": log.into_iter().collect::<Vec<_>>(),
    });
    let mut root = json!({"type": "CALL", "from": from, "to": to, "value": value});
    match &created {
        Some(created) => {
            receipt["contractAddress"] = json!(created);
            root["type"] = json!("CREATE");
            root["to"] = json!(created);
        }
        None => body["to"] = json!(to),
    }
    if failed {
        root["error"] = json!("execution reverted");
    }
    if calls {
        let made = address(&[seed, n, 6]);
        root["calls"] = json!([
            {"type": "CALL", "from": to, "to": address(&[n % 503, 7]), "value": "0x1"},
            {"type": "CREATE2", "from": to, "to": made, "value": "0x0"},
        ]);
    }
    Made { body, receipt, trace: json!({"txHash": own, "result": root}) }
}
