//! `/contract/{address}`: who created a contract (decision A8).

use bytes::Bytes;
use chain::account::{Address, Hash};
use serde::Serialize;

use super::address::{CoverageJson, ask};
use super::text::Text;
use super::{Desk, json};
use crate::refusal::{Reason, Refusal};

#[derive(Serialize)]
struct ContractJson {
    address: Text<Address>,
    #[serde(flatten)]
    created: Option<CreatedJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<CoverageJson>,
}

#[derive(Serialize)]
struct CreatedJson {
    creator: Text<Address>,
    height: u32,
    tx_hash: Text<Hash>,
}

/// The latest creation of a contract; where the index has none, whether it is one.
pub(super) async fn contract(desk: &Desk<'_>, address: Address) -> Result<Bytes, Refusal> {
    let created = desk.read(move |view, tier| Ok(view.creation(&address, tier)?)).await?;
    let address_text = Text(address);
    if let Some((creation, tx_hash)) = created {
        let created = CreatedJson {
            creator: Text(creation.creator),
            height: creation.height,
            tx_hash: Text(tx_hash),
        };
        let (created, coverage) = (Some(created), None);
        return Ok(json(&ContractJson { address: address_text, created, coverage }));
    }
    let (_, state) = ask(desk, address).await?;
    if !state.is_contract() {
        return Err(Reason::NotFound.into());
    }
    let coverage = desk.read(|view, tier| Ok(view.coverage(tier)?)).await?;
    let (created, coverage) = (None, Some(coverage.into()));
    Ok(json(&ContractJson { address: address_text, created, coverage }))
}
