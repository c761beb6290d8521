//! A first load under way, kept while something is waited for.
//!
//! Leaves rows to `Loader`, nodes to `first_load`. Invariant: work that was cut off leaves no loader
//! behind, so that nothing goes on from half of it.

use bytes::Bytes;
use chain::Hash32;

use super::load::Loader;
use crate::IndexError;
use crate::progress::LoadLog;
use crate::sync::{Trouble, away};

/// Consecutive raw blocks with their hashes.
pub(super) type Batch = Vec<(Hash32, Bytes)>;

/// A first load under way, kept while something is waited for.
pub(super) struct Load {
    /// None: it was lost with the work that it was at.
    pub(super) loader: Option<Loader>,
    /// What was fetched and not pushed yet.
    pub(super) fetched: Batch,
    pub(super) log: LoadLog,
}

impl Load {
    pub(super) fn loader(&self) -> Result<&Loader, Trouble> {
        self.loader.as_ref().ok_or_else(|| IndexError::failed("the load was cut off").into())
    }

    pub(super) fn is_sound(&self) -> bool {
        self.loader.as_ref().is_some_and(Loader::is_sound)
    }

    /// Height of the block that is pushed next.
    pub(super) fn next_height(&self) -> u32 {
        self.loader.as_ref().map_or(0, Loader::next_height)
    }

    /// Does something with the loader, away from the runtime.
    pub(super) async fn work(
        &mut self,
        work: impl FnOnce(&mut Loader) -> Result<(), IndexError> + Send + 'static,
    ) -> Result<(), Trouble> {
        self.loader()?;
        let Some(mut loader) = self.loader.take() else { return Ok(()) };
        let (loader, worked) = away(move || {
            let worked = work(&mut loader);
            Ok((loader, worked))
        })
        .await?;
        self.loader = Some(loader);
        Ok(worked?)
    }

    pub(super) async fn push(&mut self, batch: &[(Hash32, Bytes)]) -> Result<(), Trouble> {
        if batch.is_empty() {
            return Ok(());
        }
        let blocks = batch.iter().map(|(_, raw)| raw.clone()).collect();
        self.work(move |loader| loader.push(blocks)).await
    }
}
