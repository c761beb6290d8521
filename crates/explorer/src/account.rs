//! The account family's eleven endpoints.
//!
//! A handler parses, asks one view, shows; what only a node knows is asked of the index, for the
//! block of that view. Leaves rows and nodes to `index`. Invariant: a handler sees one view from
//! its first read to its last, so that every number of an answer is of one tip.

mod address;
mod block;
mod contract;
mod gas;
mod mempool;
mod place;
mod search;
mod status;
mod text;
mod transaction;

use std::sync::Arc;

use bytes::Bytes;
use chain::account::{Address, Hash};
use index::Tier;
use index::account::{Index, Unanswered, View};

use crate::answer::Question;
use crate::content::Content;
use crate::fail::Fail;
use crate::handover;
use crate::json::json;
use crate::path::Endpoint;
use crate::reads::Reads;
use crate::refusal::{Reason, Refusal};
use place::{BlockPlace, Cursor};

pub use address::{Account, Coverage, History};
pub use block::{Block, Summary, Transactions};
pub use contract::{Contract, Created};
pub use gas::{Gas, GasTier};
pub use mempool::Mempool;
pub use search::Meaning;
pub use status::{AccountStatus, Status};
pub use text::{Data, Text};
pub use transaction::{InternalOperation, Listed, Mined, Transaction, TransactionLog, Transfer};

/// What a handler works with.
#[derive(Clone)]
struct Desk<'a> {
    index: &'a Arc<Index>,
    reads: &'a Reads,
    view: Arc<View>,
    question: &'a Question<'a>,
}

/// A parsed request.
enum Ask {
    Blocks { start: Option<u32>, limit: u32 },
    Block(BlockPlace),
    BlockTxs { block: BlockPlace, cursor: Option<Cursor>, limit: u32 },
    Tx(Hash),
    Address(Address),
    AddressTxs { address: Address, cursor: Option<Cursor>, limit: u32 },
    Gas,
    Contract(Address),
    Mempool { limit: u32 },
    Search(search::Query),
}

impl From<Unanswered> for Refusal {
    fn from(unanswered: Unanswered) -> Refusal {
        match unanswered {
            Unanswered::Silent => Refusal::unavailable("the node is not heard", 5),
            Unanswered::Unable => Refusal::unavailable("the node cannot tell", 3600),
            Unanswered::Odd => Reason::UpstreamError.into(),
        }
    }
}

/// Answers one request.
pub(crate) async fn answer(
    question: &Question<'_>,
    index: &Arc<Index>,
    reads: &Reads,
) -> Result<Content, Refusal> {
    if question.path.endpoint == Endpoint::Status {
        return Ok(json(&status::status(index)).into());
    }
    let ask = Ask::of(question)?;
    // Not before the request was read: what is malformed is so at any time.
    let beginning = || Refusal::until(&index.standing(), "the index has no block yet");
    let view = index.view().ok_or_else(beginning)?;
    Desk { index, reads, view, question }.answer(ask).await.map(Content::from)
}

impl Ask {
    fn of(question: &Question<'_>) -> Result<Ask, Refusal> {
        let limit = |most, default| question.bounded("limit", 1, most, default).map(|it| it as u32);
        let address = || {
            let text = question.argument()?;
            text.parse::<Address>().map_err(|problem| match problem {
                chain::account::BadAddress::Form => {
                    Refusal::saying(Reason::BadRequest, "not an address of 0x and 40 hex digits")
                }
                chain::account::BadAddress::Checksum => Refusal::saying(
                    Reason::BadRequest,
                    "the checksum of the address is wrong: the case of its letters does not fit",
                ),
            })
        };
        let block = || BlockPlace::of(&question.argument()?);
        Ok(match question.path.endpoint {
            Endpoint::Blocks => {
                let start = question.number("start")?;
                let start = start.map(|start| start.height().ok_or(Reason::NotFound));
                Ask::Blocks { limit: limit(25, 10)?, start: start.transpose()? }
            }
            Endpoint::Block => Ask::Block(block()?),
            Endpoint::BlockTxs => {
                let (block, cursor) = (block()?, Cursor::of(question)?);
                Ask::BlockTxs { block, cursor, limit: limit(50, 25)? }
            }
            Endpoint::Tx => Ask::Tx(place::transaction_hash(&question.argument()?)?),
            Endpoint::Address => Ask::Address(address()?),
            Endpoint::AddressTxs => {
                let (address, cursor) = (address()?, Cursor::of(question)?);
                Ask::AddressTxs { address, cursor, limit: limit(50, 25)? }
            }
            Endpoint::Gas => Ask::Gas,
            Endpoint::Contract => Ask::Contract(address()?),
            Endpoint::Mempool => Ask::Mempool { limit: limit(50, 25)? },
            // Whatever is asked for, it is answered (decision E8).
            Endpoint::Search => Ask::Search(match question.argument() {
                Ok(text) => search::Query::of(&text),
                Err(_) => search::Query::Nothing,
            }),
            Endpoint::Status | Endpoint::AddressUtxo | Endpoint::OutputsCheck => {
                return Err(Reason::NotOnThisChain.into());
            }
        })
    }
}

impl Desk<'_> {
    async fn answer(&self, ask: Ask) -> Result<Bytes, Refusal> {
        match ask {
            Ask::Blocks { start, limit } => block::blocks(self, start, limit).await,
            Ask::Block(place) => block::block(self, place).await,
            Ask::BlockTxs { block, cursor, limit } => {
                block::transactions(self, block, cursor, limit).await
            }
            Ask::Tx(hash) => transaction::transaction(self, hash).await,
            Ask::Address(address) => address::state(self, address).await,
            Ask::AddressTxs { address, cursor, limit } => {
                address::history(self, address, cursor, limit).await
            }
            Ask::Gas => gas::gas(self).await,
            Ask::Contract(address) => contract::contract(self, address).await,
            Ask::Mempool { limit } => mempool::mempool(self, limit).await,
            Ask::Search(query) => search::search(self, query).await,
        }
    }

    /// Reads rows of the view.
    async fn read<T: Send + 'static>(
        &self,
        read: impl Fn(&View, Tier) -> Result<T, Fail> + Send + 'static,
    ) -> Result<T, Refusal> {
        let view = Arc::clone(&self.view);
        handover::read(self.question, self.reads, move |tier| read(&view, tier)).await
    }

    /// Why a block below what is held is not shown.
    fn below_base(&self) -> Refusal {
        match self.index.is_filling() {
            true => Refusal::unavailable("the index has not come down to this block yet", 30),
            false => Refusal::saying(Reason::NotFound, "the index begins above this block"),
        }
    }
}

/// How many blocks confirm one at a height.
fn confirmations(view: &View, height: u32) -> u32 {
    view.tip().height.saturating_sub(height).saturating_add(1)
}
