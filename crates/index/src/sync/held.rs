//! An index that is served as it is and does not go on.
//!
//! Invariant: nothing is written, so a folder on a full disk is as good as any.

use std::sync::Arc;

use super::{Family, Index, TipView};
use crate::Standing;
use crate::store::Store;

impl<F: Family> Index<F> {
    /// Serves what a store holds, and says why it goes no further. The store may be one that was
    /// opened for reading.
    pub fn hold(store: Store<F::Schema>, why: String) -> Arc<Index<F>> {
        let view = F::view(&store);
        let tip = view.as_ref().map(|view| view.tip());
        let index = Index::new(store);
        index.stand(Standing {
            height: tip.map_or(0, |(height, _)| height),
            best_hash: tip.map(|(_, hash)| hash.to_string()),
            stopped: Some(why),
            ..Standing::default()
        });
        view.into_iter().for_each(|view| index.publish(view));
        Arc::new(index)
    }
}
