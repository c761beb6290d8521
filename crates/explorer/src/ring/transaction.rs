//! A transaction as every list shows it, and the parts that `/tx/{hash}` adds.
//!
//! Leaves how a long one is made in pieces to `single`, and what `extra` holds to `chain`.
//! Invariant: an amount is shown where the protocol makes it public, and nowhere else (decision R5).

use chain::ring::{self, PaymentId, RingCt, Transaction};
use index::ring::{Inclusion, RingMember, TransactionView};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::Desk;
use super::hex::Hex32;
use crate::utxo::{Amount, BytesHex};

/// A transaction in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ListedTransaction")]
pub struct Listed<'a> {
    /// Height of its block; absent while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_height: Option<u32>,
    /// Absent unless it is one.
    #[schemars(extend("enum" = [true]))]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub coinbase: bool,
    /// 0 while it waits.
    pub confirmations: u32,
    /// What its maker wrote into it, in hex. Absent where it is of a kind that is not known here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra: Option<BytesHex<'a>>,
    /// What it pays to the miner. Absent on a coinbase, and where it or its ring signatures are of a
    /// kind that is not known here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fee: Option<Amount>,
    /// Hash.
    pub hash: Hex32,
    /// As it stands on the chain: 16 hex digits are encrypted, 64 are clear.
    #[schemars(with = "Option<BytesHex<'a>>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payment_id: Option<PaymentIdHex>,
    /// Type of its ring signatures, 0 where it has none. Absent where it is of a kind that is not known
    /// here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rct_type: Option<u8>,
    /// Outputs that its first input hides among. Absent on a coinbase, and where it or its ring
    /// signatures are of a kind that is not known here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring_size: Option<usize>,
    /// Bytes in all, proofs included.
    pub size: u64,
    /// Seconds since 1970 of its block; while it waits, of when it was seen first.
    pub time: u64,
    /// Version.
    pub version: u8,
    /// What a coinbase pays out. Absent where it is of a kind that is not known here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visible_out: Option<Amount>,
}

/// A transaction with its rings.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Transaction")]
pub struct TransactionJson<'a> {
    /// What a list shows of it too.
    #[serde(flatten)]
    pub listed: Listed<'a>,
    /// Inputs in all, that of a coinbase included. Absent where it is of a kind that is not known here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_count: Option<usize>,
    /// Outputs in all. Absent only while one waits that is of a kind that is not known here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_count: Option<u64>,
    // These two are last: a long transaction is written up to here, and then item by item.
    /// Inputs in order; empty on a coinbase. Up to the first that is of a kind not known here.
    #[schemars(with = "Vec<Input>")]
    pub inputs: Inputs<'a>,
    /// Outputs in order. Up to the first that is of a kind not known here.
    #[schemars(with = "Vec<Output>")]
    pub outputs: Outputs<'a>,
}

/// Inputs with their rings, each made when it is written.
pub struct Inputs<'a>(pub(super) &'a [ring::Input], pub(super) &'a [Vec<RingMember>]);

impl Serialize for Inputs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members = |ring: &Vec<RingMember>| ring.iter().map(Member::of).collect();
        let inputs = self.0.iter().zip(self.1);
        serializer.collect_seq(inputs.filter_map(|(input, ring)| Input::of(input, members(ring))))
    }
}

/// Outputs, likewise, and whether their amounts are public.
pub struct Outputs<'a>(pub(super) &'a [ring::Output], pub(super) bool);

impl Serialize for Outputs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|output| Output::of(output, self.1)))
    }
}

/// An input.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Input {
    /// Unique to the output that it spends.
    pub key_image: Hex32,
    /// What it spends, where that is public: outputs of before ring signatures hid amounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<Amount>,
    // Last: a long ring is written member by member.
    /// The outputs that it may spend, of which one is real, oldest first. Empty where the transaction
    /// or its ring signatures are of a kind that is not known here; while the transaction waits, members that a
    /// reorganisation took away are left out.
    pub ring: Vec<Member>,
}

impl Input {
    /// None of what makes new coins.
    pub(super) fn of(input: &ring::Input, ring: Vec<Member>) -> Option<Input> {
        let ring::Input::Key { amount, key_image, .. } = input else { return None };
        let amount = (*amount > 0).then(|| Amount::of(*amount));
        Some(Input { key_image: (*key_image).into(), amount, ring })
    }
}

/// A member of a ring.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RingMember")]
pub struct Member {
    /// Height of its block.
    pub height: u32,
    /// Its one-time key; absent where that output is of a kind that is not known here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_key: Option<Hex32>,
    /// The transaction that made it.
    pub tx_hash: Hex32,
}

impl Member {
    pub(super) fn of(member: &RingMember) -> Member {
        Member {
            height: member.height,
            public_key: member.public_key.map(Hex32::from),
            tx_hash: member.tx_hash.into(),
        }
    }
}

/// An output.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its one-time key.
    pub public_key: Hex32,
    /// What it is worth; absent where that is hidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<Amount>,
}

impl Output {
    pub(super) fn of(output: &ring::Output, is_public: bool) -> Output {
        let amount = is_public.then(|| Amount::of(output.amount));
        Output { public_key: output.key.into(), amount }
    }
}

/// A payment id, as it stands on the chain.
#[derive(Debug, Clone, Copy)]
pub struct PaymentIdHex(PaymentId);

impl Serialize for PaymentIdHex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            PaymentId::Encrypted(id) => BytesHex(id).serialize(serializer),
            PaymentId::Clear(id) => BytesHex(id).serialize(serializer),
        }
    }
}

/// A transaction as lists show it.
pub(super) fn listed<'a>(
    desk: &Desk,
    tx: &TransactionView,
    decoded: &Transaction<'a>,
) -> Listed<'a> {
    let (block_height, confirmations, time) = match tx.inclusion {
        Inclusion::Block { height, time, .. } => (Some(height), desk.confirmations(height), time),
        Inclusion::Mempool { first_seen } => (None, 0, first_seen),
    };
    let is_coinbase = decoded.is_coinbase();
    let is_read = decoded.ring_ct != RingCt::Unread;
    Listed {
        block_height,
        coinbase: is_coinbase,
        confirmations,
        extra: is_read.then_some(BytesHex(decoded.extra)),
        fee: decoded.fee().map(Amount::of),
        hash: tx.record.hash.into(),
        payment_id: decoded.parse_extra().payment_id().map(PaymentIdHex),
        rct_type: decoded.rct_type(),
        ring_size: decoded.ring_size().filter(|_| decoded.is_known()),
        size: tx.record.size,
        time,
        version: decoded.version,
        visible_out: (is_coinbase && is_read).then(|| Amount::of(decoded.visible_out())),
    }
}
