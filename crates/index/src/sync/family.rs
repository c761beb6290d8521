//! What a family of chains fills in, so that its index is kept at the tip like those of the others.
//!
//! The trait is private to this crate: families are a closed set. Invariant: nothing in `sync`
//! knows what is in a block, a view or a pool.

use std::fmt::Display;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chain::{Chain, Network};
use node::Node;

use super::{Keeper, SyncOptions, Trouble, UpstreamError};
use crate::db::Db;
use crate::{IndexError, ReadError};

/// The node's view of its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best<H> {
    /// Height of its best block.
    pub height: u32,
    /// Hash of that.
    pub hash: H,
    /// It has headers of blocks that it has not yet, or says that it is still downloading.
    pub behind: bool,
}

/// How a pass over the node's mempool ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// The pool is the node's at our tip.
    Whole,
    /// The same but for transactions that could not be read.
    Unread,
    /// There is more to fetch.
    Unfinished,
    /// The node has another tip by now.
    Moved,
    /// It is not time yet for another one.
    Resting,
}

/// A family of chains: what `sync` asks of it. A value of it lives as long as the sync.
pub trait Family: Sized + Send + Sync + 'static {
    /// Name of a block.
    type Hash: Copy + Eq + Display + Send + Sync + 'static;
    /// The rows on disk.
    type Store: Send + 'static;
    /// One tip with its mempool, as readers see it.
    type View: Send + Sync + 'static;
    /// A block as a node gives it.
    type Raw: Send + 'static;
    /// The transactions that wait; a clone is cheap.
    type Waiting: Clone + Send + 'static;

    /// Begins to keep an index.
    fn new(store: &Self::Store, options: &SyncOptions) -> Self;

    /// The node's best block; what else the node says of it is kept until that is our tip.
    fn best(
        &mut self,
        node: &Arc<Node>,
    ) -> impl Future<Output = Result<Best<Self::Hash>, UpstreamError>> + Send;

    /// The hashes of the node's chain at those heights; the list ends before the first that it has
    /// not.
    fn hashes(
        node: &Arc<Node>,
        heights: Vec<u32>,
    ) -> impl Future<Output = Result<Vec<Self::Hash>, UpstreamError>> + Send;

    /// A block of a node.
    fn block(
        node: &Arc<Node>,
        hash: Self::Hash,
    ) -> impl Future<Output = Result<Self::Raw, UpstreamError>> + Send;

    /// Chain, network and folder of the rows.
    fn place(store: &Self::Store) -> (&'static Chain, &'static Network, PathBuf);

    /// What holds the rows.
    fn db(store: &Self::Store) -> &Arc<Db>;

    /// Height and hash of the last block; none in an index that has just begun.
    fn tip(store: &Self::Store) -> Option<(u32, Self::Hash)>;

    /// The hash of our block at a height.
    ///
    /// # Errors
    /// A damaged index.
    fn hash_at(store: &Self::Store, height: u32) -> Result<Option<Self::Hash>, ReadError>;

    /// Adds the block after our tip, which was asked for by that hash, in one batch; what it has or
    /// makes impossible waits no longer.
    ///
    /// # Errors
    /// `Block` for bytes that are not this block, `NotNext` if it does not follow our tip; any error
    /// of the rows. Nothing changed.
    fn connect(
        store: &mut Self::Store,
        hash: Self::Hash,
        raw: Self::Raw,
        waiting: &mut Self::Waiting,
    ) -> Result<(), IndexError>;

    /// Takes the tip back in one batch; gives the height of the one before it.
    ///
    /// # Errors
    /// A damaged index; nothing changed.
    fn disconnect(store: &mut Self::Store) -> Result<Option<u32>, IndexError>;

    /// What the rows say now; none without a block.
    fn view(store: &Self::Store) -> Option<Self::View>;

    /// Height and hash of a view's tip.
    fn tip_of(view: &Self::View) -> (u32, Self::Hash);

    /// The same tip with this mempool; with none where the node is not heard.
    fn showing(view: &Self::View, waiting: Option<Self::Waiting>) -> Self::View;

    /// Whether a view shows a mempool.
    fn shows_waiting(view: &Self::View) -> bool;

    /// The transactions that wait, as of the last pass.
    fn waiting(&self) -> &Self::Waiting;

    /// How many they are.
    fn count(waiting: &Self::Waiting) -> u64;

    /// Our tip is another one by now, and these wait.
    fn moved_to(&mut self, waiting: Self::Waiting);

    /// Takes out what the chain of a view has or has made impossible, after blocks were taken back.
    ///
    /// # Errors
    /// The rows cannot be read.
    fn hold_against(waiting: &mut Self::Waiting, view: &Self::View) -> Result<(), ReadError>;

    /// What time is left before there is something to do in a pass; zero while there is.
    fn rest(&self) -> Duration;

    /// Brings what waits up to the node's mempool, at the tip of `view`.
    fn pass(
        &mut self,
        node: &Arc<Node>,
        view: &Arc<Self::View>,
    ) -> impl Future<Output = Result<Pass, Trouble>> + Send;

    /// Loads an index that has no block in bulk, where that is worth while; `false` where it is
    /// not. What was begun is gone on with after trouble.
    fn load(
        &mut self,
        keeper: &mut Keeper<Self>,
        node: &Arc<Node>,
        best: Best<Self::Hash>,
    ) -> impl Future<Output = Result<bool, Trouble>> + Send;

    /// Height of the block that is loaded next, while a load is kept.
    fn load_height(&self) -> Option<u32>;
}
