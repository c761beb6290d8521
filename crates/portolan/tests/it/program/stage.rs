//! A stub node with blocks, and a folder whose program follows it.

use serde_json::Value;
use testkit::{Forge, StubNode, StubOptions, key_hash_script};
use tokio::runtime::Runtime;

use super::{Answer, Folder, Running, ask, wait};

pub const BLOCKS: u32 = 20;

/// A node, and a folder whose program follows it.
pub struct Stage {
    _runtime: Runtime,
    pub node: StubNode,
    pub folder: Folder,
    pub key: String,
}

impl Stage {
    pub fn new() -> Stage {
        Stage::of(BLOCKS)
    }

    /// Of so many blocks.
    pub fn of(blocks: u32) -> Stage {
        let runtime = Runtime::new().unwrap();
        let node = runtime.block_on(StubNode::start("btc", StubOptions::default())).unwrap();
        let mut forge = Forge::new(chain::find("btc").unwrap());
        for _ in 0..blocks {
            node.extend(&forge.mine(50, &key_hash_script(1), &[])).unwrap();
        }
        let folder = Folder::with(&config(&node, "regtest", ""));
        folder.json(&["account", "add", "shop"]);
        let key = folder.json(&["key", "add", "shop"])["key"].as_str().unwrap().to_owned();
        Stage { _runtime: runtime, node, folder, key }
    }

    /// Serves, and waits until the explorer has every block.
    pub fn serve(&self) -> Running {
        let serving = self.folder.start(&["serve"]);
        self.in_sync(&serving);
        serving
    }

    /// Writes another configuration: this network and what is `more`.
    pub fn configure(&self, network: &str, more: &str) {
        self.folder.configure(&config(&self.node, network, more));
    }

    /// The explorer's status of the chain.
    pub fn status(&self, serving: &Running) -> Answer {
        ask(serving.address("the explorer listens"), "/api/v1/btc/status", &self.key)
    }

    /// Waits until the explorer has every block.
    pub fn in_sync(&self, serving: &Running) {
        wait("the index to be in sync", || {
            let status = self.status(serving);
            let status = (status.status == 200).then(|| status.json())?;
            (status["in_sync"] == true && status["height"] == BLOCKS).then_some(())
        });
    }

    pub fn backup(&self, to: &str) -> Value {
        self.folder.json(&["index", "backup", "btc", "--to", to])
    }
}

fn config(node: &StubNode, network: &str, more: &str) -> String {
    format!(
        "[serve]\ndrain_grace_secs = 0\n[explorer]\nleast_free_mb = 1\npoll_ms = 50\n\
         [gateway]\nlisten = \"127.0.0.1:0\"\n[metrics]\nlisten = \"127.0.0.1:0\"\n\
         [chain.btc]\nnetwork = \"{network}\"\nnodes = [{{ url = \"{}\" }}]\n{more}",
        node.url()
    )
}
