//! What token contracts say of themselves: symbol and decimals.
//!
//! Leaves reading their answers to `chain`. Invariants: an answer of ours never waits long for a
//! contract; the memory is bounded; a contract is asked once at a time.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chain::account::{Address, read_decimals, read_symbol};
use node::{Node, RpcError, Tried, Weight};
use serde_json::value::RawValue;

use super::nodes::Nodes;
use super::quantity::Hex;

/// Contracts that are remembered.
const MOST: usize = 65_536;
/// Contracts that one answer asks for.
const MOST_AT_ONCE: usize = 50;
/// Longest wait of an answer.
const PATIENCE: Duration = Duration::from_millis(300);
/// What a contract said is believed so long, and that it said nothing.
const KNOWN_FOR: Duration = Duration::from_secs(7 * 24 * 3600);
const UNKNOWN_FOR: Duration = Duration::from_secs(3600);
/// `symbol()` and `decimals()`.
const SYMBOL: &str = "0x95d89b41";
const DECIMALS: &str = "0x313ce567";

/// What a token says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenFacts {
    /// Its symbol.
    pub symbol: Option<Arc<str>>,
    /// Decimals between one token and its smallest unit.
    pub decimals: Option<u8>,
}

/// What is remembered.
#[derive(Debug, Default)]
pub(super) struct Tokens(Mutex<Memory>);

#[derive(Debug, Default)]
struct Memory {
    known: HashMap<Address, (TokenFacts, Instant)>,
    asked: HashSet<Address>,
}

impl Tokens {
    fn locked(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of these.
    fn known(&self, tokens: &[Address]) -> HashMap<Address, TokenFacts> {
        let memory = self.locked();
        let fresh = |token: &Address| {
            let (facts, _) =
                memory.known.get(token).filter(|(_, until)| *until > Instant::now())?;
            Some((*token, facts.clone()))
        };
        tokens.iter().filter_map(fresh).collect()
    }

    /// Takes on those of which nothing is known and that nobody asks.
    fn take_on(&self, tokens: &[Address]) -> Vec<Address> {
        let known = self.known(tokens);
        let mut memory = self.locked();
        let unknown = tokens.iter().filter(|token| !known.contains_key(token));
        unknown.filter(|token| memory.asked.insert(**token)).take(MOST_AT_ONCE).copied().collect()
    }

    fn learn(&self, asked: &[Address], answers: Vec<(Address, TokenFacts)>) {
        let mut memory = self.locked();
        memory.asked.retain(|token| !asked.contains(token));
        if memory.known.len() + answers.len() > MOST {
            let now = Instant::now();
            memory.known.retain(|_, (_, until)| *until > now);
        }
        if memory.known.len() + answers.len() > MOST {
            memory.known.clear();
        }
        for (token, facts) in answers {
            let lives = if facts.symbol.is_some() { KNOWN_FOR } else { UNKNOWN_FOR };
            memory.known.insert(token, (facts, Instant::now() + lives));
        }
    }

    /// What these contracts say of themselves, as far as it is known soon.
    pub(super) async fn facts(
        self: &Arc<Tokens>,
        nodes: &Arc<Nodes>,
        tokens: &[Address],
    ) -> HashMap<Address, TokenFacts> {
        if tokens.is_empty() {
            return HashMap::new();
        }
        let asked = self.take_on(tokens);
        if !asked.is_empty() {
            let (memory, nodes) = (Arc::clone(self), Arc::clone(nodes));
            // It goes on where the answer does not wait for it.
            let asking = tokio::spawn(async move {
                let answers = ask_any(&nodes, &asked).await;
                memory.learn(&asked, answers);
            });
            let _ = tokio::time::timeout(PATIENCE, asking).await;
        }
        self.known(tokens)
    }
}

async fn ask_any(nodes: &Nodes, tokens: &[Address]) -> Vec<(Address, TokenFacts)> {
    let mut tried = Tried::new();
    while let Ok(node) = nodes.pick(&tried) {
        if let Some(answers) = ask(&node, tokens).await {
            return answers;
        }
        tried.add(&node);
    }
    Vec::new()
}

async fn ask(node: &Arc<Node>, tokens: &[Address]) -> Option<Vec<(Address, TokenFacts)>> {
    let call = |token: &Address, data: &str| {
        ("eth_call", format!(r#"[{{"to":"{token}","data":"{data}"}},"latest"]"#))
    };
    let both = |token| [call(token, SYMBOL), call(token, DECIMALS)];
    let calls: Vec<(&str, String)> = tokens.iter().flat_map(both).collect();
    let answers = node.call_batch(&calls, Weight::Internal).await.ok()?;
    let pairs = answers.chunks_exact(2);
    let facts = pairs.map(|pair| TokenFacts {
        symbol: said(&pair[0]).and_then(|bytes| read_symbol(&bytes)).map(Arc::from),
        decimals: said(&pair[1]).and_then(|bytes| read_decimals(&bytes)),
    });
    Some(tokens.iter().copied().zip(facts).collect())
}

fn said(answer: &Result<Box<RawValue>, RpcError>) -> Option<Vec<u8>> {
    let text = answer.as_ref().ok()?;
    serde_json::from_str::<Hex<Vec<u8>>>(text.get()).ok().map(|bytes| bytes.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(n: u32) -> Address {
        let mut address = [7; 20];
        address[..4].copy_from_slice(&n.to_be_bytes());
        Address(address)
    }

    fn named(n: u32) -> (Address, TokenFacts) {
        (token(n), TokenFacts { symbol: Some("A".into()), decimals: Some(1) })
    }

    #[test]
    fn what_is_remembered_is_bounded_and_the_newest_is_there() {
        let tokens = Tokens::default();
        let most = MOST as u32;
        for first in (0..2 * most + 100).step_by(MOST_AT_ONCE) {
            let some: Vec<u32> = (first..first + MOST_AT_ONCE as u32).collect();
            let asked = tokens.take_on(&some.iter().copied().map(token).collect::<Vec<_>>());
            assert_eq!(asked.len(), MOST_AT_ONCE);
            tokens.learn(&asked, some.iter().copied().map(named).collect());
            assert!(tokens.locked().known.len() <= MOST);
            assert_eq!(tokens.known(&[token(first)]).len(), 1);
        }
        assert!(tokens.locked().asked.is_empty());
    }

    #[test]
    fn a_contract_is_asked_once_at_a_time_and_again_if_nothing_came() {
        let tokens = Tokens::default();
        let all: Vec<Address> = (0..120).map(token).collect();
        let first = tokens.take_on(&all);
        assert_eq!(first, all[..50]);
        // Whoever comes meanwhile asks for others.
        assert_eq!(tokens.take_on(&all), all[50..100]);
        assert_eq!(tokens.take_on(&all), all[100..]);
        assert_eq!(tokens.take_on(&all), []);
        // Nobody answered for the first ones; of the last one the contract said nothing.
        tokens.learn(&first, Vec::new());
        tokens.learn(&all[119..], vec![(all[119], TokenFacts::default())]);
        assert_eq!(tokens.take_on(&all), first);
        assert_eq!(tokens.known(&all[119..])[&all[119]], TokenFacts::default());
    }
}
