//! Transactions of a chain as calls, which a live node signs and mines itself.
//!
//! Leaves sending them to tests. Invariant: in the order of the chain, so that contracts are made
//! before they are called, at the same addresses where the node has the same accounts.

use serde_json::{Value, json};

use crate::account_chain::AccountChain;

impl AccountChain {
    /// All of them as parameters of `eth_sendTransaction`, but those with blobs, which are not in a
    /// block.
    pub fn calls(&self) -> Vec<Value> {
        let txs = self.blocks.iter().flat_map(|block| block.body["transactions"].as_array());
        let call = |tx: &Value| {
            let mut call = json!({
                "from": tx["from"], "value": tx["value"], "gas": tx["gas"], "data": tx["input"],
            });
            if tx["to"].is_string() {
                call["to"] = tx["to"].clone();
            }
            if let Some(list) = tx.get("authorizationList") {
                call["authorizationList"] = list.clone();
            }
            call
        };
        txs.flatten().filter(|tx| tx["type"] != "0x3").map(call).collect()
    }
}
