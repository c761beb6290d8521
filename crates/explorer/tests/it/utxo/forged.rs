//! Chains that no recording has: long lists, large sums, twins, and pools that come and go.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chain::utxo::{Destination, OutPoint};
use explorer::Settings;
use serde_json::{Value, json};
use testkit::{Draft, Forge, ForgedTransaction, StubNode, StubOptions, key_hash_script};

use crate::utxo::rig::{Client, Plan, Rig};

/// A stub node and the explorer of it.
pub struct Stage {
    pub node: StubNode,
    forge: Forge,
    pub rig: Rig,
    client: Client,
}

impl Stage {
    async fn of(slug: &'static str) -> Stage {
        Stage::with(slug, Settings::default()).await
    }

    pub async fn with(slug: &'static str, settings: Settings) -> Stage {
        let node = StubNode::start(slug, StubOptions::default()).await.unwrap();
        let rig = Plan { settings, ..Plan::at(slug, node.url()) }.start().await;
        let forge = Forge::new(chain::find(slug).unwrap());
        let stage = Stage { client: rig.client().await, node, forge, rig };
        stage.settled(0).await;
        stage
    }

    /// A block on the tip, with these transactions and a coinbase for nobody else.
    pub fn mine(&mut self, transactions: &[ForgedTransaction]) -> ForgedTransaction {
        let script = key_hash_script(u64::MAX - u64::from(self.forge.height()));
        let block = self.forge.mine(5_000_000_000, &script, transactions);
        self.node.extend(&block).unwrap();
        block.coinbase
    }

    /// Waits until the index has the node's tip and so many waiting transactions.
    pub async fn settled(&self, waiting: u64) {
        let (height, hash) = self.node.tip();
        let followed = &self.rig.followed[0];
        followed
            .stands(|standing| {
                standing.in_sync
                    && standing.height == height
                    && standing.best_hash == Some(hash.to_string())
                    && standing.mempool_count == waiting
            })
            .await;
    }

    pub async fn ok(&mut self, path: &str) -> Value {
        let slug = self.rig.followed[0].slug;
        self.client.ok(&format!("/api/v1/{slug}{path}")).await
    }

    async fn absent(&mut self, path: &str) {
        let slug = self.rig.followed[0].slug;
        self.client.refused(&format!("/api/v1/{slug}{path}"), 404, "NOT_FOUND").await;
    }
}

/// The address of a script on the chain's test network.
pub fn address(slug: &str, script: &[u8]) -> String {
    let chain = chain::find(slug).unwrap();
    let destination = Destination::of_script(script, &chain.format().unwrap().scripts).unwrap();
    chain.network("regtest").unwrap().addresses.encode(&destination).unwrap()
}

fn ids(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap().iter();
    list.map(|one| one["txid"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_comes_and_goes() {
    let mut stage = Stage::of("btc").await;
    let coinbase = stage.mine(&[]);
    let script = key_hash_script(1);
    let account = format!("/address/{}", address("btc", &script));
    stage.settled(0).await;
    stage.absent(&account).await;
    let first = Draft::new().spend(coinbase.output(0)).pay(700, &script).pay(300, &script).finish();
    stage.node.mempool(vec![first.raw.clone()]).unwrap();
    stage.settled(1).await;
    // Known to the pool alone.
    let totals = stage.ok(&account).await;
    let unconfirmed = json!({ "received": "1000", "sent": "0", "tx_count": 1 });
    assert_eq!((&totals["unconfirmed"], &totals["tx_count"]), (&unconfirmed, &json!(0)));
    assert_eq!((&totals["balance"], &totals["received"]), (&json!("0"), &json!("0")));
    let list = stage.ok(&format!("{account}/utxo")).await;
    assert_eq!((&list["count"], &list["utxos"]), (&json!(0), &json!([])));
    // The next one comes a second later, and stands before it.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let child = Draft::new().spend(first.output(0)).pay(650, &script).finish();
    stage.node.mempool(vec![child.raw.clone(), first.raw.clone()]).unwrap();
    stage.settled(2).await;
    let both = [child.txid.to_string(), first.txid.to_string()];
    assert_eq!(stage.ok("/mempool").await["txids"], json!(both));
    for size in [1, 2] {
        let mut found = Vec::new();
        for page in 1..=2 / size {
            let path = format!("{account}/txs?page={page}&page_size={size}");
            let list = stage.ok(&path).await;
            assert_eq!((&list["tx_count"], &list["total_pages"]), (&json!(2), &json!(2 / size)));
            found.extend(ids(&list["txs"]));
        }
        assert_eq!(found, both);
    }
    let totals = stage.ok(&account).await;
    let unconfirmed = json!({ "received": "1650", "sent": "700", "tx_count": 2 });
    assert_eq!(totals["unconfirmed"], unconfirmed);
    let seen = stage.ok(&format!("/tx/{}", first.txid)).await["time"].clone();
    assert!(stage.ok(&format!("/tx/{}", child.txid)).await["time"].as_u64() > seen.as_u64());
    // A block takes the first one; the child goes on waiting, and marks what it spends.
    stage.mine(std::slice::from_ref(&first));
    stage.settled(1).await;
    let list = stage.ok(&format!("{account}/txs")).await;
    assert_eq!(ids(&list["txs"]), both);
    let confirmations: Vec<&Value> =
        list["txs"].as_array().unwrap().iter().map(|one| &one["confirmations"]).collect();
    assert_eq!(confirmations, [&json!(0), &json!(1)]);
    let list = stage.ok(&format!("{account}/utxo")).await;
    let marks: Vec<Option<&str>> = list["utxos"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["unconfirmed_spend"].as_str())
        .collect();
    assert_eq!(marks, [Some(&*both[0]), None]);
    // The pool forgets the child, and a reorganisation the first one.
    stage.node.mempool(Vec::new()).unwrap();
    stage.settled(0).await;
    stage.absent(&format!("/tx/{}", child.txid)).await;
    let totals = stage.ok(&account).await;
    assert_eq!((&totals["balance"], &totals["tx_count"]), (&json!("1000"), &json!(1)));
    assert!(totals.get("unconfirmed").is_none());
    let mut branch = Forge::new(chain::find("btc").unwrap()).branch(1);
    let blocks: Vec<_> = (0..3).map(|_| branch.mine(1, &key_hash_script(9), &[])).collect();
    stage.node.switch(&blocks).unwrap();
    stage.settled(0).await;
    for path in [account.clone(), format!("{account}/txs"), format!("{account}/utxo")] {
        stage.absent(&path).await;
    }
    stage.absent(&format!("/tx/{}", first.txid)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_at_once_stands_in_the_order_of_its_ids() {
    let mut stage = Stage::of("btc").await;
    let script = key_hash_script(1);
    let account = format!("/address/{}", address("btc", &script));
    let coins: Vec<ForgedTransaction> = (0..12).map(|_| stage.mine(&[])).collect();
    let waiting: Vec<ForgedTransaction> = coins
        .iter()
        .map(|coin| Draft::new().spend(coin.output(0)).pay(1000, &script).finish())
        .collect();
    stage.node.mempool(waiting.iter().map(|one| one.raw.clone()).collect()).unwrap();
    stage.settled(12).await;
    let list = stage.ok(&format!("{account}/txs")).await;
    let shown: Vec<(std::cmp::Reverse<u64>, String)> = list["txs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tx| {
            let seen = tx["time"].as_u64().unwrap();
            (std::cmp::Reverse(seen), tx["txid"].as_str().unwrap().to_owned())
        })
        .collect();
    assert!(shown.is_sorted(), "{shown:?}");
    let listed = stage.ok("/mempool").await["txids"].clone();
    assert_eq!(listed, json!(ids(&list["txs"])));
}

#[tokio::test(flavor = "multi_thread")]
async fn long_lists_are_cut_where_they_say_so() {
    let mut stage = Stage::of("btc").await;
    let coinbase = stage.mine(&[]);
    let script = key_hash_script(1);
    let account = format!("/address/{}", address("btc", &script));
    let mut draft = Draft::new().spend(coinbase.output(0));
    for n in 0..1500 {
        draft = draft.pay(1000 + n % 3, &script);
    }
    let wide = draft.finish();
    stage.mine(std::slice::from_ref(&wide));
    stage.settled(0).await;
    let list = stage.ok(&format!("{account}/utxo")).await;
    assert_eq!((&list["count"], &list["truncated"]), (&json!(1500), &json!(true)));
    let found: Vec<(u64, u64)> = list["utxos"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let value = one["value"].as_str().unwrap().parse().unwrap();
            (value, one["vout"].as_u64().unwrap())
        })
        .collect();
    let mut expected: Vec<(u64, u64)> = (0..1500).map(|n| (1000 + n % 3, n)).collect();
    expected.sort_by_key(|(value, vout)| (std::cmp::Reverse(*value), *vout));
    assert_eq!(found, expected[..1000]);
    let exactly = Draft::new().spend(wide.output(0));
    let exactly = (1..500).fold(exactly, |draft, n| draft.spend(wide.output(n)));
    let exactly = exactly.pay(1, &key_hash_script(2)).finish();
    stage.mine(&[exactly]);
    stage.settled(0).await;
    let list = stage.ok(&format!("{account}/utxo")).await;
    assert_eq!((&list["count"], &list["truncated"]), (&json!(1000), &json!(false)));
    assert_eq!(list["utxos"].as_array().unwrap().len(), 1000);
    let waiting: Vec<ForgedTransaction> = (500..1500)
        .map(|n| Draft::new().spend(wide.output(n)).pay(1, &key_hash_script(3)).finish())
        .collect();
    let raw = |some: &[ForgedTransaction]| some.iter().map(|one| one.raw.clone()).collect();
    stage.node.mempool(raw(&waiting)).unwrap();
    stage.settled(1000).await;
    let pool = stage.ok("/mempool").await;
    let bytes: u64 = waiting.iter().map(|one| one.raw.len() as u64).sum();
    assert_eq!((&pool["count"], &pool["bytes"]), (&json!(1000), &json!(bytes)));
    let found: BTreeSet<&str> =
        pool["txids"].as_array().unwrap().iter().map(|txid| txid.as_str().unwrap()).collect();
    assert_eq!((found.len(), pool.get("truncated")), (1000, None));
    let last = Draft::new().spend(waiting[0].output(0)).pay(1, &key_hash_script(4)).finish();
    stage.node.mempool(raw(&[waiting, vec![last]].concat())).unwrap();
    stage.settled(1001).await;
    let pool = stage.ok("/mempool").await;
    assert_eq!((&pool["count"], &pool["truncated"]), (&json!(1001), &json!(true)));
    assert_eq!(pool["txids"].as_array().unwrap().len(), 1000);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_resolve_a_thousand_inputs_and_transactions_all() {
    let mut stage = Stage::of("btc").await;
    let coinbase = stage.mine(&[]);
    let script = key_hash_script(1);
    let wide = (0..2000).fold(Draft::new().spend(coinbase.output(0)), |d, _| d.pay(10, &script));
    let wide = wide.finish();
    stage.mine(std::slice::from_ref(&wide));
    let sweep = |from: u32, to: u32| {
        let draft = (from..to).fold(Draft::new(), |draft, n| draft.spend(wide.output(n)));
        draft.pay(u64::from(to - from) * 10 - 7, &key_hash_script(2)).finish()
    };
    // 1 + 999 fit; of what follows nothing does, however small.
    let all = [sweep(0, 1), sweep(1, 1000), sweep(1000, 1001), sweep(1001, 1002)];
    stage.mine(&all);
    let long = sweep(1002, 2000);
    stage.mine(std::slice::from_ref(&long));
    stage.settled(0).await;
    let list = stage.ok("/block/3/txs").await;
    let resolved: Vec<Option<bool>> = list["txs"].as_array().unwrap()[1..]
        .iter()
        .map(|tx| {
            let inputs = tx["vin"].as_array().unwrap();
            let with = inputs.iter().filter(|input| input.get("value").is_some()).count();
            let named = inputs.iter().filter(|input| input.get("addresses").is_some()).count();
            assert_eq!(with, named);
            for input in inputs.iter().filter(|input| input.get("value").is_none()) {
                let names: Vec<&String> = input.as_object().unwrap().keys().collect();
                assert_eq!(names, ["n", "sequence", "txid", "vout"]);
            }
            let sum = tx["value_in"].as_str().unwrap().parse::<usize>().unwrap();
            assert_eq!((sum, &tx["fee"]), (inputs.len() * 10, &json!("7")));
            (with == 0 || with == inputs.len()).then_some(with > 0)
        })
        .collect();
    assert_eq!(resolved, [Some(true), Some(true), Some(false), Some(false)]);
    // A page of its own has room of its own.
    let page = stage.ok("/block/3/txs?page=4&page_size=1").await;
    assert_eq!(page["txs"][0]["vin"][0]["value"], "10");
    for tx in &all {
        let alone = stage.ok(&format!("/tx/{}", tx.txid)).await;
        assert!(alone["vin"].as_array().unwrap().iter().all(|input| input["value"] == "10"));
    }
    let history = stage.ok(&format!("/address/{}/txs", address("btc", &script))).await;
    let counts: Vec<usize> = history["txs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tx| {
            let inputs = tx["vin"].as_array().unwrap().iter();
            inputs.filter(|input| input.get("value").is_some()).count()
        })
        .collect();
    // Newest first: 998, 1 and 1 fit, 999 does not, and so nothing after it.
    assert_eq!(counts, [998, 1, 1, 0, 0, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn sums_beyond_64_bits_are_whole() {
    let mut stage = Stage::of("doge").await;
    let script = key_hash_script(1);
    let account = format!("/address/{}", address("doge", &script));
    let large = 9_000_000_000_000_000_000_u64;
    let mut coins: Vec<OutPoint> = Vec::new();
    for _ in 0..5 {
        let block = stage.forge.mine(large, &script, &[]);
        stage.node.extend(&block).unwrap();
        coins.push(block.coinbase.output(0));
    }
    let sweep = coins.iter().take(3).fold(Draft::new(), |draft, coin| draft.spend(*coin));
    let sweep = sweep.pay(large, &script).pay(large, &script).pay(large - 1, &script).finish();
    stage.mine(std::slice::from_ref(&sweep));
    stage.settled(0).await;
    let totals = stage.ok(&account).await;
    let wide = u128::from(large);
    assert_eq!(totals["received"], (8 * wide - 1).to_string());
    assert_eq!(totals["sent"], (3 * wide).to_string());
    assert_eq!(totals["balance"], (5 * wide - 1).to_string());
    let tx = stage.ok(&format!("/tx/{}", sweep.txid)).await;
    assert_eq!(tx["value_in"], (3 * wide).to_string());
    assert_eq!((&tx["value_out"], &tx["fee"]), (&json!((3 * wide - 1).to_string()), &json!("1")));
}

#[tokio::test(flavor = "multi_thread")]
async fn twins_stand_in_both_blocks() {
    let mut stage = Stage::of("btc").await;
    let script = key_hash_script(1);
    let account = format!("/address/{}", address("btc", &script));
    let coinbase = stage.forge.coinbase().pay(50, &script).finish();
    for _ in 0..2 {
        let block = stage.forge.mine_with(coinbase.clone(), &[]);
        stage.node.extend(&block).unwrap();
    }
    stage.mine(&[]);
    stage.settled(0).await;
    let shown = stage.ok(&format!("/tx/{}", coinbase.txid)).await;
    assert_eq!((&shown["block_height"], &shown["confirmations"]), (&json!(2), &json!(2)));
    for height in [1, 2] {
        let list = stage.ok(&format!("/block/{height}/txs")).await;
        assert_eq!(ids(&list["txs"]), [coinbase.txid.to_string()]);
        assert_eq!(list["txs"][0]["block_height"], height);
    }
    let totals = stage.ok(&account).await;
    assert_eq!((&totals["received"], &totals["balance"]), (&json!("50"), &json!("50")));
    assert_eq!(totals["tx_count"], 2);
    let history = stage.ok(&format!("{account}/txs")).await;
    let heights: Vec<&Value> =
        history["txs"].as_array().unwrap().iter().map(|tx| &tx["block_height"]).collect();
    assert_eq!(heights, [&json!(2), &json!(1)]);
    let list = stage.ok(&format!("{account}/utxo")).await;
    assert_eq!((&list["count"], &list["utxos"][0]["height"]), (&json!(1), &json!(2)));
}

/// Every answer belongs to one tip, and a reorganisation is seen whole or not at all.
#[tokio::test(flavor = "multi_thread")]
async fn answers_are_of_one_tip_while_branches_change() {
    let mut stage = Stage::of("btc").await;
    let script = key_hash_script(1);
    for _ in 0..5 {
        let block = stage.forge.mine(1000, &script, &[]);
        stage.node.extend(&block).unwrap();
    }
    let branches: Vec<Vec<_>> = (1..=3)
        .map(|salt| {
            let mut forge = stage.forge.branch(salt);
            (0..12).map(|_| forge.mine(1000 + u64::from(salt), &script, &[])).collect()
        })
        .collect();
    stage.node.switch(&branches[0]).unwrap();
    stage.settled(0).await;
    let tips: Vec<String> =
        branches.iter().map(|branch| branch.last().unwrap().hash.to_string()).collect();
    let path = format!("/api/v1/btc/address/{}", address("btc", &script));
    let over = Arc::new(AtomicBool::new(false));
    let over_now = Arc::clone(&over);
    let reader = tokio::spawn({
        let mut client = stage.rig.client().await;
        let (tips, path) = (tips.clone(), path.clone());
        let sums: Vec<u64> = (1..=3).map(|salt| 5 * 1000 + 12 * (1000 + salt)).collect();
        async move {
            let mut seen = BTreeSet::new();
            while !over.load(Ordering::Relaxed) {
                let list = client.ok(&format!("{path}/txs")).await;
                let tip = list["tip_hash"].as_str().unwrap().to_owned();
                let branch = tips.iter().position(|known| *known == tip);
                let branch = branch.unwrap_or_else(|| panic!("half a branch: {list}"));
                assert_eq!((&list["tip_height"], &list["tx_count"]), (&json!(17), &json!(17)));
                for (n, tx) in list["txs"].as_array().unwrap().iter().enumerate() {
                    assert_eq!(tx["confirmations"], n + 1);
                    let value = if n < 12 { 1001 + branch } else { 1000 };
                    assert_eq!(tx["value_out"], value.to_string());
                }
                let list = client.ok(&format!("{path}/utxo")).await;
                let tip = list["tip_hash"].as_str().unwrap();
                let branch = tips.iter().position(|known| known == tip).unwrap();
                let sum: u64 = list["utxos"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|one| one["value"].as_str().unwrap().parse::<u64>().unwrap())
                    .sum();
                assert_eq!(sum, sums[branch]);
                let totals = client.ok(&path).await;
                let balance = totals["balance"].as_str().unwrap().parse::<u64>().unwrap();
                assert!(sums.contains(&balance), "{totals}");
                seen.insert(tip.to_owned());
            }
            seen.len()
        }
    });
    for round in 1..=40 {
        stage.node.switch(&branches[round % 3]).unwrap();
        stage.settled(0).await;
    }
    over_now.store(true, Ordering::Relaxed);
    assert!(reader.await.unwrap() > 1);
}
