//! An index in a process of its own that is killed while it works, and opened again.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use index::Memory;
use index::utxo::{Store, SyncOptions};
use node::NodeConfig;
use serde_json::json;
use testkit::Process;

use super::rig::{Follower, Grown, options};
use super::truth::{call, height, holds, nodes, text};
use super::walk::Walk;

/// What the child follows: folder, url, cookie or nothing, least height of a bulk load.
const ORDER: &str = "PORTOLAN_FOLLOW";

/// What the child says once it is about to work.
const FOLLOWING: &str = "the child follows";

/// Not a test of its own: what the others start and kill.
#[tokio::test(flavor = "multi_thread")]
async fn child() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let [dir, slug, url, cookie, bulk_from]: [&str; 5] =
        order.split('\n').collect::<Vec<_>>().try_into().unwrap();
    let cookie = (!cookie.is_empty()).then(|| cookie.into());
    let node = NodeConfig { cookie, ..NodeConfig::new(url) };
    let options = SyncOptions { bulk_from: bulk_from.parse().unwrap(), ..options() };
    let follower = Follower::open(slug, vec![node], Path::new(dir), options).await;
    println!("{FOLLOWING}");
    std::future::pending::<()>().await;
    follower.end().await;
}

/// Lets a child follow a node for a while, and kills it.
async fn run_and_kill(dir: &Path, slug: &str, node: &NodeConfig, bulk_from: u32, millis: u64) {
    let cookie = node.cookie.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let order = [&dir.display().to_string(), slug, &node.url, &cookie, &bulk_from.to_string()];
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "live::killed::child", "--nocapture"]).env(ORDER, order.join("\n"));
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut child = Process::start(&mut command, log.path(), "it is this test").unwrap();
    let said = || std::fs::read_to_string(log.path()).unwrap();
    while !said().contains(FOLLOWING) {
        assert!(!child.has_ended(), "{}", said());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    tokio::time::sleep(Duration::from_millis(millis)).await;
    assert!(!child.has_ended(), "{}", said());
    child.kill();
    let chain = super::rig::chain(slug);
    let network = chain.network("regtest").unwrap();
    let store = Store::open_read_only(dir, chain, network, &Memory::new(8 << 20, 8 << 20)).unwrap();
    println!("after {millis} ms at {:?}", store.tip().map(|tip| tip.height));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_killed_on_a_live_node_goes_on() {
    let mut walk = Walk::new(7).await;
    let dir = tempfile::tempdir().unwrap();
    let node = nodes(&walk.node).remove(0);
    for round in 0..25 {
        walk.pay().await;
        walk.replace().await;
        if round % 3 == 2 {
            walk.reorganise(8, 10).await;
        } else {
            walk.mine(3).await;
        }
        let millis = 30 + walk.dice.below(300);
        run_and_kill(dir.path(), "ltc", &node, u32::MAX, millis).await;
    }
    let follower = Follower::open("ltc", vec![node], dir.path(), options()).await;
    let addresses = walk.addresses[..3].to_vec();
    holds(&walk.node, &follower, &addresses, true).await;
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reorganisation_or_a_load_that_is_killed_is_gone_on_with() {
    let grown = Grown::new("btc", 400).await;
    let node = grown.nodes().remove(0);
    for bulk_from in [1, u32::MAX] {
        let dir = tempfile::tempdir().unwrap();
        for millis in [40, 80, 120, 160, 250] {
            run_and_kill(dir.path(), "btc", &node, bulk_from, millis).await;
        }
        for salt in 1..8 {
            grown.stub.switch(&grown.branch(20, 350 + salt, salt)).unwrap();
            run_and_kill(dir.path(), "btc", &node, bulk_from, 60 + 40 * u64::from(salt)).await;
        }
        let follower = Follower::of(&grown.stub, "btc", dir.path()).await;
        follower.in_sync_with(&grown.stub).await;
        super::rig::equals_fresh("btc", &follower.index, grown.nodes(), true).await;
        let verdict = follower.index.store().lock().unwrap().verify(|_| ()).unwrap();
        assert_eq!(verdict.faults, Vec::<String>::new());
        assert_eq!(Some((verdict.unspent_outputs, verdict.unspent_total)), grown.stub.unspent());
        follower.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tip_that_the_node_forgot_while_nothing_ran_is_left() {
    let walk = Walk::new(8).await;
    let dir = tempfile::tempdir().unwrap();
    let follower = Follower::open("ltc", nodes(&walk.node), dir.path(), options()).await;
    super::truth::caught_up(&walk.node, &follower).await;
    follower.end().await;
    let hash = text(&walk.node, "getblockhash", json!([40])).await;
    call(&walk.node, "invalidateblock", json!([hash])).await;
    assert_eq!(height(&walk.node).await, 39);
    let follower = Follower::open("ltc", nodes(&walk.node), dir.path(), options()).await;
    holds(&walk.node, &follower, &walk.addresses[..2], false).await;
    assert_eq!(follower.view().height(), 39);
    follower.end().await;
}
