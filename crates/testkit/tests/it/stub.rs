//! A stub node is taken for the real one, and adds up.

use std::sync::Arc;

use bytes::Bytes;
use chain::utxo::{Block, OutPoint};
use chain::{Chain, Hash32};
use http::StatusCode;
use node::{CallError, Node, NodeConfig, Pool, PoolConfig, Tried, Verdict, Weight};
use serde_json::{Value, json};
use testkit::{
    Draft, Forge, ForgedBlock, ForgedTransaction, Litecoind, Login, Misfit, StubNode, StubOptions,
    call, key_hash_script,
};

const SLUGS: [&str; 5] = ["btc", "ltc", "doge", "bch", "xec"];

fn chain_of(slug: &str) -> &'static Chain {
    chain::find(slug).unwrap()
}

fn pool(slug: &str, stub: &StubNode) -> (Arc<Pool>, Arc<Node>) {
    let chain = chain_of(slug);
    let nodes = vec![NodeConfig::new(stub.url())];
    let config = PoolConfig { nodes, ..PoolConfig::default() };
    let pool = Pool::new(chain, chain.network("regtest").unwrap(), config).unwrap();
    let node = pool.pick(&Tried::new()).unwrap();
    (pool, node)
}

async fn ask(stub: &StubNode, method: &str, params: Value) -> Value {
    call(&stub.url(), &[], method, params).await.unwrap()
}

/// The code of the error that a call is answered.
async fn refusal(stub: &StubNode, method: &str, params: Value) -> String {
    call(&stub.url(), &[], method, params).await.unwrap_err().to_string()
}

/// Three blocks: a coinbase, a payment that spends it, a payment of nothing and some data.
fn some_blocks(forge: &mut Forge) -> Vec<ForgedBlock> {
    let first = forge.mine(5_000, &key_hash_script(1), &[]);
    let pay = Draft::new()
        .spend(first.coinbase.output(0))
        .pay(3_000, &key_hash_script(2))
        .pay(1_500, &key_hash_script(1))
        .pay(0, b"\x6adata")
        .finish();
    let second = forge.mine(500, &key_hash_script(3), std::slice::from_ref(&pay));
    let again = Draft::new()
        .spend(pay.output(0))
        .spend(second.coinbase.output(0))
        .pay(0, &key_hash_script(4))
        .pay(3_500, &key_hash_script(2))
        .finish();
    let third = forge.mine(0, &key_hash_script(3), &[again]);
    vec![first, second, third]
}

async fn started(slug: &str, options: StubOptions) -> (StubNode, Forge, Vec<ForgedBlock>) {
    let stub = StubNode::start(slug, options).await.unwrap();
    let mut forge = Forge::new(chain_of(slug));
    let blocks = some_blocks(&mut forge);
    blocks.iter().for_each(|block| stub.extend(block).unwrap());
    (stub, forge, blocks)
}

#[tokio::test]
async fn node_pool_takes_it_for_the_right_chain() {
    for slug in SLUGS {
        let (stub, _, blocks) = started(slug, StubOptions::default()).await;
        let (pool, node) = pool(slug, &stub);
        pool.start();
        pool.probed().await;
        let state = node.state();
        assert_eq!(state.verdict, Verdict::Ready, "{slug}: {state:?}");
        assert_eq!((pool.tip(), state.identity), (Some(3), Some(true)));
        let hash = blocks[1].hash.to_string();
        let raw = node.raw_block(&hash).await.unwrap();
        assert_eq!(raw, blocks[1].raw);
        let read = Block::decode(&raw, chain_of(slug).format().unwrap()).unwrap();
        assert!(read.is_whole());
        assert_eq!(stub.calls("rest/block"), 1);
    }
}

#[tokio::test]
async fn blocks_come_by_every_way_the_same() {
    for (options, rest) in [
        (StubOptions::default(), 2),
        (StubOptions { rest: false, ..StubOptions::default() }, 0),
        (StubOptions { rest: false, boolean_verbosity: true, ..StubOptions::default() }, 0),
    ] {
        let (stub, _, blocks) = started("doge", options).await;
        let (_pool, node) = pool("doge", &stub);
        for block in &blocks[..2] {
            assert_eq!(node.raw_block(&block.hash.to_string()).await.unwrap(), block.raw);
        }
        assert_eq!(stub.calls("rest/block"), rest);
        let error = node.raw_block(&"0".repeat(64)).await.unwrap_err();
        assert!(matches!(error, CallError::Rpc { code: -5, .. }));
        stub.prune(2);
        let error = node.raw_block(&blocks[0].hash.to_string()).await.unwrap_err();
        assert!(matches!(error, CallError::Rpc { code: -1, .. }));
        assert!(node.raw_block(&blocks[1].hash.to_string()).await.is_ok());
        assert_eq!(ask(&stub, "getblockchaininfo", json!([])).await["pruneheight"], json!(2));
    }
}

#[tokio::test]
async fn unspent_outputs_add_up_over_every_change() {
    let (stub, forge, blocks) = started("xec", StubOptions::default()).await;
    let info = ask(&stub, "gettxoutsetinfo", json!([])).await;
    // 1,500 + 0 of the third block's coinbase + 0 + 3,500; data and the first block do not count.
    assert_eq!((info["txouts"].clone(), info["transactions"].clone()), (json!(4), json!(3)));
    assert_eq!(info["total_amount"].to_string(), "50.0", "in XEC with two decimals");
    assert_eq!(info["bestblock"], json!(blocks[2].hash.to_string()));
    assert_eq!(stub.unspent(), Some((4, 5_000)));
    let before = stub.unspent();
    stub.rewind(2).unwrap();
    assert_eq!((stub.tip(), stub.unspent()), ((1, blocks[0].hash), Some((1, 5_000))));
    stub.extend(&blocks[1]).unwrap();
    stub.extend(&blocks[2]).unwrap();
    assert_eq!(stub.unspent(), before);
    assert_eq!(stub.rewind(4), Err(Misfit::TooFewBlocks(3)));
    assert_eq!(stub.extend(&blocks[0]), {
        let tip = forge.tip();
        Err(Misfit::NotOnTip(blocks[0].previous, tip))
    });
}

#[tokio::test]
async fn chain_switches_to_longer_and_shorter_branches() {
    let (stub, _, blocks) = started("ltc", StubOptions::default()).await;
    let mut branch = Forge::new(chain_of("ltc")).branch(7);
    let shorter = vec![branch.mine(1, &[0x51], &[]), branch.mine(2, &[0x51], &[])];
    stub.switch(&shorter).unwrap();
    assert_eq!((stub.tip(), stub.unspent()), ((2, shorter[1].hash), Some((2, 3))));
    let header = ask(&stub, "getblockheader", json!([blocks[2].hash.to_string()])).await;
    assert_eq!((header["confirmations"].clone(), header["height"].clone()), (json!(-1), json!(3)));
    assert_eq!(header.get("nextblockhash"), None);
    let (_pool, node) = pool("ltc", &stub);
    assert_eq!(node.raw_block(&blocks[2].hash.to_string()).await.unwrap(), blocks[2].raw);
    stub.switch(&blocks).unwrap();
    assert_eq!((stub.tip(), stub.unspent()), ((3, blocks[2].hash), Some((4, 5_000))));
    let mut stray = Forge::new(chain_of("ltc")).branch(9);
    stray.mine(1, &[], &[]);
    let high = stray.mine(1, &[], &[]);
    assert_eq!(stub.switch(std::slice::from_ref(&high)), Err(Misfit::NotInChain(high.previous)));
}

#[tokio::test]
async fn twins_hide_each_other_and_come_back() {
    let stub = StubNode::start("btc", StubOptions::default()).await.unwrap();
    let mut forge = Forge::new(chain_of("btc"));
    let twin = Draft::new().spend_with(OutPoint::NULL, b"twin", 0, &[]).pay(9, &[0x51]).finish();
    for expected in [1, 1] {
        stub.extend(&forge.mine_with(twin.clone(), &[])).unwrap();
        assert_eq!(stub.unspent(), Some((expected, 9)));
    }
    stub.rewind(1).unwrap();
    assert_eq!(stub.unspent(), Some((1, 9)));
    stub.rewind(1).unwrap();
    assert_eq!(stub.unspent(), Some((0, 0)));
}

#[tokio::test]
async fn block_that_spends_what_is_not_there_changes_nothing() {
    let (stub, mut forge, _) = started("bch", StubOptions::default()).await;
    let before = (stub.tip(), stub.unspent());
    let nowhere = OutPoint { txid: Hash32::ZERO, vout: 3 };
    let bad = Draft::new().spend(nowhere).pay(1, &[0x51]).finish();
    assert_eq!(stub.extend(&forge.mine(5, &[0x51], &[bad])), Err(Misfit::NothingToSpend(nowhere)));
    assert_eq!((stub.tip(), stub.unspent()), before);
}

#[tokio::test]
async fn transactions_stand_in_any_order() {
    let stub = StubNode::start("bch", StubOptions::default()).await.unwrap();
    let mut forge = Forge::new(chain_of("bch"));
    // A fungible token of category 1111…, 5 of it, before a script.
    let mut script = vec![0xef];
    script.extend_from_slice(&[0x11; 32]);
    script.extend_from_slice(&[0x10, 5]);
    script.extend_from_slice(&key_hash_script(1));
    let first = forge.mine(7, &script, &[]);
    stub.extend(&first).unwrap();
    let a = Draft::new().spend(first.coinbase.output(0)).pay(7, &script).finish();
    let b = Draft::new().spend(a.output(0)).pay(6, &key_hash_script(2)).finish();
    let block = forge.mine(0, b"\x6a", &[b, a]);
    stub.extend(&block).unwrap();
    assert_eq!(stub.unspent(), Some((1, 6)));
    stub.rewind(1).unwrap();
    assert_eq!(stub.unspent(), Some((1, 7)));
}

#[tokio::test]
async fn mempool_loses_what_a_block_has_or_forbids() {
    let (stub, mut forge, blocks) = started("btc", StubOptions::default()).await;
    let coin = blocks[2].coinbase.output(0);
    let spend = |number| Draft::new().spend(coin).pay(0, &key_hash_script(number)).finish();
    let (a, conflict) = (spend(1), spend(2));
    let other = Draft::new().spend(OutPoint { vout: 9, ..coin }).pay(1, &[0x51]).finish();
    let raws = |list: &[&ForgedTransaction]| -> Vec<Bytes> {
        list.iter().map(|transaction| transaction.raw.clone()).collect()
    };
    stub.mempool(raws(&[&a, &other])).unwrap();
    let ids = |list: &[&ForgedTransaction]| -> Value {
        list.iter().map(|transaction| transaction.txid.to_string()).collect()
    };
    assert_eq!(ask(&stub, "getrawmempool", json!([])).await, ids(&[&a, &other]));
    let with = ask(&stub, "getrawmempool", json!([false, true])).await;
    assert_eq!(with["txids"], ids(&[&a, &other]));
    assert_eq!(ask(&stub, "getmempoolinfo", json!([])).await["size"], json!(2));
    let hex = ask(&stub, "getrawtransaction", json!([a.txid.to_string()])).await;
    assert_eq!(hex, json!(const_hex::encode(&a.raw)));
    stub.extend(&forge.mine(1, &[0x51], &[conflict])).unwrap();
    assert_eq!(ask(&stub, "getrawmempool", json!([false])).await, ids(&[&other]));
    let after = ask(&stub, "getrawmempool", json!([false, true])).await;
    assert!(after["mempool_sequence"].as_u64() > with["mempool_sequence"].as_u64());
    let error = refusal(&stub, "getrawtransaction", json!([a.txid.to_string()])).await;
    assert!(error.contains("-5"), "{error}");
    assert!(stub.mempool(vec![Bytes::from_static(b"nonsense")]).is_err());
}

#[tokio::test]
async fn transactions_of_the_chain_need_an_index_or_their_block() {
    let (stub, _, blocks) = started("btc", StubOptions::default()).await;
    let coinbase = &blocks[0].coinbase;
    let (txid, hex) = (coinbase.txid.to_string(), json!(const_hex::encode(&coinbase.raw)));
    assert!(refusal(&stub, "getrawtransaction", json!([txid])).await.contains("-5"));
    let of_block = json!([txid, 0, blocks[0].hash.to_string()]);
    assert_eq!(ask(&stub, "getrawtransaction", of_block).await, hex);
    assert_eq!(ask(&stub, "getindexinfo", json!([])).await, json!({}));
    let indexed = StubOptions { txindex: true, ..StubOptions::default() };
    let (stub, ..) = started("btc", indexed).await;
    assert_eq!(ask(&stub, "getrawtransaction", json!([txid, 0])).await, hex);
    let info = ask(&stub, "getindexinfo", json!([])).await;
    assert_eq!(info["txindex"]["best_block_height"], json!(3));
    stub.rewind(3).unwrap();
    assert!(refusal(&stub, "getrawtransaction", json!([txid])).await.contains("-5"));
}

#[tokio::test]
async fn json_of_a_block_says_what_a_node_says() {
    let (stub, _, blocks) = started("btc", StubOptions::default()).await;
    let hash = blocks[1].hash.to_string();
    let block = ask(&stub, "getblock", json!([hash])).await;
    assert_eq!(block["previousblockhash"], json!(blocks[0].hash.to_string()));
    assert_eq!(block["nextblockhash"], json!(blocks[2].hash.to_string()));
    assert_eq!((block["nTx"].clone(), block["confirmations"].clone()), (json!(2), json!(2)));
    assert_eq!(block["tx"][0], json!(blocks[1].coinbase.txid.to_string()));
    assert_eq!(ask(&stub, "getblock", json!([hash, 1])).await, block);
    assert_eq!(ask(&stub, "getblock", json!([hash, true])).await, block);
    let hex = json!(const_hex::encode(&blocks[1].raw));
    assert_eq!(ask(&stub, "getblock", json!([hash, 0])).await, hex);
    assert_eq!(ask(&stub, "getblock", json!([hash, false])).await, hex);
    assert_eq!(ask(&stub, "getblockcount", json!([])).await, json!(3));
    let best = ask(&stub, "getbestblockhash", json!([])).await;
    assert_eq!(best, json!(blocks[2].hash.to_string()));
    assert_eq!(ask(&stub, "getmininginfo", json!([])).await["blocks"], json!(3));
    assert!(ask(&stub, "uptime", json!([])).await.is_u64());
    assert!(refusal(&stub, "getblockhash", json!([4])).await.contains("-8"));
    assert!(refusal(&stub, "getblock", json!(["zz"])).await.contains("-8"));
    assert!(refusal(&stub, "getpeerinfo", json!([])).await.contains("-32601"));
}

#[tokio::test]
async fn batches_and_nonsense_are_answered() {
    let (stub, _, blocks) = started("btc", StubOptions::default()).await;
    let (_pool, node) = pool("btc", &stub);
    let calls: Vec<(&str, String)> =
        (0..5).map(|height| ("getblockhash", format!("[{height}]"))).collect();
    let answers = node.call_batch(&calls, Weight::Internal).await.unwrap();
    assert_eq!(answers[1].as_ref().unwrap().get(), format!("\"{}\"", blocks[0].hash));
    assert_eq!(answers[4].as_ref().unwrap_err().code, -8);
    assert_eq!((stub.calls("getblockhash"), stub.calls("batch")), (5, 1));
    for (body, status) in [(&b"{"[..], 500), (b"7", 400), (b"{}", 400)] {
        let answer = testkit::post(&stub.url(), &[], body).await.unwrap();
        assert_eq!(answer.status, status, "{}", answer.text());
    }
    let v2 = br#"{"jsonrpc":"2.0","id":"x","method":"getblockhash","params":[9]}"#;
    let answer = testkit::post(&stub.url(), &[], v2).await.unwrap();
    assert_eq!(answer.status, 200);
    assert!(answer.text().starts_with(r#"{"jsonrpc":"2.0","error":{"code":-8"#));
    assert_eq!(testkit::get(&stub.url(), &[]).await.unwrap().status, 405);
    let (status, body) = node.get("/rest/block/zz.bin", Weight::Internal).await.unwrap();
    assert_eq!((status, body.is_empty()), (StatusCode::NOT_FOUND, false));
}

#[tokio::test]
async fn it_stops_and_comes_back_at_the_same_place() {
    let (mut stub, ..) = started("btc", StubOptions::default()).await;
    let url = stub.url();
    let mut kept = testkit::Connection::open(url[7..].parse().unwrap()).await.unwrap();
    kept.request("GET", "/", &[], b"").await.unwrap();
    assert_eq!(kept.answer().await.unwrap().status, 405);
    let (_pool, node) = pool("btc", &stub);
    stub.stop();
    assert!(kept.rest().await.unwrap().is_empty(), "open connections end");
    assert!(node.call("getblockcount", "[]", Weight::Internal).await.is_err());
    for _ in 0..3 {
        stub.restart().await.unwrap();
        assert_eq!(
            (stub.url(), ask(&stub, "getblockcount", json!([])).await),
            (url.clone(), json!(3))
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_asked_after_it_stopped_is_not_answered() {
    let (mut stub, ..) = started("btc", StubOptions::default()).await;
    for _ in 0..20 {
        let mut open = Vec::new();
        for _ in 0..20 {
            let address = stub.url()[7..].parse().unwrap();
            let mut connection = testkit::Connection::open(address).await.unwrap();
            connection.request("GET", "/", &[], b"").await.unwrap();
            assert_eq!(connection.answer().await.unwrap().status, 405);
            open.push(connection);
        }
        stub.stop();
        for mut connection in open {
            // It may be closed before it is written to.
            let _ = connection.request("GET", "/", &[], b"").await;
            assert!(connection.answer().await.is_err());
        }
        stub.restart().await.unwrap();
    }
}

#[tokio::test]
async fn it_adds_up_as_a_real_node_does() {
    let live = Litecoind::start(Login::Cookie, &[]).await.unwrap();
    let mut hashes = live.mine(103).await.unwrap();
    for amount in ["1.5", "0.25"] {
        let address = live.call("getnewaddress", json!([])).await.unwrap();
        let amount: Value = serde_json::from_str(amount).unwrap();
        live.call("sendtoaddress", json!([address, amount])).await.unwrap();
    }
    hashes.extend(live.mine(2).await.unwrap());
    let stub = StubNode::start("ltc", StubOptions::default()).await.unwrap();
    for hash in &hashes {
        let hex = live.call("getblock", json!([hash, 0])).await.unwrap();
        stub.extend_raw(const_hex::decode(hex.as_str().unwrap()).unwrap().into()).unwrap();
    }
    let ours = ask(&stub, "gettxoutsetinfo", json!([])).await;
    let theirs = live.call("gettxoutsetinfo", json!([])).await.unwrap();
    for member in ["height", "bestblock", "txouts", "transactions", "total_amount"] {
        assert_eq!(ours[member], theirs[member], "{member}");
    }
    let of = json!([hashes[50], true]);
    let ours = ask(&stub, "getblockheader", of.clone()).await;
    let theirs = live.call("getblockheader", of).await.unwrap();
    for (member, value) in ours.as_object().unwrap() {
        assert_eq!(*value, theirs[member], "{member}");
    }
    let of = json!([hashes[103], 1]);
    let ours = ask(&stub, "getblock", of.clone()).await;
    let theirs = live.call("getblock", of).await.unwrap();
    for (member, value) in ours.as_object().unwrap() {
        assert_eq!(*value, theirs[member], "{member}");
    }
}

#[tokio::test]
async fn news_wake_a_pool() {
    let (mut stub, mut forge, blocks) = started("btc", StubOptions::default()).await;
    let config = NodeConfig { zmq: Some(stub.zmq()), ..NodeConfig::new(stub.url()) };
    let config = PoolConfig { nodes: vec![config], ..PoolConfig::default() };
    let chain = chain_of("btc");
    let pool = Pool::new(chain, chain.network("regtest").unwrap(), config).unwrap();
    let mut woken = pool.woken();
    pool.start();
    woken.changed().await.unwrap();
    stub.extend(&forge.mine(1, &[0x51], &[])).unwrap();
    woken.changed().await.unwrap();
    stub.rewind(1).unwrap();
    woken.changed().await.unwrap();
    let waiting = Draft::new().spend(blocks[2].coinbase.output(0)).pay(0, &[0x51]).finish();
    stub.mempool(vec![waiting.raw.clone()]).unwrap();
    woken.changed().await.unwrap();
    stub.mempool(vec![waiting.raw]).unwrap();
    stub.rewind(0).unwrap();
    assert!(!woken.has_changed().unwrap(), "nothing new");
    let before = stub.zmq();
    stub.restart().await.unwrap();
    assert_eq!(stub.zmq(), before);
    woken.changed().await.unwrap();
}

#[tokio::test]
async fn file_of_blocks_is_served_as_it_is() {
    let mut forge = Forge::new(chain_of("btc"));
    let blocks = some_blocks(&mut forge);
    let mut bytes = Vec::new();
    for block in &blocks {
        bytes.extend_from_slice(&(block.raw.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&block.raw);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chain.bin");
    std::fs::write(&path, &bytes).unwrap();
    let stub = StubNode::serve_file("btc", &path, StubOptions::default()).await.unwrap();
    let (pool, node) = pool("btc", &stub);
    pool.start();
    pool.probed().await;
    assert_eq!((node.state().verdict, node.height()), (Verdict::Ready, Some(3)));
    for block in &blocks {
        assert_eq!(node.raw_block(&block.hash.to_string()).await.unwrap(), block.raw);
    }
    let json = ask(&stub, "getblock", json!([blocks[1].hash.to_string(), 1])).await;
    assert_eq!(json["nTx"], json!(2));
    assert_eq!((stub.unspent(), stub.tip()), (None, (3, blocks[2].hash)));
    assert!(refusal(&stub, "gettxoutsetinfo", json!([])).await.contains("-32603"));
    stub.rewind(1).unwrap();
    stub.extend(&blocks[2]).unwrap();
    for bad in [&bytes[..bytes.len() - 1], &bytes[..3], &[1, 0, 0, 0, 9], &bytes[4..]] {
        std::fs::write(&path, bad).unwrap();
        assert!(StubNode::serve_file("btc", &path, StubOptions::default()).await.is_err());
    }
}

#[tokio::test]
async fn large_chains_are_made_and_counted() {
    let stub = StubNode::start("btc", StubOptions::default()).await.unwrap();
    let mut forge = Forge::new(chain_of("btc"));
    let whale = key_hash_script(1);
    let first = forge.mine(1 << 40, &[0x51], &[]);
    stub.extend(&first).unwrap();
    let mut fan = Draft::new().spend(first.coinbase.output(0));
    for _ in 0..3_000 {
        fan = fan.pay(10, &[0x51]);
    }
    let fan = fan.finish();
    stub.extend(&forge.mine(0, &[0x51], std::slice::from_ref(&fan))).unwrap();
    let payments: Vec<ForgedTransaction> = (0..3_000)
        .map(|vout| Draft::new().spend(fan.output(vout)).pay(10, &whale).finish())
        .collect();
    stub.extend(&forge.mine(0, &[0x51], &payments)).unwrap();
    assert_eq!(stub.unspent(), Some((3_002, 30_000)));
}
