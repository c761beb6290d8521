//! An index that is served as it is and does not go on.
//!
//! Invariant: nothing is written, so a folder on a full disk is as good as any.

use std::sync::{Arc, Mutex};

use super::index::Index;
use super::store::Store;
use super::view::View;
use crate::Standing;

impl Index {
    /// Serves what a store holds, and says why it goes no further. The store may be one that was
    /// opened for reading.
    pub fn hold(store: Store, why: String) -> Arc<Index> {
        let (chain, network, view) = (store.chain(), store.network(), View::of(&store));
        let index = Index::new(chain, network, Arc::new(Mutex::new(store)));
        index.stand(Standing {
            height: view.as_ref().map_or(0, View::height),
            best_hash: view.as_ref().map(|view| view.hash().to_string()),
            stopped: Some(why),
            ..Standing::default()
        });
        if let Some(view) = view {
            index.publish(view);
        }
        Arc::new(index)
    }
}
