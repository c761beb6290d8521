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

use bytes::Bytes;
use index::ring::{Index, View};
use index::{ReadError, Tier};
use serde::Serialize;

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
use crate::path::Endpoint;
use crate::reads::{self, Reads};
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
    let loading = || {
        let running = "the first load of the index is running";
        Refusal::unavailable(index.standing().waits_for.unwrap_or(running), 30)
    };
    let view = index.view().ok_or_else(loading)?;
    let desk = Desk { view, tier: Tier::Cached };
    if ask.is_small() {
        let turn = reads::turn(question.account).await;
        let begun = ask.answer(&desk);
        drop(turn);
        match begun {
            // What is long is no work for the worker.
            Ok(Begun::Long(_)) | Err(Fail::Read(ReadError::Cold)) => {}
            Ok(Begun::Whole(body)) => return Ok(body.into()),
            Err(fail) => return Err(told(question, fail)),
        }
    }
    let desk = Desk { tier: Tier::Any, ..desk };
    let begun = match ask {
        Ask::OutputsCheck(_) => reads.compute(question.account, move || ask.answer(&desk)).await?,
        _ => reads.run(question.account, move || ask.answer(&desk)).await?,
    };
    match begun.map_err(|fail| told(question, fail))? {
        Begun::Whole(body) => Ok(body.into()),
        Begun::Long(pieces) => {
            let long = content::measure(pieces, reads, question.account).await?;
            long.map(Content::Long).map_err(|fail| told(question, fail))
        }
    }
}

fn told(question: &Question<'_>, fail: Fail) -> Refusal {
    match fail {
        Fail::Refused(refusal) => refusal,
        Fail::Read(error) => {
            let chain = question.service.chain.slug;
            tracing::error!(chain, request_id = %question.id, %error, "a read of the index failed");
            error.into()
        }
    }
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

    /// Whether it is little work, if what it reads is in memory: below a millisecond.
    fn is_small(&self) -> bool {
        !matches!(self, Ask::OutputsCheck(_))
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

/// How many blocks of our chain confirm one at that height, itself included.
fn confirmations(desk: &Desk, height: u32) -> u32 {
    desk.view.height().saturating_sub(height).saturating_add(1)
}

fn json(view: &impl Serialize) -> Bytes {
    let mut out = Vec::with_capacity(512);
    put(&mut out, view);
    out.into()
}

fn put(out: &mut Vec<u8>, view: &impl Serialize) {
    serde_json::to_writer(out, view).expect("views have text keys and finite numbers");
}

fn separate(out: &mut Vec<u8>, is_after_another: bool) {
    if is_after_another {
        out.push(b',');
    }
}
