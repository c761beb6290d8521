//! The ring family's eight endpoints.
//!
//! A handler parses, asks one view, shows. Leaves rows to `index`, curves to `chain`. Invariants: a
//! handler sees one view from its first read to its last, so that every number of an answer is of
//! one tip; no node is asked, so all but the mempool is answered while none is there.

mod block;
mod check;
mod claim;
mod hex;
mod listing;
mod place;
mod search;
mod single;
mod status;
mod transaction;

use std::sync::Arc;

use index::Tier;
use index::ring::{Index, View};

pub use block::{BlockJson, Summary};
pub use check::{Match, OutputsCheck};
pub use hex::Hex32;
pub use listing::Head as Transactions;
pub use search::Meaning;
pub use status::{RingStatus, Status};
pub use transaction::{
    Input, Inputs, Listed, Member, Output, Outputs, PaymentIdHex, TransactionJson,
};

use crate::answer::{Page, Question};
use crate::content::{self, Begun, Content};
use crate::fail::Fail;
use crate::handover::{self, Effort};
use crate::json::json;
use crate::path::Endpoint;
use crate::reads::Reads;
use crate::refusal::{Reason, Refusal};
use listing::{Listing, Source};
use place::BlockPlace;
use single::Single;

/// What a handler works with.
#[derive(Clone)]
struct Desk {
    view: Arc<View>,
    /// How far reads may go.
    tier: Tier,
}

impl Desk {
    /// How many blocks of our chain confirm one at that height, itself included.
    fn confirmations(&self, height: u32) -> u32 {
        self.view.height().saturating_sub(height).saturating_add(1)
    }
}

/// A parsed request.
enum Ask {
    Blocks(block::Blocks),
    Block(BlockPlace),
    BlockTxs(BlockPlace, Page),
    Tx(chain::ring::Hash),
    Mempool(Page),
    Search(search::Query),
    OutputsCheck(check::Check),
}

/// Answers one request.
pub(crate) async fn answer(
    question: &Question<'_>,
    index: &Index,
    reads: &Reads,
) -> Result<Content, Refusal> {
    if question.path.endpoint == Endpoint::Status {
        return Ok(json(&status::status(index)).into());
    }
    let ask = Ask::of(question)?;
    // Not before the request was read: what is malformed is so at any time.
    let loading = || Refusal::until(&index.standing(), "the first load of the index is running");
    let view = index.view().ok_or_else(loading)?;
    handover::answer(question, reads, ask.effort(), move |tier| {
        ask.answer(&Desk { view: Arc::clone(&view), tier })
    })
    .await
}

impl Ask {
    fn of(question: &Question<'_>) -> Result<Ask, Refusal> {
        Ok(match question.path.endpoint {
            Endpoint::Blocks => Ask::Blocks(block::Blocks::of(question)?),
            Endpoint::Block => Ask::Block(BlockPlace::of(&question.argument()?)?),
            Endpoint::BlockTxs => {
                Ask::BlockTxs(BlockPlace::of(&question.argument()?)?, question.page()?)
            }
            Endpoint::Tx => Ask::Tx(place::transaction_hash(&question.argument()?)?),
            Endpoint::Mempool => Ask::Mempool(question.page()?),
            // Whatever is asked for, it is answered (decision E8).
            Endpoint::Search => Ask::Search(match question.argument() {
                Ok(text) => search::Query::of(&text),
                Err(_) => search::Query::Nothing,
            }),
            Endpoint::OutputsCheck => Ask::OutputsCheck(check::Check::of(question)?),
            Endpoint::Status
            | Endpoint::Address
            | Endpoint::AddressTxs
            | Endpoint::AddressUtxo
            | Endpoint::Gas
            | Endpoint::Contract => return Err(Reason::NotOnThisChain.into()),
        })
    }

    fn effort(&self) -> Effort {
        if matches!(self, Ask::OutputsCheck(_)) { Effort::Sums } else { Effort::Small }
    }

    fn answer(&self, desk: &Desk) -> Result<Begun, Fail> {
        let list = |source, page: &Page| Box::new(Listing::new(desk.clone(), source, *page));
        let whole = match self {
            Ask::Blocks(ask) => json(&ask.answer(desk)?),
            Ask::Block(place) => json(&block::block(desk, *place)?),
            Ask::BlockTxs(place, page) => {
                let block = block::find(desk, *place)?;
                return content::begin(list(Source::Block(block), page));
            }
            Ask::Tx(hash) => return content::begin(Box::new(Single::new(desk.clone(), *hash))),
            Ask::Mempool(page) => return content::begin(list(Source::Mempool, page)),
            Ask::Search(query) => json(&query.answer(desk)?),
            Ask::OutputsCheck(check) => json(&check.answer(desk)?),
        };
        Ok(Begun::Whole(whole))
    }
}
