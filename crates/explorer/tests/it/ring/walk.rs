//! A random walk on a live node with live wallets: payments of every kind, sweeps, blocks popped and
//! mined anew, our process restarted and killed in between. After each step the checks say what the
//! wallets say, and the rows are those of an index that was made at once.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use explorer::Settings;
use index::Memory;
use index::ring::{Index, Store, SyncOptions};
use node::{NodeConfig, Pool, PoolConfig};
use serde_json::json;
use testkit::{MoneroWallet, Monerod, Process, SentMonero};

use crate::ring::live::{MILLI, Named, compare_claims, compare_found, in_sync, receiver};
use crate::ring::rig::Rig;

/// What the child follows: folder and url.
const ORDER: &str = "PORTOLAN_WALK_RINGS";
/// What the child says once it follows.
const FOLLOWING: &str = "the child follows";
/// Another walk by this variable.
const SEED: &str = "PORTOLAN_WALK_SEED";
const STEPS: u64 = 6;

/// Not a test of its own: what the walk starts and kills.
#[tokio::test(flavor = "multi_thread")]
async fn child() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let (dir, url) = order.split_once('\n').unwrap();
    let chain = chain::find("xmr").unwrap();
    let network = chain.network("regtest").unwrap();
    let store = Store::open(Path::new(dir), chain, network, &Memory::new(8 << 20, 8 << 20));
    let config = PoolConfig { nodes: vec![NodeConfig::new(url)], ..PoolConfig::default() };
    let pool = Pool::new(chain, network, config).unwrap();
    pool.start();
    let options = SyncOptions {
        poll: Duration::from_millis(20),
        least_free_bytes: 0,
        ..SyncOptions::default()
    };
    let _index = Index::start(store.unwrap(), pool, options);
    println!("{FOLLOWING}");
    std::future::pending::<()>().await;
}

/// Where the walk is.
struct Walk {
    node: Monerod,
    sender: MoneroWallet,
    receiver: MoneroWallet,
    to: Vec<Named>,
    integrated: String,
    /// What the sender sent, and what the receiver swept.
    sent: Vec<SentMonero>,
    swept: Vec<SentMonero>,
    rig: Option<Rig>,
    seed: u64,
}

impl Walk {
    async fn new(seed: u64) -> Walk {
        let node = Monerod::start(None).await.unwrap();
        let sender = MoneroWallet::start(&node).await.unwrap();
        node.mine_to(&sender.address(0).await.unwrap(), 135).await.unwrap();
        sender.refresh().await.unwrap();
        let (receiver, to) = receiver(&node).await;
        let integrated = receiver.integrated("00112233aabbccdd").await.unwrap();
        let rig = Some(Rig::start(node.url()).await);
        let (sent, swept) = (Vec::new(), Vec::new());
        Walk { node, sender, receiver, to, integrated, sent, swept, rig, seed }
    }

    /// A number that looks random (SplitMix64).
    fn below(&mut self, bound: u64) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    /// Pays to an address of some kind, or to several at once.
    async fn pay(&mut self, kind: u64) {
        let amount = (1 + self.below(50)) * MILLI;
        let [first, beside, other] = [0, 1, 2].map(|place| self.to[place].0.as_str());
        let to: &[(&str, u64)] = match kind {
            0 => &[(first, amount)],
            1 => &[(beside, amount)],
            2 => &[(&self.integrated, amount)],
            _ => &[(first, amount), (other, amount + 1), (beside, amount + 2)],
        };
        self.sent.push(self.sender.pay(to).await.unwrap());
    }

    /// Pops blocks and mines others; wallets begin anew, for they do not see that.
    async fn reorganise(&mut self) {
        let depth = 2 + self.below(9) as u32;
        self.node.pop_blocks(depth).await.unwrap();
        self.node.mine(depth + 2).await.unwrap();
        // Whose ring members have other places by now can never be mined.
        self.node.call("flush_txpool", json!({})).await.unwrap();
        for wallet in [&mut self.sender, &mut self.receiver] {
            let words = wallet.words().await.unwrap();
            *wallet = MoneroWallet::start(&self.node).await.unwrap();
            wallet.restore("again", &words).await.unwrap();
            wallet.refresh().await.unwrap();
        }
    }

    /// Changes the chain while a process of ours follows it, which is killed then.
    async fn kill(&mut self) {
        let rows = self.rig.take().unwrap().end().await;
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        let (_, module) = module_path!().split_once("::").unwrap();
        command.args(["--exact", &format!("{module}::child"), "--nocapture"]);
        command.env(ORDER, format!("{}\n{}", rows.path().display(), self.node.url()));
        let mut child = Process::start(&mut command, log.path(), "it is this test").unwrap();
        let said = || std::fs::read_to_string(log.path()).unwrap();
        for _ in 0..30_000 {
            if said().contains(FOLLOWING) || child.has_ended() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        assert!(said().contains(FOLLOWING) && !child.has_ended(), "{}", said());
        self.node.mine(3).await.unwrap();
        let wait = self.below(120);
        tokio::time::sleep(Duration::from_millis(wait)).await;
        child.kill();
        self.rig = Some(Rig::on(rows, self.node.url(), Settings::default()).await);
    }

    async fn step(&mut self, step: u64) {
        self.pay(step % 4).await;
        let kind = self.below(4);
        self.pay(kind).await;
        match step {
            0 => self.node.mine(11).await.map(drop).unwrap(),
            1 | 4 => self.kill().await,
            2 => {
                self.receiver.refresh().await.unwrap();
                self.swept.extend(self.receiver.sweep(0, &self.to[2].0).await.unwrap());
                self.node.mine(1).await.unwrap();
            }
            3 => self.reorganise().await,
            _ => {
                let rows = self.rig.take().unwrap().end().await;
                self.node.mine(2).await.unwrap();
                self.rig = Some(Rig::on(rows, self.node.url(), Settings::default()).await);
            }
        }
        // All of them once blocks were popped, and in the end.
        self.hold(step == 3 || step + 1 == STEPS).await;
    }

    /// Holds checks against wallets, of the last transactions or of all, and the rows against an index
    /// that is made at once.
    async fn hold(&self, all: bool) {
        let rig = self.rig.as_ref().unwrap();
        in_sync(rig, &self.node, None).await;
        let before = if all { 0 } else { self.sent.len().saturating_sub(4) };
        let sent = &self.sent[before..];
        compare_claims(rig, &self.sender, &self.to, sent).await;
        compare_claims(rig, &self.receiver, &self.to, &self.swept).await;
        let all = [sent, &self.swept].concat();
        compare_found(rig, &self.receiver, &self.to, &all).await;
        let fresh = Rig::start(self.node.url()).await;
        in_sync(&fresh, &self.node, None).await;
        let (ours, theirs) = (rig.index.store(), fresh.index.store());
        let difference = ours.lock().unwrap().same_rows(&theirs.lock().unwrap()).unwrap();
        assert!(difference.is_none(), "{}", difference.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_walk_with_kills_and_pops_ends_as_the_wallets_say() {
    let seed = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok());
    let mut walk = Walk::new(seed.unwrap_or(20_261_129)).await;
    for step in 0..STEPS {
        walk.step(step).await;
    }
    assert!(walk.sent.len() as u64 == 2 * STEPS && !walk.swept.is_empty());
}
