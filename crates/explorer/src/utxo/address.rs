//! `/address/{address}`, its transactions and its unspent outputs.

use std::sync::Arc;

use chain::utxo::Format;
use chain::{AddressError, Network};
use index::utxo::UnspentOutput;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::amount::Amount;
use super::hex::HashHex;
use super::listing::{Listing, Source};
use super::{Desk, Fail, Length};
use crate::answer::Page;
use crate::refusal::{Reason, Refusal};

/// The unspent list holds at most so many outputs.
const MOST_UNSPENT: usize = 1000;

/// An address that was read, in its canonical form and as a script.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    address: String,
    script: Vec<u8>,
}

impl Account {
    /// Reads an address in any form of this network (decision U2).
    pub(crate) fn of(
        text: &str,
        network: &'static Network,
        format: &Format,
    ) -> Result<Account, Refusal> {
        let refused = |why: AddressError| Refusal::saying(Reason::BadRequest, why.text());
        let destination = network.addresses.decode(text, format).map_err(refused)?;
        let address = network.addresses.encode(&destination);
        let address = address.ok_or_else(|| refused(AddressError::Unknown))?;
        Ok(Account { address, script: destination.script() })
    }

    /// Its canonical form.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Its output script.
    pub(crate) fn script(&self) -> &[u8] {
        &self.script
    }

    /// What it adds up to.
    pub(crate) fn totals(&self, desk: &Desk) -> Result<Totals<'_>, Fail> {
        let totals = desk.view.address(&self.script, desk.tier)?.ok_or(Reason::NotFound)?;
        Ok(Totals {
            address: &self.address,
            // The difference is never below nothing: what is sent was received before.
            balance: Amount(Amount::of(totals.received).0 - Amount::of(totals.sent).0),
            received: Amount::of(totals.received),
            sent: Amount::of(totals.sent),
            tx_count: totals.tx_count,
            unconfirmed: totals.unconfirmed.map(|pool| Unconfirmed {
                received: Amount::of(pool.received),
                sent: Amount::of(pool.sent),
                tx_count: pool.tx_count,
            }),
        })
    }

    /// Its largest unspent outputs.
    pub(crate) fn unspent<'d>(&self, desk: &'d Desk) -> Result<Unspent<'d>, Fail> {
        let list = desk.view.unspent(&self.script, MOST_UNSPENT)?.ok_or(Reason::NotFound)?;
        Ok(Unspent {
            count: list.count,
            truncated: list.count > list.items.len() as u64,
            tip_height: desk.view.height(),
            tip_hash: HashHex(desk.view.hash()),
            utxos: Outputs { desk, items: list.items },
        })
    }
}

/// An address. All but `unconfirmed` counts confirmed transactions.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Address")]
pub struct Totals<'a> {
    /// In its canonical form.
    pub address: &'a str,
    /// Received less sent.
    pub balance: Amount,
    /// Sum of all that it was paid.
    pub received: Amount,
    /// Sum of all that it paid.
    pub sent: Amount,
    /// Transactions that touch it.
    pub tx_count: u64,
    /// What the mempool adds; absent if it does not touch the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unconfirmed: Option<Unconfirmed>,
}

/// What the mempool adds to an address.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Unconfirmed {
    /// What waits to be paid to it.
    pub received: Amount,
    /// What waits to be paid by it.
    pub sent: Amount,
    /// Transactions that wait and touch it.
    pub tx_count: u64,
}

/// Confirmed unspent outputs of an address.
#[derive(Serialize, JsonSchema)]
pub struct Unspent<'d> {
    /// All unspent outputs of the address.
    pub count: u64,
    /// Whether there are more than are listed.
    pub truncated: bool,
    /// Height of the tip that this is of.
    pub tip_height: u32,
    /// Hash of that tip.
    pub tip_hash: HashHex,
    /// Largest first, at most 1000.
    #[schemars(with = "Vec<UnspentJson>")]
    pub utxos: Outputs<'d>,
}

impl Length for Unspent<'_> {
    fn length(&self) -> usize {
        256 + 192 * self.utxos.items.len()
    }
}

/// The outputs of the list, each made when it is written.
pub struct Outputs<'d> {
    desk: &'d Desk,
    items: Vec<UnspentOutput>,
}

impl Serialize for Outputs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.items.iter().map(|item| unspent_json(self.desk, item)))
    }
}

/// An unspent output.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UnspentOutput")]
pub struct UnspentJson {
    /// Blocks that confirm it.
    pub confirmations: u32,
    /// Height of its block.
    pub height: u32,
    /// Transaction that made it.
    pub txid: HashHex,
    /// Amount in the smallest unit.
    pub value: Amount,
    /// Place among the outputs of that.
    pub vout: u32,
    /// A coinbase made it.
    #[schemars(extend("enum" = [true]))]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub coinbase: bool,
    /// It holds tokens.
    #[schemars(extend("enum" = [true]))]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub token: bool,
    /// The waiting transaction that spends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unconfirmed_spend: Option<HashHex>,
}

fn unspent_json(desk: &Desk, item: &UnspentOutput) -> UnspentJson {
    UnspentJson {
        confirmations: desk.confirmations(item.height),
        height: item.height,
        txid: HashHex(item.txid),
        value: Amount::of(item.value),
        vout: item.vout,
        coinbase: item.coinbase,
        token: item.token,
        unconfirmed_spend: item.unconfirmed_spend.map(HashHex),
    }
}

/// A page of an address's transactions, newest first.
#[derive(Debug)]
pub(crate) struct AddressTxs {
    pub(crate) account: Account,
    pub(crate) page: Page,
}

impl AddressTxs {
    /// The page.
    pub(crate) fn listing(&self, desk: &Desk) -> Listing {
        let desk = Desk { own: Some(Arc::new(self.account.clone())), ..desk.clone() };
        Listing::new(desk, Source::Script(self.account.script.clone()), self.page)
    }
}
