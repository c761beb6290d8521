//! Blocks, traces and balances of an index against what a node says of them.
//!
//! Each block names the one before, which the audit of the rows holds; so where the tip is the
//! node's, every hash is. What is read again besides are blocks with their receipts, spread evenly
//! over the index or all of them, the calls of those that were traced, and, of the newest blocks,
//! what each address had before and after. Invariants: what a node has pruned or cannot tell is
//! counted as not compared, never as a fault; nothing is compared across two chains.

use std::collections::BTreeSet;
use std::sync::Arc;

use chain::account::{Address, Hash, U256};
use node::{Node, Weight};
use serde::Deserialize;

use super::super::changes::{logs_at, operations_at, read_tx};
use super::super::facts::{Block, BlockFacts, Log, Operation, Status, Transaction};
use super::super::options::RETRY_AFTER;
use super::super::quantity::Hex;
use super::super::schema::{TxPlace, UNTRACED, untraced_key};
use super::super::store::Store;
use super::super::upstream::{Upstream, read};
use super::flows::Flows;
use crate::ReadError;
use crate::audit::Progress;
use crate::faults::Faults;
use crate::sync::UpstreamError;

/// Blocks that are read again unless all are.
const SAMPLE: u32 = 128;
/// Of so many of the newest blocks balances are looked at; nodes keep the state of that many.
const NEWEST: u32 = 64;
/// Addresses of a block whose balances are asked for.
const ADDRESSES: usize = 32;

/// What comparing with a node found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Blocks that were read again, with transactions and logs.
    pub blocks: u64,
    /// Blocks whose calls were read again.
    pub traces: u64,
    /// Balances that were worked out and asked for.
    pub balances: u64,
    /// Blocks that the node does not have, or cannot trace, any more.
    pub not_compared: u64,
    /// The first 100 differences.
    pub faults: Vec<String>,
    /// All differences.
    pub fault_count: u64,
}

/// Why an index and a node were not compared.
#[derive(Debug, thiserror::Error)]
pub enum Incomparable {
    /// The index has no block.
    #[error("the index has no block")]
    Empty,
    /// The node's chain has another block at the index's tip, or none.
    #[error("the node has another block at the index's tip, or none")]
    OtherBlock,
    /// The node gave no answer, or one that makes no sense.
    #[error("{0}")]
    Node(String),
    /// The rows cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl From<UpstreamError> for Incomparable {
    fn from(error: UpstreamError) -> Incomparable {
        Incomparable::Node(error.to_string())
    }
}

impl Store {
    /// Compares the index with a node at the index's tip: all blocks, or a sample of them.
    ///
    /// # Errors
    /// As [`Incomparable`] says; what was found until then is lost.
    pub async fn compare(
        &self,
        node: &Arc<Node>,
        all: bool,
        mut progress: impl FnMut(Progress),
    ) -> Result<Comparison, Incomparable> {
        let (Some(tip), Some(base)) = (self.tip(), self.base()) else {
            return Err(Incomparable::Empty);
        };
        let upstream = Upstream::new(self.forks(), RETRY_AFTER);
        let mut comparing = Comparing {
            store: self,
            upstream: &upstream,
            node,
            comparison: Comparison::default(),
            faults: Faults::default(),
        };
        comparing.check_tip(tip.height, tip.hash).await?;
        let heights = heights(base.height, tip.height, all);
        let total = Some(heights.len() as u64);
        for (done, height) in (1..).zip(heights) {
            comparing.block(height).await?;
            progress(Progress { step: "node's blocks", done, total });
        }
        for height in (base.height.max(1)..=tip.height).rev().take(NEWEST as usize) {
            comparing.balances(height).await?;
        }
        // A chain that changed meanwhile looks like an index at fault.
        comparing.check_tip(tip.height, tip.hash).await?;
        let Comparing { mut comparison, faults, .. } = comparing;
        (comparison.faults, comparison.fault_count) = faults.into_parts();
        Ok(comparison)
    }

    fn is_traced(&self, height: u32) -> Result<bool, ReadError> {
        Ok(self.reader().get(UNTRACED, &untraced_key(height))?.is_none())
    }

    /// What the index holds of a block's transactions; none where a row is gone.
    fn held(&self, block: &BlockFacts) -> Result<Option<Vec<Held>>, ReadError> {
        let mut held = Vec::new();
        for index in 0..block.tx_count {
            let place = TxPlace { height: block.height, index };
            let Some(tx) = read_tx(self.reader(), place)? else { return Ok(None) };
            let logs = logs_at(self.reader(), place)?;
            held.push((tx, logs, operations_at(self.reader(), place)?));
        }
        Ok(Some(held))
    }
}

/// A transaction as the index holds it, with its logs and what its calls did.
type Held = (Transaction, Vec<Log>, Vec<Operation>);

/// Which blocks are read again: both ends, and what lies between them evenly.
fn heights(base: u32, tip: u32, all: bool) -> Vec<u32> {
    let count = u64::from(tip - base) + 1;
    if all || count <= u64::from(SAMPLE) {
        return (base..=tip).collect();
    }
    let step = |n: u32| u64::from(n) * (count - 1) / u64::from(SAMPLE - 1);
    let heights: BTreeSet<u32> = (0..SAMPLE).map(|n| base + step(n) as u32).collect();
    heights.into_iter().collect()
}

/// What only a block's body tells of who got what.
#[derive(Deserialize)]
struct Withdrawn {
    #[serde(default)]
    withdrawals: Option<Vec<Withdrawal>>,
}

#[derive(Deserialize)]
struct Withdrawal {
    address: Hex<Address>,
    /// In 10^9 of the smallest unit.
    amount: Hex<u64>,
}

struct Comparing<'a> {
    store: &'a Store,
    upstream: &'a Upstream,
    node: &'a Arc<Node>,
    comparison: Comparison,
    faults: Faults,
}

impl Comparing<'_> {
    async fn check_tip(&self, height: u32, hash: Hash) -> Result<(), Incomparable> {
        let heads = self.upstream.heads(self.node, height..=height).await?;
        match heads.first().is_some_and(|head| head.hash == hash) {
            true => Ok(()),
            false => Err(Incomparable::OtherBlock),
        }
    }

    fn fault(&mut self, height: u32, what: impl std::fmt::Display) {
        self.faults.say(format_args!("block {height}: {what}"));
    }

    /// What the node says; none of what it does not have, or cannot make, any more.
    fn known<T>(&mut self, said: Result<T, UpstreamError>) -> Result<Option<T>, Incomparable> {
        match said {
            Ok(said) => Ok(Some(said)),
            Err(
                UpstreamError::Pruned
                | UpstreamError::NotThere
                | UpstreamError::Missing { .. }
                | UpstreamError::Call(node::CallError::Rpc { .. }),
            ) => {
                self.comparison.not_compared += 1;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn block(&mut self, height: u32) -> Result<(), Incomparable> {
        let said = self.upstream.block(self.node, height).await;
        let Some(said) = self.known(said)? else { return Ok(()) };
        self.comparison.blocks += 1;
        let Some(ours) = self.store.block(height)? else {
            self.fault(height, "is not there");
            return Ok(());
        };
        let Some(held) = self.store.held(&ours)? else {
            self.fault(height, "lacks a transaction");
            return Ok(());
        };
        self.facts(&ours, &said);
        self.transactions(&held, said);
        if self.store.is_traced(height)? && !held.is_empty() {
            self.traces(&ours, &held).await?;
        }
        Ok(())
    }

    fn facts(&mut self, ours: &BlockFacts, said: &Block) {
        if ours.hash != said.facts.hash {
            self.fault(ours.height, format_args!("its hash is {}", said.facts.hash));
        } else if ours.tx_count != said.facts.tx_count {
            let count = said.facts.tx_count;
            self.fault(ours.height, format_args!("it has {count} transactions"));
        } else if *ours != said.facts {
            self.fault(ours.height, "is not as the node has it");
        }
    }

    fn transactions(&mut self, held: &[Held], said: Block) {
        let height = said.facts.height;
        for ((ours, logs, _), (mut theirs, said_logs)) in held.iter().zip(said.transactions) {
            // A trace has decided what the receipt does not.
            if theirs.status == Status::Unknown && ours.status != Status::Unknown {
                theirs.settle(ours.status == Status::Failed);
            }
            if *ours != theirs {
                self.fault(height, format_args!("{} is not as the node has it", theirs.hash));
            } else if *logs != said_logs {
                let hash = theirs.hash;
                self.fault(height, format_args!("the logs of {hash} are not the node's"));
            }
        }
    }

    async fn traces(&mut self, block: &BlockFacts, held: &[Held]) -> Result<(), Incomparable> {
        let hashes: Vec<Hash> = held.iter().map(|(tx, ..)| tx.hash).collect();
        let said = self.upstream.traces(self.node, block.height, block.hash, &hashes).await;
        let Some(said) = self.known(said)? else { return Ok(()) };
        self.comparison.traces += 1;
        for ((tx, _, operations), said) in held.iter().zip(said) {
            if said.is_some_and(|said| said.operations != *operations) {
                let hash = tx.hash;
                self.fault(block.height, format_args!("the calls of {hash} are not the node's"));
            }
        }
        Ok(())
    }

    /// What addresses had after a block is what they had before and what its transactions moved.
    async fn balances(&mut self, height: u32) -> Result<(), Incomparable> {
        let block = self.store.block(height)?.filter(|block| block.tx_count > 0);
        let Some(block) = block.filter(|_| height > 0) else { return Ok(()) };
        if !self.store.is_traced(height)? {
            return Ok(());
        }
        let Some(held) = self.store.held(&block)? else { return Ok(()) };
        let held: Vec<_> = held.into_iter().map(|(tx, _, calls)| (tx, calls)).collect();
        let Some(mut flows) = Flows::of(&block, &held) else { return Ok(()) };
        let method = "eth_getBlockByNumber";
        let body =
            self.upstream.call(self.node, method, &format!(r#"["{height:#x}",false]"#)).await;
        let Some(body) = self.known(body)? else { return Ok(()) };
        let body: Option<Withdrawn> = read(method, &body)?;
        for it in body.and_then(|body| body.withdrawals).unwrap_or_default() {
            let gwei = U256::from(1_000_000_000);
            flows.came(it.address.0, U256::from(it.amount.0).saturating_mul(gwei));
        }
        let addresses: Vec<Address> = flows.sure().take(ADDRESSES).collect();
        let had = self.had(&addresses, height).await?;
        for (address, had) in addresses.iter().zip(had) {
            let Some((before, after)) = had else { continue };
            self.comparison.balances += 1;
            if flows.after(address, before) != Some(after) {
                let what = format_args!(
                    "{address} had {before} and has {after}, which is not what \
                     its transactions moved"
                )
                .to_string();
                self.fault(height, what);
            }
        }
        Ok(())
    }

    /// What addresses had before and after a block; none where the node has no state of it.
    async fn had(
        &mut self,
        addresses: &[Address],
        height: u32,
    ) -> Result<Vec<Option<(U256, U256)>>, Incomparable> {
        let method = "eth_getBalance";
        let call =
            |address: &Address, height: u32| (method, format!(r#"["{address}","{height:#x}"]"#));
        let both = |address| [call(address, height - 1), call(address, height)];
        let calls: Vec<(&str, String)> = addresses.iter().flat_map(both).collect();
        if calls.is_empty() {
            return Ok(Vec::new());
        }
        let answers = self.node.call_batch(&calls, Weight::Internal).await;
        let answers = answers.map_err(|error| Incomparable::Node(error.to_string()))?;
        let balance = |at: usize| {
            let text = answers.get(at)?.as_ref().ok()?;
            read::<Hex<U256>>(method, text).ok().map(|it| it.0)
        };
        Ok((0..addresses.len()).map(|at| balance(2 * at).zip(balance(2 * at + 1))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::heights;

    #[test]
    fn a_sample_has_both_ends_and_no_height_twice() {
        assert_eq!(heights(5, 5, false), [5]);
        assert_eq!(heights(0, 127, false).len(), 128);
        assert_eq!(heights(3, 5000, true).len(), 4998);
        let some = heights(7, 5_000_000, false);
        assert_eq!((some.len(), some[0], some[127]), (128, 7, 5_000_000));
        assert!(some.is_sorted_by(|a, b| a < b));
    }
}
