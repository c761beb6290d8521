//! A reorganisation that was cut off: the block at which the chains part is served.

use std::time::Duration;

use chain::utxo::Block;
use index::Memory;
use index::utxo::{HashKey, Index, Store, SyncOptions};
use node::{NodeConfig, Pool, PoolConfig};
use testkit::{Forge, key_hash_script};

#[tokio::test(flavor = "multi_thread")]
async fn a_start_without_a_node_serves_the_fork() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("btc");
    let chain = chain::find("btc").unwrap();
    let network = chain.network("regtest").unwrap();
    let key = HashKey::new([7; 16]);
    let open = || Store::open_with_key(&folder, chain, network, &Memory::default(), key).unwrap();
    let mut store = open();
    let format = *store.format();
    let mut connect = |raw: &[u8]| store.connect(&Block::decode(raw, &format).unwrap()).unwrap();
    connect(&testkit::genesis(chain).unwrap());
    let mut forge = Forge::new(chain);
    for _ in 0..9 {
        connect(&forge.mine(1, &key_hash_script(1), &[]).raw);
    }
    // Killed while blocks down to height 4 were taken back: 8 and 9 are gone already.
    store.disconnect().unwrap();
    store.disconnect().unwrap();
    drop(store);
    let note = dir.path().join("btc.reorg");
    std::fs::write(&note, "4").unwrap();
    let nodes = vec![NodeConfig::new("http://127.0.0.1:1")];
    let pool = Pool::new(chain, network, PoolConfig { nodes, ..PoolConfig::default() }).unwrap();
    let options = SyncOptions { poll: Duration::from_millis(50), ..SyncOptions::default() };
    let index = Index::start(open(), pool, options);
    assert_eq!(index.view().unwrap().height(), 4);
    assert!(!index.standing().in_sync);
    assert!(!note.exists());
    index.stop().await;
}
