//! What a transaction is for, and what a vote says.
//!
//! Sources: dcrd, blockchain/stake/staketx.go and treasury.go. A block's own tree tells the same:
//! consensus refuses a transaction in the wrong one. Invariant: the kind follows from the
//! transaction alone.

use super::Transaction;
use crate::Hash32;
use crate::utxo::input::{Input, OutPoint};
use crate::utxo::opcodes::{
    OP_RETURN, OP_SSGEN, OP_SSRTX, OP_SSTX, OP_SSTXCHANGE, OP_TADD, OP_TGEN, OP_TSPEND,
};
use crate::utxo::stake_tag;

/// Transactions that move coins of the treasury have this version.
const TREASURY_VERSION: i32 = 3;
const MOST_INPUTS_OF_A_TICKET: usize = 64;
/// Bytes of the script that says which block is voted on: OP_RETURN, a push of 36 bytes.
const BLOCK_SCRIPT_BYTES: usize = 38;
/// Bytes of the script that names whom a vote pays, and with how much: at least a push of 30.
const COMMITMENT_BYTES: std::ops::RangeInclusive<usize> = 32..=77;

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Moves coins.
    Regular,
    /// Makes a block's new coins.
    Coinbase,
    /// Locks coins as a stake.
    Ticket,
    /// Votes with a ticket on the block before, which gives the stake back with a reward.
    Vote,
    /// Gives back the stake of a ticket that missed its vote or expired.
    Revocation,
    /// Makes the treasury's share of a block's new coins.
    Treasurybase,
    /// Gives coins to the treasury.
    TreasuryAdd,
    /// Takes coins from the treasury.
    TreasurySpend,
}

impl Kind {
    /// The word for it in answers, where a chain has stakes; a coinbase is `regular` there.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Regular | Kind::Coinbase => "regular",
            Kind::Ticket => "ticket",
            Kind::Vote => "vote",
            Kind::Revocation => "revocation",
            Kind::Treasurybase => "treasurybase",
            Kind::TreasuryAdd => "treasuryadd",
            Kind::TreasurySpend => "treasuryspend",
        }
    }

    /// Whether it belongs into a block's tree of stake transactions, which no vote can void.
    pub fn is_stake(self) -> bool {
        !matches!(self, Kind::Regular | Kind::Coinbase)
    }

    /// Whether what goes in is told, so that there is a fee. It is not where coins are made.
    pub fn has_value_in(self) -> bool {
        !matches!(self, Kind::Coinbase | Kind::Treasurybase)
    }
}

/// What a vote says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vote {
    /// Choices; see [`Vote::approves`].
    pub bits: u16,
    /// Version of the rules that the choices are of; 0 where the vote names none.
    pub version: u32,
    /// Hash of the block that is voted on.
    pub block_hash: Hash32,
    /// Its height.
    pub block_height: u32,
}

impl Vote {
    /// Whether the regular transactions of the block are to stand.
    pub fn approves(&self) -> bool {
        self.bits & 1 != 0
    }

    pub(super) fn of(transaction: &Transaction<'_>) -> Option<Vote> {
        if transaction.kind() != Kind::Vote {
            return None;
        }
        let mut outputs = transaction.outputs();
        Vote::of_scripts(outputs.next()?.script, outputs.next()?.script)
    }

    /// Reads a vote from the scripts of its first two outputs: which block, and what of it.
    /// `None` where they are not of a vote.
    pub fn of_scripts(block: &[u8], choices: &[u8]) -> Option<Vote> {
        let (block, choices) = (block.get(2..BLOCK_SCRIPT_BYTES)?, choices.get(2..)?);
        let (hash, height) = block.split_first_chunk()?;
        let (bits, version) = choices.split_first_chunk()?;
        Some(Vote {
            bits: u16::from_le_bytes(*bits),
            version: version.first_chunk().map_or(0, |version| u32::from_le_bytes(*version)),
            block_hash: Hash32::from_wire(*hash),
            block_height: u32::from_le_bytes(*height.first_chunk()?),
        })
    }
}

/// The kind of a transaction on a chain with stakes.
pub(super) fn of_staked(transaction: &Transaction<'_>) -> Kind {
    let Some(first) = transaction.inputs().next() else { return Kind::Regular };
    let treasury = transaction.version == TREASURY_VERSION;
    let is_null = first.previous == OutPoint::NULL && !first.from_stake_tree;
    if transaction.outputs().any(|output| output.script_version != 0) {
        return if is_null && transaction.counts.0 == 1 { Kind::Coinbase } else { Kind::Regular };
    }
    match transaction.counts.0 {
        1 if is_null && treasury && is_treasurybase(transaction, &first) => Kind::Treasurybase,
        1 if is_null && treasury && is_treasury_spend(transaction, &first) => Kind::TreasurySpend,
        1 if is_null => Kind::Coinbase,
        2 if is_null && is_vote(transaction) => Kind::Vote,
        1 if first.from_stake_tree && is_revocation(transaction, &first) => Kind::Revocation,
        _ if treasury && is_treasury_add(transaction) => Kind::TreasuryAdd,
        _ if is_ticket(transaction) => Kind::Ticket,
        _ => Kind::Regular,
    }
}

fn is_treasurybase(transaction: &Transaction<'_>, input: &Input<'_>) -> bool {
    let mut outputs = transaction.outputs().map(|output| output.script);
    let add = outputs.next() == Some(&[OP_TADD]);
    let height = matches!(outputs.next(), Some([OP_RETURN, 12, rest @ ..]) if rest.len() == 12);
    input.script.is_empty() && add && height && outputs.next().is_none()
}

fn is_treasury_spend(transaction: &Transaction<'_>, input: &Input<'_>) -> bool {
    let signed = matches!(input.script, [64, .., OP_TSPEND] if input.script.len() == 100);
    let mut outputs = transaction.outputs().map(|output| output.script);
    let salt = matches!(outputs.next(), Some([OP_RETURN, 32, rest @ ..]) if rest.len() == 32);
    signed && salt && transaction.counts.1 >= 2 && outputs.all(|script| is_tagged(script, OP_TGEN))
}

fn is_treasury_add(transaction: &Transaction<'_>) -> bool {
    let mut outputs = transaction.outputs().map(|output| output.script);
    outputs.next() == Some(&[OP_TADD])
        && transaction.counts.1 <= 2
        && outputs.all(|script| is_tagged(script, OP_SSTXCHANGE))
}

fn is_ticket(transaction: &Transaction<'_>) -> bool {
    let (inputs, outputs) = transaction.counts;
    if inputs > MOST_INPUTS_OF_A_TICKET || outputs != 2 * inputs + 1 {
        return false;
    }
    transaction.outputs().enumerate().all(|(place, output)| match place {
        0 => is_tagged(output.script, OP_SSTX),
        _ if is_commitment(place) => {
            COMMITMENT_BYTES.contains(&output.script.len()) && is_one_push(output.script)
        }
        _ => is_tagged(output.script, OP_SSTXCHANGE),
    })
}

/// Whether the output of a ticket at that place commits to a payment rather than making one.
pub(in crate::utxo) fn is_commitment(place: usize) -> bool {
    place % 2 == 1
}

fn is_vote(transaction: &Transaction<'_>) -> bool {
    let ticket = transaction.inputs().nth(1);
    let spends_ticket =
        ticket.is_some_and(|input| input.from_stake_tree && input.previous.vout == 0);
    let count = transaction.counts.1;
    let fits = |place: usize, script: &[u8]| match place {
        0 => script.len() == BLOCK_SCRIPT_BYTES && is_one_push(script),
        1 => script.len() >= 4 && is_one_push(script),
        // The last one may vote on spends of the treasury.
        _ if place + 1 == count && script.first() == Some(&OP_RETURN) => true,
        _ => is_tagged(script, OP_SSGEN),
    };
    spends_ticket
        && count >= 2
        && transaction.outputs().enumerate().all(|(place, output)| fits(place, output.script))
}

fn is_revocation(transaction: &Transaction<'_>, ticket: &Input<'_>) -> bool {
    ticket.previous.vout == 0
        && transaction.outputs().all(|output| is_tagged(output.script, OP_SSRTX))
}

fn is_tagged(script: &[u8], tag: u8) -> bool {
    stake_tag::split(script).is_some_and(|(found, _)| found == tag)
}

/// OP_RETURN and one push by the shortest opcode of its length.
fn is_one_push(script: &[u8]) -> bool {
    matches!(script, [OP_RETURN, length @ 1..=75, data @ ..] if usize::from(*length) == data.len())
}
