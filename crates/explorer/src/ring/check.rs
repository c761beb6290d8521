//! `/tx/{hash}/outputs/check`: which outputs of a transaction belong to an address.
//!
//! Leaves the body to `claim`, curves to `chain`. Invariants: work is bounded, and done on the pool
//! (decision R11); no node is asked; neither address nor key is in what is answered.

use chain::AddressParams;
use chain::ring::{Hash, check};
use index::ring::Inclusion;
use schemars::JsonSchema;
use serde::Serialize;

use super::claim::Claim;
use super::hex::Hex32;
use super::{Desk, place};
use crate::answer::Question;
use crate::fail::Fail;
use crate::refusal::{Reason, Refusal};
use crate::utxo::Amount;

/// A parsed request.
pub(super) struct Check {
    hash: Hash,
    claim: Claim,
}

/// Which outputs belong to the address.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OutputsCheck {
    /// Hash of the transaction.
    pub tx_hash: Hex32,
    /// The kind of key that was sent.
    #[schemars(extend("enum" = ["viewkey", "txkey"]))]
    pub kind: &'static str,
    /// The outputs that belong to the address, in their order; empty where none does.
    pub matches: Vec<Match>,
    /// Sum of their amounts.
    pub total: Amount,
    /// Outputs of the transaction in all. Absent only while one waits that is of a kind that is not
    /// known here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_count: Option<u64>,
    /// 0 while it waits.
    pub confirmations: u32,
    /// Height of its block; absent while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_height: Option<u32>,
}

/// An output that belongs to the address.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OutputMatch")]
pub struct Match {
    /// Place among the outputs.
    pub index: usize,
    /// Its one-time key.
    pub public_key: Hex32,
    /// What it is worth; absent where that cannot be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<Amount>,
}

impl Check {
    /// Reads a request. What is malformed is refused whether the transaction is there or not.
    pub(super) fn of(question: &Question<'_>) -> Result<Check, Refusal> {
        let hash = place::transaction_hash(&question.argument()?)?;
        let AddressParams::Monero(network) = &question.service.network.addresses else {
            return Err(Reason::NotOnThisChain.into());
        };
        Ok(Check { hash, claim: Claim::of(question.body.bytes(), network)? })
    }

    /// What belongs to the address.
    pub(super) fn answer(&self, desk: &Desk) -> Result<OutputsCheck, Fail> {
        let found = desk.view.transaction_within(desk.tier, &self.hash)?;
        let found = found.ok_or(Reason::NotFound)?;
        let transaction = found.record.decode()?;
        let Claim { address, kind, key } = &self.claim;
        let answer = check::check(&transaction, address, *kind, key);
        let (block_height, confirmations) = match found.inclusion {
            Inclusion::Block { height, .. } => (Some(height), desk.confirmations(height)),
            Inclusion::Mempool { .. } => (None, 0),
        };
        Ok(OutputsCheck {
            tx_hash: self.hash.into(),
            kind: kind.as_str(),
            matches: answer.matches.iter().map(Match::of).collect(),
            total: Amount::of(answer.total),
            output_count: found.record.output_count()?,
            confirmations,
            block_height,
        })
    }
}

impl Match {
    fn of(found: &check::Match) -> Match {
        Match {
            index: found.index,
            public_key: found.public_key.into(),
            amount: found.amount.map(Amount::of),
        }
    }
}
