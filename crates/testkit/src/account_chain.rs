//! A chain of the account family, as a stub node tells it: recorded, or made to measure.
//!
//! Leaves answering to `stub_accounts`.

#![allow(clippy::unwrap_used, reason = "a chain ends the test that misuses it")]

use std::collections::HashMap;

use replay::{Phase, Take};
use serde_json::{Value, json};

/// A block with what a node tells besides its body.
#[derive(Clone, Debug, Default)]
pub struct AccountBlock {
    /// The block with its transactions whole.
    pub body: Value,
    /// Its receipts, in order.
    pub receipts: Value,
    /// The call tracer's word on it.
    pub traces: Value,
    /// The same as text, where it is deeper than values can be.
    pub raw_traces: Option<String>,
    /// Its uncles' headers.
    pub uncles: Vec<Value>,
}

impl AccountBlock {
    /// Its hash.
    pub fn hash(&self) -> &str {
        self.body["hash"].as_str().unwrap()
    }

    /// Its height.
    pub fn height(&self) -> u64 {
        let text = self.body["number"].as_str().unwrap();
        u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
    }
}

/// A chain, and answers to everything else.
#[derive(Clone, Debug, Default)]
pub struct AccountChain {
    /// Blocks in order; the first may be any.
    pub blocks: Vec<AccountBlock>,
    /// Answers by method and params, as text.
    pub said: HashMap<(String, String), Value>,
}

impl AccountChain {
    /// What a recorded node said: blocks, states, tokens, fees, the pool.
    ///
    /// # Panics
    /// If there is no such recording.
    pub fn recorded(take: Take) -> AccountChain {
        let mut chain = AccountChain::default();
        chain.hear(take, Phase::A);
        chain
    }

    /// The recorded anvil with the three blocks more, before (A) or after (B) two of them were
    /// replaced at unchanged height.
    pub fn recorded_reorganisation(phase: Phase) -> AccountChain {
        let mut chain = AccountChain::recorded(Take::Anvil);
        chain.hear(Take::AnvilReorg, phase);
        chain
    }

    fn hear(&mut self, take: Take, phase: Phase) {
        let mut blocks: HashMap<u64, AccountBlock> =
            self.blocks.drain(..).map(|block| (block.height(), block)).collect();
        for line in replay::recorded_take("eth", take).unwrap() {
            let in_phase = line.phase() == phase || take != Take::AnvilReorg;
            let (Some(result), true) = (line.result(), in_phase) else { continue };
            let params: Value = serde_json::from_str(line.params()).unwrap_or_default();
            let said: Value = serde_json::from_slice(&result).unwrap();
            let height = params[0].as_str().and_then(|text| text.strip_prefix("0x"));
            let height = height.filter(|text| text.len() < 17);
            let height = height.and_then(|text| u64::from_str_radix(text, 16).ok());
            match (line.method(), height) {
                ("eth_getBlockByNumber", Some(at)) if params[1] == true && !said.is_null() => {
                    blocks.entry(at).or_default().body = said.clone();
                }
                ("eth_getBlockReceipts", Some(at)) if !said.is_null() => {
                    blocks.entry(at).or_default().receipts = said.clone();
                }
                ("debug_traceBlockByNumber", Some(at)) => {
                    blocks.entry(at).or_default().traces = said.clone();
                }
                _ => {}
            }
            self.said.insert((line.method().to_owned(), params.to_string()), said);
        }
        let mut blocks: Vec<AccountBlock> =
            blocks.into_values().filter(|block| block.body.is_object()).collect();
        blocks.sort_by_key(AccountBlock::height);
        self.blocks = blocks;
        if let Some(genesis) = self.blocks.first_mut().filter(|block| block.traces.is_null()) {
            genesis.traces = json!([]);
        }
    }

    /// The last block.
    pub fn tip(&self) -> &AccountBlock {
        self.blocks.last().unwrap()
    }

    pub(crate) fn by_hash(&self, hash: &str) -> Option<&AccountBlock> {
        self.blocks.iter().find(|block| block.hash().eq_ignore_ascii_case(hash))
    }

    pub(crate) fn by_tag(&self, tag: &str) -> Option<&AccountBlock> {
        match tag {
            "latest" | "safe" | "pending" => self.blocks.last(),
            "earliest" => self.blocks.first(),
            "finalized" => self.blocks.get(self.blocks.len().saturating_sub(9)),
            _ => {
                let height = u64::from_str_radix(tag.strip_prefix("0x")?, 16).ok()?;
                self.blocks.iter().find(|block| block.height() == height)
            }
        }
    }

    /// A transaction's block and place.
    pub(crate) fn transaction(&self, hash: &str) -> Option<(&AccountBlock, usize)> {
        self.blocks.iter().find_map(|block| {
            let mut txs = block.body["transactions"].as_array()?.iter();
            txs.position(|tx| tx["hash"] == hash).map(|place| (block, place))
        })
    }
}
