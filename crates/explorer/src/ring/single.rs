//! `/tx/{hash}`: one transaction with the ring of every input, in pieces where it is long.
//!
//! Invariant: it is shown whole, whatever it has (decision E17); no more rings are in memory than
//! those of a piece.

use chain::ring::{self, Hash};
use index::ReadError;
use index::Tier;
use index::ring::{CACHED_MEMBERS, TransactionView};

use super::Desk;
use super::transaction::{self, Input, Inputs, Member, Output, Outputs, TransactionJson};
use crate::content::{PIECE_BYTES, Pieces};
use crate::fail::Fail;
use crate::json::{put, separate};
use crate::refusal::Reason;

/// Members of rings, inputs or outputs of a piece.
const ITEMS: usize = CACHED_MEMBERS;
/// About so many bytes a member takes, or an input or output besides.
const ITEM_BYTES: usize = 200;

/// One transaction.
pub(super) struct Single {
    desk: Desk,
    hash: Hash,
    /// None until it is read.
    found: Option<Found>,
    stage: Stage,
}

/// What was read of it.
struct Found {
    tx: TransactionView,
    /// With empty rings where nobody can tell what they mean.
    inputs: Vec<ring::Input>,
    outputs: Vec<ring::Output>,
    /// Whether the outputs' amounts are public.
    is_public: bool,
}

#[derive(Clone, Copy)]
enum Stage {
    Head,
    Inputs(Spot),
    Outputs(usize),
    Done,
}

/// How far the rings are written.
#[derive(Clone, Copy, Default)]
struct Spot {
    input: usize,
    /// Members of that input that were looked up.
    member: usize,
    /// Whether one of them is written.
    is_begun: bool,
}

impl Single {
    pub(super) fn new(desk: Desk, hash: Hash) -> Single {
        Single { desk, hash, found: None, stage: Stage::Head }
    }
}

impl Pieces for Single {
    fn next(&mut self) -> Result<Option<Vec<u8>>, Fail> {
        let Single { desk, hash, found, stage } = self;
        let found = match found {
            Some(found) => found,
            None => found.insert(Found::read(desk, hash)?),
        };
        let mut piece = Vec::new();
        *stage = match *stage {
            Stage::Done => return Ok(None),
            Stage::Head if found.is_short() => {
                found.whole(desk, &mut piece)?;
                Stage::Done
            }
            Stage::Head => {
                found.head(desk, &mut piece)?;
                Stage::Inputs(Spot::default())
            }
            Stage::Inputs(spot) => found.more_inputs(desk, &mut piece, spot)?,
            Stage::Outputs(from) => found.more_outputs(&mut piece, from),
        };
        Ok(Some(piece))
    }

    fn restart(&mut self) {
        self.stage = Stage::Head;
    }

    fn held_bytes(&self) -> usize {
        self.found.as_ref().map_or(0, |found| {
            found.tx.record.body.len() + 8 * found.members() + 64 * found.items()
        })
    }
}

impl Found {
    fn read(desk: &Desk, hash: &Hash) -> Result<Found, Fail> {
        let tx = desk.view.transaction_within(desk.tier, hash)?.ok_or(Reason::NotFound)?;
        let decoded = tx.record.decode()?;
        let (mut inputs, outputs) = (decoded.inputs.clone(), decoded.outputs.clone());
        inputs.retain(|input| matches!(input, ring::Input::Key { .. }));
        for input in inputs.iter_mut().filter(|_| !decoded.is_known()) {
            if let ring::Input::Key { ring, .. } = input {
                ring.clear();
            }
        }
        let is_public = decoded.has_public_amounts();
        let found = Found { inputs, outputs, is_public, tx };
        match desk.tier == Tier::Cached && found.members() > CACHED_MEMBERS {
            // Much work, wherever it is read from.
            true => Err(ReadError::Cold.into()),
            false => Ok(found),
        }
    }

    fn members(&self) -> usize {
        self.inputs.iter().map(|input| input.ring().len()).sum()
    }

    fn items(&self) -> usize {
        self.inputs.len() + self.outputs.len()
    }

    /// Whether it is made at once.
    fn is_short(&self) -> bool {
        let items = ITEM_BYTES * (self.members() + self.items());
        self.members() <= CACHED_MEMBERS && 2 * self.tx.record.body.len() + items <= PIECE_BYTES
    }

    fn whole(&self, desk: &Desk, out: &mut Vec<u8>) -> Result<(), Fail> {
        out.reserve(512 + ITEM_BYTES * (self.members() + self.items()));
        let rings = desk.view.rings(&self.inputs, desk.tier)?;
        let outputs = Outputs(&self.outputs, self.is_public);
        self.write(desk, out, Inputs(&self.inputs, &rings), outputs)
    }

    /// Writes it up to its first input.
    fn head(&self, desk: &Desk, out: &mut Vec<u8>) -> Result<(), Fail> {
        const END: &[u8] = b"],\"outputs\":[]}";
        self.write(desk, out, Inputs(&[], &[]), Outputs(&[], self.is_public))?;
        debug_assert!(out.ends_with(END));
        out.truncate(out.len() - END.len());
        Ok(())
    }

    fn write(
        &self,
        desk: &Desk,
        out: &mut Vec<u8>,
        inputs: Inputs<'_>,
        outputs: Outputs<'_>,
    ) -> Result<(), Fail> {
        let decoded = self.tx.record.decode()?;
        let listed = transaction::listed(desk, &self.tx, &decoded);
        let (input_count, output_count) = (decoded.input_count(), self.tx.record.output_count()?);
        put(out, &TransactionJson { listed, input_count, output_count, inputs, outputs });
        Ok(())
    }

    /// Writes some more of its rings, and says where to go on.
    fn more_inputs(&self, desk: &Desk, out: &mut Vec<u8>, mut spot: Spot) -> Result<Stage, Fail> {
        let mut left = ITEMS;
        while left > 0 {
            let Some(input) = self.inputs.get(spot.input) else {
                out.extend_from_slice(b"],\"outputs\":[");
                return Ok(Stage::Outputs(0));
            };
            if spot.member == 0 {
                separate(out, spot.input > 0);
                put(out, &Input::of(input, Vec::new()));
                out.truncate(out.len() - b"]}".len());
            }
            let to = input.ring().len().min(spot.member + left);
            for member in desk.view.rings(&[part(input, spot.member, to)], desk.tier)?.concat() {
                separate(out, spot.is_begun);
                put(out, &Member::of(&member));
                spot.is_begun = true;
            }
            left = left.saturating_sub(to - spot.member + 1);
            spot.member = to;
            if to == input.ring().len() {
                out.extend_from_slice(b"]}");
                spot = Spot { input: spot.input + 1, ..Spot::default() };
            }
        }
        Ok(Stage::Inputs(spot))
    }

    /// Writes some more of its outputs, and says where to go on.
    fn more_outputs(&self, out: &mut Vec<u8>, from: usize) -> Stage {
        for (n, output) in self.outputs.iter().enumerate().skip(from).take(ITEMS) {
            separate(out, n > 0);
            put(out, &Output::of(output, self.is_public));
        }
        match from + ITEMS < self.outputs.len() {
            true => Stage::Outputs(from + ITEMS),
            false => {
                out.extend_from_slice(b"]}");
                Stage::Done
            }
        }
    }
}

/// An input with some members of its ring.
fn part(input: &ring::Input, from: usize, to: usize) -> ring::Input {
    let ring = input.ring().get(from..to).unwrap_or_default().to_vec();
    match *input {
        ring::Input::Key { amount, key_image, .. } => ring::Input::Key { amount, ring, key_image },
        ring::Input::Coinbase { height } => ring::Input::Coinbase { height },
    }
}
