//! Balances worked out of what the explorer tells of every transaction, held against a node's own.

use std::collections::BTreeMap;

use chain::account::U256;
use serde_json::Value;

use crate::account::rig::Rig;

/// What came and what went, by address.
#[derive(Default)]
pub struct Book(BTreeMap<String, (U256, U256)>);

impl Book {
    fn moved(&mut self, from: Option<&str>, to: Option<&str>, amount: U256) {
        if let Some(from) = from {
            self.0.entry(from.to_owned()).or_default().1 += amount;
        }
        if let Some(to) = to {
            self.0.entry(to.to_owned()).or_default().0 += amount;
        }
    }

    /// Every transaction of every block from genesis to the tip.
    pub async fn of(rig: &Rig) -> Book {
        let mut book = Book::default();
        let tip = rig.ok("status").await["height"].as_u64().unwrap();
        for height in 0..=tip {
            let block = rig.ok(&format!("block/{height}")).await;
            let (txs, _) = rig.walk(&format!("block/{height}/txs"), 50).await;
            for tx in txs {
                let tx = rig.ok(&format!("tx/{}", tx["hash"].as_str().unwrap())).await;
                book.take(&tx, &block);
            }
        }
        book
    }

    fn take(&mut self, tx: &Value, block: &Value) {
        let amount = |value: &Value| value.as_str().unwrap().parse::<U256>().unwrap();
        let from = tx["from"].as_str();
        self.moved(from, None, amount(&tx["fee"]));
        let base_fee = block.get("base_fee_per_gas").map_or(U256::ZERO, amount);
        let tip = amount(&tx["effective_gas_price"]) - base_fee;
        let gas = U256::from(tx["gas_used"].as_u64().unwrap());
        self.moved(None, block["miner"].as_str(), gas * tip);
        if tx["status"] != "success" {
            return;
        }
        // Where a transaction creates a contract, the address stands only in the contract's answer.
        let created = tx.get("_created").and_then(Value::as_str);
        self.moved(from, tx["to"].as_str().or(created), amount(&tx["value"]));
        for one in tx["internal_operations"].as_array().unwrap() {
            self.moved(one["from"].as_str(), one["to"].as_str(), amount(&one["value"]));
        }
    }

    /// Every address that something came to or went from.
    pub fn addresses(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// What an address has, if it began with this.
    pub fn balance(&self, address: &str, began: U256) -> U256 {
        let (came, went) = self.0.get(address).copied().unwrap_or_default();
        began + came - went
    }
}
