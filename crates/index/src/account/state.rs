//! What only a node can tell of an account: balance, nonce, code.
//!
//! Invariant: the three belong to one block, that of the view they are asked for.

use std::sync::Arc;

use chain::account::{Address, U256};
use node::{CallError, Node, RpcError, Tried, Weight};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::nodes::Nodes;
use super::quantity::Hex;
use super::unanswered::Unanswered;
use super::upstream::{Upstream, read};
use super::view::View;
use crate::sync::UpstreamError;

/// How nodes that name a block by its hash alone are remembered.
const BY_HASH: &str = "a block named by its hash";
/// What a delegation of EIP-7702 begins with; the address follows.
const DELEGATION: [u8; 3] = [0xef, 0x01, 0x00];

/// An account at a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountState {
    /// What it has.
    pub balance: U256,
    /// Transactions that it sent, and contracts that it created where it is one.
    pub nonce: u64,
    /// Bytes of its code.
    pub code_size: u64,
    /// To whom it delegates (EIP-7702), if it does.
    pub delegated_to: Option<Address>,
}

impl AccountState {
    /// Whether it has code of its own (decision A9).
    pub fn is_contract(&self) -> bool {
        self.code_size > 0 && self.delegated_to.is_none()
    }

    fn of(balance: U256, nonce: u64, code: &[u8]) -> AccountState {
        let delegated = code.strip_prefix(&DELEGATION).and_then(|rest| rest.try_into().ok());
        let code_size = code.len() as u64;
        AccountState { balance, nonce, code_size, delegated_to: delegated.map(Address) }
    }
}

/// What an account has at the tip of a view.
pub(super) async fn account(
    nodes: &Nodes,
    view: &View,
    address: Address,
) -> Result<AccountState, Unanswered> {
    let mut tried = Tried::new();
    let mut last = Unanswered::Silent;
    while let Ok(node) = nodes.pick(&tried) {
        match account_of(&nodes.upstream, &node, view, address).await {
            Ok(state) => return Ok(state),
            Err(error) => last = Unanswered::of(&error),
        }
        tried.add(&node);
    }
    Err(last)
}

async fn account_of(
    upstream: &Upstream,
    node: &Arc<Node>,
    view: &View,
    address: Address,
) -> Result<AccountState, UpstreamError> {
    let tip = view.tip();
    if !upstream.lacks(node, BY_HASH) {
        let block = format!(r#"{{"blockHash":"{}"}}"#, tip.hash);
        match state(node, address, &block).await {
            // An old block, or a form that the node does not read: the height tells which.
            Err(UpstreamError::Call(CallError::Rpc { .. })) => {}
            answer => return answer,
        }
    }
    let state = state(node, address, &format!("\"{:#x}\"", tip.height)).await?;
    // The height must mean the same block as it did in our view.
    let heads = upstream.heads(node, std::iter::once(tip.height)).await?;
    match heads.first() {
        Some(head) if head.hash == tip.hash => {
            upstream.note_lack(node, BY_HASH);
            Ok(state)
        }
        _ => Err(UpstreamError::NotThere),
    }
}

async fn state(
    node: &Arc<Node>,
    address: Address,
    block: &str,
) -> Result<AccountState, UpstreamError> {
    let params = format!(r#"["{address}",{block}]"#);
    let methods = ["eth_getBalance", "eth_getTransactionCount", "eth_getCode"];
    let calls = methods.map(|method| (method, params.as_str()));
    let mut answers = node.call_batch(&calls, Weight::Internal).await?.into_iter();
    let balance: Hex<U256> = one(methods[0], answers.next())?;
    let nonce: Hex<u64> = one(methods[1], answers.next())?;
    let code: Hex<Vec<u8>> = one(methods[2], answers.next())?;
    Ok(AccountState::of(balance.0, nonce.0, &code.0))
}

fn one<T: DeserializeOwned>(
    method: &'static str,
    answer: Option<Result<Box<RawValue>, RpcError>>,
) -> Result<T, UpstreamError> {
    match answer {
        Some(Ok(text)) => read(method, &text),
        Some(Err(error)) => Err(CallError::from(error).into()),
        None => Err(UpstreamError::Shape { method }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delegation_is_no_code_of_its_own() {
        let of = |code: &[u8]| AccountState::of(U256::ZERO, 0, code);
        assert!(!of(&[]).is_contract());
        assert!(of(&[0x60]).is_contract());
        let delegation = [&DELEGATION[..], &[7; 20]].concat();
        assert_eq!(of(&delegation).delegated_to, Some(Address([7; 20])));
        assert!(!of(&delegation).is_contract());
        assert!(of(&delegation[..22]).is_contract());
    }
}
