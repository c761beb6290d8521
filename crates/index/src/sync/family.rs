//! What a family of chains fills in, so that its index is kept at the tip like those of the others.
//!
//! The trait is private to this crate: families are a closed set. Invariant: nothing in `sync`
//! knows what is in a block, a view or a pool.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use node::Node;

use super::{Keeper, SyncOptions, Trouble, UpstreamError};
use crate::store::{self, LastBlock, Numbered, Store};
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

/// The transactions that wait, of a family whose views are `V`; a clone is cheap.
pub trait Waiting<V>: Clone + Send + 'static {
    /// How many they are.
    fn count(&self) -> u64;

    /// Takes out what the chain of a view has or has made impossible: after blocks were taken back,
    /// when a pool cannot be kept right block by block.
    ///
    /// # Errors
    /// The rows cannot be read.
    fn hold_against(&mut self, view: &V) -> Result<(), ReadError>;
}

/// One tip with its mempool, as readers see it.
pub trait TipView<H, W>: Sized + Send + Sync + 'static {
    /// Height and hash of the tip.
    fn tip(&self) -> (u32, H);

    /// Whether a mempool is shown.
    fn shows_waiting(&self) -> bool;

    /// The same tip with this mempool; with none where the node is not heard.
    fn showing(&self, waiting: Option<W>) -> Self;
}

/// Passes over the node's mempool.
pub trait Passes<V, W>: Send + Sync {
    /// The transactions that wait, as of the last pass.
    fn waiting(&self) -> &W;

    /// Our tip is another one by now, and these wait.
    fn moved_to(&mut self, waiting: W);

    /// What time is left before there is something to do in a pass; zero while there is.
    fn rest(&self) -> Duration;

    /// Brings what waits up to the node's mempool, at the tip of `view`.
    fn pass(
        &mut self,
        node: &Arc<Node>,
        view: &Arc<V>,
    ) -> impl Future<Output = Result<Pass, Trouble>> + Send;
}

/// The name of a family's blocks.
pub(crate) type HashOf<F> = store::HashOf<<F as Family>::Schema>;

/// A family of chains: what `sync` asks of it. A value of it lives as long as the sync.
pub trait Family: Sized + Send + Sync + 'static {
    /// The rows on disk.
    type Schema: Numbered;
    /// One tip with its mempool, as readers see it.
    type View: TipView<HashOf<Self>, Self::Waiting>;
    /// A block as a node gives it.
    type Raw: Send + 'static;
    /// The transactions that wait.
    type Waiting: Waiting<Self::View>;
    /// What brings them up to the node's.
    type Passes: Passes<Self::View, Self::Waiting>;

    /// Begins to keep an index.
    fn new(store: &Store<Self::Schema>, options: &SyncOptions) -> Self;

    /// The passes over the node's mempool.
    fn passes(&self) -> &Self::Passes;

    /// The same, to go on with them.
    fn passes_mut(&mut self) -> &mut Self::Passes;

    /// The node's best block; what else the node says of it is kept until that is our tip.
    fn best(
        &mut self,
        node: &Arc<Node>,
    ) -> impl Future<Output = Result<Best<HashOf<Self>>, UpstreamError>> + Send;

    /// The hashes of the node's chain at those heights; the list ends before the first that it has
    /// not.
    fn hashes(
        node: &Arc<Node>,
        heights: Vec<u32>,
    ) -> impl Future<Output = Result<Vec<HashOf<Self>>, UpstreamError>> + Send;

    /// A block of a node.
    fn block(
        node: &Arc<Node>,
        hash: HashOf<Self>,
    ) -> impl Future<Output = Result<Self::Raw, UpstreamError>> + Send;

    /// Adds the block after our tip, which was asked for by that hash, in one batch; what it has or
    /// makes impossible waits no longer.
    ///
    /// # Errors
    /// `Block` for bytes that are not this block, `NotNext` if it does not follow our tip; any error
    /// of the rows. Nothing changed.
    fn connect(
        store: &mut Store<Self::Schema>,
        hash: HashOf<Self>,
        raw: Self::Raw,
        waiting: &mut Self::Waiting,
    ) -> Result<(), IndexError>;

    /// What the rows say now; none without a block.
    fn view(store: &Store<Self::Schema>) -> Option<Self::View>;

    /// Height and hash of the last block; none in an index that has just begun.
    fn tip(store: &Store<Self::Schema>) -> Option<(u32, HashOf<Self>)> {
        store.tip().map(|tip| (tip.height(), tip.hash()))
    }

    /// Loads an index that has no block in bulk, where that is worth while; `false` where it is
    /// not. What was begun is gone on with after trouble.
    fn load(
        &mut self,
        keeper: &mut Keeper<Self>,
        node: &Arc<Node>,
        best: Best<HashOf<Self>>,
    ) -> impl Future<Output = Result<bool, Trouble>> + Send;

    /// Height of the block that is loaded next, while a load is kept.
    fn load_height(&self) -> Option<u32>;
}
