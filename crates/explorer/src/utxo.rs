//! The utxo family's ten endpoints.
//!
//! A handler parses, asks one view, shows. Leaves rows to `index`. Invariant: a handler sees one
//! view from its first read to its last, so that every number of an answer is of one tip.

mod address;
mod amount;
mod block;
mod hex;
mod listing;
mod mempool;
mod place;
mod search;
mod single;
mod status;
mod transaction;

use std::sync::Arc;

use bytes::Bytes;
use chain::Network;
use chain::utxo::Format;
use index::utxo::{Index, View};
use index::{ReadError, Tier};
use serde::Serialize;

use single::Single;

pub use address::{Outputs as UnspentOutputs, Totals, Unconfirmed, Unspent, UnspentJson};
pub use amount::Amount;
pub use block::{Header, Summary};
pub use hex::{BytesHex, HashHex};
pub use listing::Head as Transactions;
pub use mempool::Pool;
pub use search::Meaning;
pub use status::{Pool as ValuePool, Status};
pub use transaction::{Input, Inputs, Nft, Output, Outputs, Token, TransactionJson};

use crate::answer::Question;
use crate::content::{self, Begun, Content};
use crate::fail::Fail;
use crate::path::Endpoint;
use crate::reads::{self, Reads};
use crate::refusal::{Reason, Refusal};

/// What a handler works with.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) network: &'static Network,
    pub(crate) format: &'static Format,
    pub(crate) view: Arc<View>,
    /// How far reads may go.
    pub(crate) tier: Tier,
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
    Block(place::BlockPlace),
    BlockTxs(block::BlockTxs),
    Tx(chain::Hash32),
    Address(address::Account),
    AddressTxs(address::AddressTxs),
    AddressUtxo(address::Account),
    Mempool,
    Search(search::Query),
}

/// Answers one request.
pub(crate) async fn answer(
    question: &Question<'_>,
    index: &Index,
    reads: &Reads,
) -> Result<Content, Refusal> {
    let (chain, network) = (question.service.chain, question.service.network);
    let format = chain.format().ok_or(Reason::ServiceUnavailable)?;
    if question.path.endpoint == Endpoint::Status {
        return Ok(json(&status::status(index)).into());
    }
    let ask = Ask::of(question, network, format)?;
    // Not before the request was read: what is malformed is so at any time.
    let loading = || {
        let running = "the first load of the index is running";
        Refusal::unavailable(index.standing().waits_for.unwrap_or(running), 30)
    };
    let view = index.view().ok_or_else(loading)?;
    let desk = Desk { network, format, view, tier: Tier::Cached };
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
    let begun = reads.run(question.account, move || ask.answer(&desk)).await?;
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
    fn of(
        question: &Question<'_>,
        network: &'static Network,
        format: &Format,
    ) -> Result<Ask, Refusal> {
        let account = || address::Account::of(&question.argument()?, network, format);
        Ok(match question.path.endpoint {
            Endpoint::Blocks => Ask::Blocks(block::Blocks::of(question)?),
            Endpoint::Block => Ask::Block(place::BlockPlace::of(&question.argument()?)?),
            Endpoint::BlockTxs => Ask::BlockTxs(block::BlockTxs::of(question)?),
            Endpoint::Tx => Ask::Tx(place::txid(&question.argument()?)?),
            Endpoint::Address => Ask::Address(account()?),
            Endpoint::AddressTxs => {
                Ask::AddressTxs(address::AddressTxs { account: account()?, page: question.page()? })
            }
            Endpoint::AddressUtxo => Ask::AddressUtxo(account()?),
            Endpoint::Mempool => Ask::Mempool,
            // Whatever is asked for, it is answered (decision E8).
            Endpoint::Search => Ask::Search(match question.argument() {
                Ok(text) => search::Query::of(&text, network, format),
                Err(_) => search::Query::Nothing,
            }),
            Endpoint::Status | Endpoint::Gas | Endpoint::Contract | Endpoint::OutputsCheck => {
                return Err(Reason::NotOnThisChain.into());
            }
        })
    }

    /// Whether it is little work, if what it reads is in memory: below a millisecond.
    fn is_small(&self) -> bool {
        !matches!(self, Ask::AddressUtxo(_))
    }

    fn answer(&self, desk: &Desk) -> Result<Begun, Fail> {
        let whole = match self {
            Ask::Blocks(ask) => json(&ask.answer(desk)?),
            Ask::Block(place) => json(&block::header(desk, place)?),
            Ask::BlockTxs(ask) => return content::begin(Box::new(ask.listing(desk)?)),
            Ask::Tx(txid) => return content::begin(Box::new(Single::new(desk.clone(), *txid))),
            Ask::Address(account) => json(&account.totals(desk)?),
            Ask::AddressTxs(ask) => return content::begin(Box::new(ask.listing(desk))),
            Ask::AddressUtxo(account) => long(&account.unspent(desk)?),
            Ask::Mempool => json(&mempool::mempool(desk)?),
            Ask::Search(query) => json(&query.answer(desk)?),
        };
        Ok(Begun::Whole(whole))
    }
}

fn json(view: &impl Serialize) -> Bytes {
    written(view, 512)
}

/// A view that may be long.
trait Length: Serialize {
    /// About so many bytes it takes. Memory that has to grow is copied, and cleared by the kernel.
    fn length(&self) -> usize;
}

fn long(view: &impl Length) -> Bytes {
    written(view, view.length())
}

fn written(view: &impl Serialize, length: usize) -> Bytes {
    let mut out = Vec::with_capacity(length);
    serde_json::to_writer(&mut out, view).expect("views have text keys and finite numbers");
    out.into()
}
