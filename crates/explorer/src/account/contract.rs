//! `/contract/{address}`: who created a contract (decision A8).

use bytes::Bytes;
use chain::account::{Address, Hash};
use schemars::JsonSchema;
use serde::Serialize;

use super::Desk;
use super::address::{Coverage, ask};
use super::text::Text;
use crate::json::json;
use crate::refusal::{Reason, Refusal};

/// Who created a contract.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Contract")]
pub struct Contract {
    /// The contract.
    pub address: Text<Address>,
    /// Its latest creation, if the index has one.
    #[serde(flatten)]
    pub created: Option<Created>,
    /// How far the index has seen, where it has no creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
}

/// How a contract came to be.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Created")]
pub struct Created {
    /// Who created it, directly.
    pub creator: Text<Address>,
    /// Height of the block of the creation.
    pub height: u32,
    /// The transaction of the creation.
    pub tx_hash: Text<Hash>,
}

/// The latest creation of a contract; where the index has none, whether it is one.
pub(super) async fn contract(desk: &Desk<'_>, address: Address) -> Result<Bytes, Refusal> {
    let created = desk.read(move |view, tier| Ok(view.creation(&address, tier)?)).await?;
    let address_text = Text(address);
    if let Some((creation, tx_hash)) = created {
        let created = Created {
            creator: Text(creation.creator),
            height: creation.height,
            tx_hash: Text(tx_hash),
        };
        let (created, coverage) = (Some(created), None);
        return Ok(json(&Contract { address: address_text, created, coverage }));
    }
    let (_, state) = ask(desk, address).await?;
    if !state.is_contract() {
        return Err(Reason::NotFound.into());
    }
    let coverage = desk.read(|view, tier| Ok(view.coverage(tier)?)).await?;
    let (created, coverage) = (None, Some(coverage.into()));
    Ok(json(&Contract { address: address_text, created, coverage }))
}
