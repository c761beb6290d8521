//! How far an audit is, and what reading every block again found.
//!
//! Leaves what has to hold to each family's `verify`, what is wrong to `faults`. Invariant: a block that
//! the node does not give is counted as not compared, never as a fault.

use std::future::Future;

use futures_util::{StreamExt, stream};

use crate::IndexError;
use crate::faults::Faults;

/// Blocks that are fetched at once.
const WINDOW: usize = 8;

/// How far an audit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being walked, such as `blocks`; with ` again` where faults are looked for.
    pub step: &'static str,
    /// What of it is done.
    pub done: u64,
    /// How much there is, where it is known.
    pub total: Option<u64>,
}

/// What reading every block of a node again found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Again {
    /// Blocks that were read.
    pub blocks: u64,
    /// Their transactions.
    pub transactions: u64,
    /// Blocks that the node did not give.
    pub not_compared: u64,
    /// The first 100 differences.
    pub faults: Vec<String>,
    /// All differences.
    pub fault_count: u64,
}

/// What was fetched of a height: its row, of how many transactions it is, and the node's block.
pub(crate) struct Fetched<R, B> {
    pub(crate) row: R,
    pub(crate) transactions: u32,
    /// None of a block that the node has not, or not any more.
    pub(crate) raw: Option<B>,
}

/// Reads every block up to a height from a node again. `fetch` gives the row of a height, if there is
/// one, and what the node has of it; `hold` holds them against each other, in the order of heights.
pub(crate) async fn read_again<R, B, F>(
    tip: u32,
    fetch: impl Fn(u32) -> F,
    mut hold: impl FnMut(&R, Option<B>, &mut Faults) -> Result<(), IndexError>,
    mut progress: impl FnMut(Progress),
) -> Result<Again, IndexError>
where
    F: Future<Output = Result<Option<Fetched<R, B>>, IndexError>>,
{
    let (mut again, mut faults) = (Again::default(), Faults::default());
    let total = Some(u64::from(tip) + 1);
    let mut blocks = stream::iter(0..=tip).map(fetch).buffered(WINDOW);
    let mut height = 0u64;
    while let Some(fetched) = blocks.next().await {
        match fetched? {
            Some(Fetched { row, transactions, raw }) => {
                match raw {
                    Some(_) => {
                        again.blocks += 1;
                        again.transactions += u64::from(transactions);
                    }
                    None => again.not_compared += 1,
                }
                hold(&row, raw, &mut faults)?;
            }
            None => faults.say(format_args!("block {height}: has no row")),
        }
        height += 1;
        progress(Progress { step: "node's blocks", done: height, total });
    }
    drop(blocks);
    (again.faults, again.fault_count) = faults.into_parts();
    Ok(again)
}
