//! What a node says of a block of a later version of the protocol than is known here, where nothing
//! may be read from the bytes: its header, its coinbase, the places of its outputs.
//!
//! Leaves to `decoded` what of it is needed.

use std::sync::Arc;

use chain::ring::{BlockHeader, Hash};
use node::Node;
use serde::Deserialize;

use super::transactions::{Given, all};
use super::{hash, read};
use crate::ring::decoded::{RawBlock, Told};
use crate::sync::UpstreamError;

#[derive(Deserialize)]
struct Answer {
    block_header: Header,
    miner_tx_hash: String,
}

#[derive(Deserialize)]
struct Header {
    hash: String,
    prev_hash: String,
    timestamp: u64,
    nonce: u32,
    major_version: u8,
    minor_version: u8,
    reward: u64,
}

/// A block with what the node says of it. `text` is the answer of `get_block`; `others` are hashes and
/// answers of the transactions that are no coinbase.
pub(super) async fn told(
    node: &Arc<Node>,
    wanted: &Hash,
    text: &str,
    raw: RawBlock,
    (hashes, others): (Vec<Hash>, Vec<Given>),
) -> Result<RawBlock, UpstreamError> {
    let method = "get_block";
    let Answer { block_header, miner_tx_hash } = read(method, text)?;
    if hash(method, &block_header.hash)? != *wanted {
        return Err(UpstreamError::Shape { method });
    }
    let name = hash(method, &miner_tx_hash)?;
    let mut given = all(node, &[name]).await?;
    let coinbase = given.first().map(|coinbase| coinbase.bytes.clone()).unwrap_or_default();
    given.extend(others);
    let places: Option<Vec<Vec<u64>>> = given.into_iter().map(|it| it.output_indices).collect();
    let counts = |places: &Vec<Vec<u64>>| places.iter().map(|it| it.len() as u64).collect();
    let told = Told {
        hash: *wanted,
        header: BlockHeader {
            major: block_header.major_version,
            minor: block_header.minor_version,
            timestamp: block_header.timestamp,
            previous: hash(method, &block_header.prev_hash)?,
            nonce: block_header.nonce,
        },
        reward: block_header.reward,
        coinbase: (name, coinbase),
        hashes,
        outputs: places.as_ref().map(counts),
    };
    let output_indices = places.map(|places| places.concat());
    Ok(RawBlock { output_indices, told: Some(Box::new(told)), ..raw })
}
