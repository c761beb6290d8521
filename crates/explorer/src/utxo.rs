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
mod writing;

use std::sync::Arc;

use chain::Network;
use chain::utxo::Format;
use index::Tier;
use index::utxo::{Index, View};

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
use crate::handover::{self, Effort};
use crate::json::{Length, json, long};
use crate::path::Endpoint;
use crate::reads::Reads;
use crate::refusal::{Reason, Refusal};

/// What a handler works with.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) network: &'static Network,
    pub(crate) format: &'static Format,
    pub(crate) view: Arc<View>,
    /// The address whose transactions are listed.
    pub(crate) own: Option<Arc<address::Account>>,
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
    let loading = || Refusal::until(&index.standing(), "the first load of the index is running");
    let view = index.view().ok_or_else(loading)?;
    handover::answer(question, reads, ask.effort(), move |tier| {
        ask.answer(&Desk { network, format, view: Arc::clone(&view), own: None, tier })
    })
    .await
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

    fn effort(&self) -> Effort {
        if matches!(self, Ask::AddressUtxo(_)) { Effort::Large } else { Effort::Small }
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
