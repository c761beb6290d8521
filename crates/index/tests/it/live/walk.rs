//! A random walk on a live node, and the index after it.

use serde_json::json;
use testkit::Litecoind;

use super::rig::{Severed, options};
use super::truth::{call, caught_up, height, holds, litecoind, nodes, text};

const STEPS: u32 = 300;
const CHECK_EVERY: u32 = 50;
/// Another seed by this variable.
const SEED_VARIABLE: &str = "PORTOLAN_WALK_SEED";
const SEED: u64 = 20_260_117;
/// From height 432 on the node wants extension blocks.
const HIGHEST: u32 = 425;

/// Numbers that look random (SplitMix64).
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let last = items.len().checked_sub(1)? as u64;
        items.get(self.below(last + 1) as usize)
    }
}

/// A node that is led about.
pub struct Walk {
    pub node: Litecoind,
    pub dice: Dice,
    pub addresses: Vec<String>,
    left: Vec<String>,
    replaced: u32,
    conflicted: u32,
    shorter: u32,
}

impl Walk {
    pub async fn new(seed: u64) -> Walk {
        let node = litecoind().await;
        let mut addresses = Vec::new();
        for kind in ["legacy", "p2sh-segwit", "bech32"] {
            for _ in 0..3 {
                addresses.push(text(&node, "getnewaddress", json!(["", kind])).await);
            }
        }
        call(&node, "generatetoaddress", json!([110, addresses[0]])).await;
        Walk {
            node,
            dice: Dice(seed),
            addresses,
            left: Vec::new(),
            replaced: 0,
            conflicted: 0,
            shorter: 0,
        }
    }

    fn address(&mut self) -> String {
        self.dice.pick(&self.addresses).unwrap().clone()
    }

    /// Mines to one of our addresses.
    pub async fn mine(&mut self, blocks: u64) {
        if height(&self.node).await >= HIGHEST {
            self.reorganise(8, 4).await;
        }
        self.generate(blocks).await;
    }

    /// Mines, to an address that is new if the same block was left before.
    async fn generate(&mut self, blocks: u64) {
        let address = self.address();
        let params = json!([blocks, address]);
        if self.node.call("generatetoaddress", params).await.is_err() {
            let address = text(&self.node, "getnewaddress", json!([])).await;
            call(&self.node, "generatetoaddress", json!([1, address])).await;
        }
    }

    /// Pays one address, or several in one transaction.
    pub async fn pay(&mut self) {
        let amount = |dice: &mut Dice| (dice.below(300_000_000) + 10_000) as f64 / 1e8;
        // A wallet whose coins all wait or are not ripe cannot pay.
        let _ = if self.dice.below(3) == 0 {
            let mut amounts = serde_json::Map::new();
            for _ in 0..=self.dice.below(5) {
                amounts.insert(self.address(), amount(&mut self.dice).into());
            }
            self.node.call("sendmany", json!(["", amounts, 1, "", [], true])).await
        } else {
            let (address, amount) = (self.address(), amount(&mut self.dice));
            self.node.call("sendtoaddress", json!([address, amount, "", "", false, true])).await
        };
    }

    async fn waiting(&self) -> Vec<String> {
        let ids = call(&self.node, "getrawmempool", json!([])).await;
        ids.as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
    }

    /// A transaction that spends the first output which one that waits spends.
    async fn rival(&mut self) -> Option<String> {
        let waiting = self.waiting().await;
        let txid = self.dice.pick(&waiting)?;
        let victim = call(&self.node, "getrawtransaction", json!([txid, true])).await;
        let input = &victim["vin"][0];
        let (of, vout) = (input["txid"].clone(), input["vout"].clone());
        let coin = self.node.call("gettxout", json!([of, vout, false])).await.ok()?;
        let value = (coin["value"].as_f64()? * 1e8).round() as u64;
        let left = value.checked_sub(2_000_000).filter(|left| *left > 10_000)?;
        let (address, value) = (self.address(), left as f64 / 1e8);
        let input = json!([{"txid": of, "vout": vout, "sequence": 1}]);
        let raw = json!([input, {address: value}]);
        let raw = text(&self.node, "createrawtransaction", raw).await;
        let signed = call(&self.node, "signrawtransactionwithwallet", json!([raw])).await;
        signed["hex"].as_str().map(str::to_owned)
    }

    /// Replaces what waits: by more fee, by another transaction, by one that is in a block at once.
    pub async fn replace(&mut self) {
        if self.waiting().await.is_empty() {
            self.pay().await;
        }
        let waiting = self.waiting().await;
        let Some(txid) = self.dice.pick(&waiting).cloned() else { return };
        match self.dice.below(3) {
            0 => {
                let bumped = self.node.call("bumpfee", json!([txid])).await;
                self.replaced += u32::from(bumped.is_ok());
            }
            1 => {
                let Some(rival) = self.rival().await else { return };
                let sent = self.node.call("sendrawtransaction", json!([rival, 0])).await;
                self.replaced += u32::from(sent.is_ok());
            }
            _ => {
                if height(&self.node).await >= HIGHEST {
                    return;
                }
                let Some(rival) = self.rival().await else { return };
                let address = self.address();
                let mined = self.node.call("generateblock", json!([address, [rival]])).await;
                self.conflicted += u32::from(mined.is_ok());
            }
        }
    }

    /// Leaves the last blocks, and mines others with what was in them in another order.
    pub async fn reorganise(&mut self, deepest: u64, longest: u64) {
        let top = height(&self.node).await;
        let depth = (1 + self.dice.below(deepest)).min(u64::from(top) - 105);
        let first = u64::from(top) + 1 - depth;
        let hash = text(&self.node, "getblockhash", json!([first])).await;
        call(&self.node, "invalidateblock", json!([hash])).await;
        self.left.push(hash);
        let waiting = self.waiting().await;
        for txid in waiting.iter().filter(|_| self.dice.below(3) == 0).collect::<Vec<_>>() {
            let down = json!([txid, 0, -100_000_000]);
            call(&self.node, "prioritisetransaction", down).await;
        }
        let blocks = self.dice.below(longest.min(depth + 2));
        self.shorter += u32::from(blocks < depth);
        for _ in 0..blocks {
            let some: Vec<String> = self.waiting().await;
            let some: Vec<&String> = some.iter().filter(|_| self.dice.below(4) == 0).collect();
            let address = self.address();
            let chosen = json!([address, some]);
            // Those whose parents were not chosen cannot be mined alone.
            if self.dice.below(2) == 0 || self.node.call("generateblock", chosen).await.is_err() {
                self.generate(1).await;
            }
        }
    }

    /// A chain that was left may be the best again.
    pub async fn reconsider(&mut self) {
        if let Some(hash) = self.left.pop() {
            call(&self.node, "reconsiderblock", json!([hash])).await;
            if height(&self.node).await > HIGHEST {
                call(&self.node, "invalidateblock", json!([hash])).await;
            }
        }
    }

    /// A step of the node.
    pub async fn step(&mut self) {
        match self.dice.below(90) {
            0..27 => {
                let blocks = 1 + self.dice.below(3);
                self.mine(blocks).await;
            }
            27..57 => self.pay().await,
            57..72 => self.replace().await,
            72..85 => self.reorganise(8, 10).await,
            _ => self.reconsider().await,
        }
    }
}

fn seed() -> u64 {
    std::env::var(SEED_VARIABLE).ok().and_then(|seed| seed.parse().ok()).unwrap_or(SEED)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_equals_a_fresh_one_after_a_random_walk() {
    let seed = seed();
    println!("{SEED_VARIABLE}={seed}");
    let mut walk = Walk::new(seed).await;
    let dir = tempfile::tempdir().unwrap();
    let open =
        async |walk: &Walk| Severed::open("ltc", nodes(&walk.node), dir.path(), options()).await;
    let mut index = open(&walk).await;
    let (mut restarts, mut cuts) = (0, 0);
    for step in 1..=STEPS {
        match walk.dice.below(100) {
            0..6 => {
                index.end().await;
                index = open(&walk).await;
                restarts += 1;
            }
            6..11 => {
                index.sever();
                index = open(&walk).await;
                cuts += 1;
            }
            _ => walk.step().await,
        }
        if walk.dice.below(4) == 0 {
            caught_up(&walk.node, &index.follower).await;
        }
        if step % CHECK_EVERY == 0 {
            let addresses: Vec<String> = (0..4)
                .map(|_| walk.address())
                .collect::<std::collections::BTreeSet<_>>()
                .into_iter()
                .collect();
            let bulk = step % (2 * CHECK_EVERY) == 0;
            holds(&walk.node, &index.follower, &addresses, bulk).await;
            println!("step {step}: height {}", height(&walk.node).await);
        }
    }
    let Walk { replaced, conflicted, shorter, .. } = walk;
    println!(
        "{replaced} replaced, {conflicted} in conflict with a block, {shorter} shorter chains, \
         {restarts} restarts, {cuts} cuts"
    );
    assert!(replaced > 0 && conflicted > 0 && shorter > 0 && restarts > 0 && cuts > 0);
    index.end().await;
}
