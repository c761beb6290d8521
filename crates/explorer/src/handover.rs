//! From the worker to the pool: what is in memory is answered at once, the rest waits elsewhere.
//!
//! Leaves what is read to the families, places on the pool to `reads`. Invariants: the worker never
//! waits for the disk nor makes a long answer; a read that failed is logged once, with the request.

use index::{ReadError, Tier};

use crate::answer::Question;
use crate::content::{self, Begun, Content};
use crate::fail::Fail;
use crate::reads::{self, Reads};
use crate::refusal::Refusal;

/// How much work a question is, if what it reads is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Below a millisecond.
    Small,
    /// More than the worker does.
    Large,
    /// Sums that keep a core busy.
    Sums,
}

/// Answers a question, `begin` being what reads rows so far as it is told.
pub(crate) async fn answer(
    question: &Question<'_>,
    reads: &Reads,
    effort: Effort,
    begin: impl Fn(Tier) -> Result<Begun, Fail> + Send + 'static,
) -> Result<Content, Refusal> {
    let account = question.account;
    if effort == Effort::Small {
        match at_once(account, &begin).await {
            // What is long is no work for the worker.
            Ok(Begun::Long(_)) | Err(Fail::Read(ReadError::Cold)) => {}
            Ok(Begun::Whole(body)) => return Ok(body.into()),
            Err(fail) => return Err(told(question, fail)),
        }
    }
    let work = move || begin(Tier::Any);
    let begun = match effort {
        Effort::Sums => reads.compute(account, work).await?,
        Effort::Small | Effort::Large => reads.run(account, work).await?,
    };
    match begun.map_err(|fail| told(question, fail))? {
        Begun::Whole(body) => Ok(body.into()),
        Begun::Long(pieces) => {
            let long = content::measure(pieces, reads, account).await?;
            long.map(Content::Long).map_err(|fail| told(question, fail))
        }
    }
}

/// Reads rows for a question: in memory where they are there, else where waiting for the disk is
/// allowed.
pub(crate) async fn read<T: Send + 'static>(
    question: &Question<'_>,
    reads: &Reads,
    read: impl Fn(Tier) -> Result<T, Fail> + Send + 'static,
) -> Result<T, Refusal> {
    let done = match at_once(question.account, &read).await {
        Err(Fail::Read(ReadError::Cold)) => {
            reads.run(question.account, move || read(Tier::Any)).await?
        }
        done => done,
    };
    done.map_err(|fail| told(question, fail))
}

async fn at_once<T>(account: u64, read: &impl Fn(Tier) -> Result<T, Fail>) -> Result<T, Fail> {
    let _turn = reads::turn(account).await;
    read(Tier::Cached)
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
