//! An index in a process of its own that is killed while it works, and opened again.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use index::ring::Store;
use testkit::Process;

use crate::ring::forge::{Draft, Forge};
use crate::ring::rig::{
    Follower, assert_same, chain, connected, in_bulk, memory, network, options,
};
use crate::ring::stub::Stub;

/// What the child follows: folder, url, whether it loads in bulk.
const ORDER: &str = "PORTOLAN_FOLLOW_RINGS";

/// Not a test of its own: what the others start and kill.
#[tokio::test(flavor = "multi_thread")]
async fn child() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let [dir, url, bulk]: [&str; 3] = order.split('\n').collect::<Vec<_>>().try_into().unwrap();
    let options = if bulk == "true" { in_bulk() } else { options() };
    let follower = Follower::start(Path::new(dir), &[url.to_owned()], options);
    std::future::pending::<()>().await;
    follower.end().await;
}

/// Starts a child that follows a node.
pub fn follow(dir: &Path, url: &str, bulk: bool, log: &Path) -> Process {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let (_, module) = module_path!().split_once("::").unwrap();
    let order = [&dir.display().to_string(), url, &bulk.to_string()].map(str::to_owned).join("\n");
    command.args(["--exact", &format!("{module}::child"), "--nocapture"]).env(ORDER, order);
    Process::start(&mut command, log, "it is this test").unwrap()
}

/// Lets a child follow the node until that has given so many blocks more, and kills it. Gives the
/// height that is on the disk then.
async fn follow_and_kill(stub: &Stub, dir: &Path, bulk: bool, blocks: u64) -> Option<u32> {
    let log = tempfile::NamedTempFile::new().unwrap();
    stub.hold_after(blocks);
    let mut child = follow(dir, &stub.url(), bulk, log.path());
    for _ in 0..30_000 {
        if stub.is_held() || child.has_ended() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let said = std::fs::read_to_string(log.path()).unwrap();
    assert!(stub.is_held() && !child.has_ended(), "{said}");
    child.kill();
    stub.release();
    let store = Store::open_read_only(dir, chain(), network(), &memory()).ok()?;
    store.tip().map(|tip| tip.height)
}

/// Blocks with transactions of hidden and of public amounts.
fn grow(forge: &mut Forge, blocks: u64, salt: u64) {
    for _ in 0..blocks {
        let height = forge.height() + 1;
        let images = salt << 32 | height << 8;
        let hidden = Draft::hidden(&[&[0, height / 2], &[1, 2, height - 3]], images, 2);
        let open = Draft::open(&[(10, &[0])], images + 10, &[10, height % 7 + 1]);
        match height % 3 {
            0 => forge.mine_as(1, &[10, 600_000, 10], &[open.bytes()]),
            1 => forge.mine(&[hidden, open]),
            _ => forge.mine(&[hidden]),
        };
    }
}

fn grown(blocks: u64) -> Forge {
    let mut forge = Forge::new();
    forge.mine_as(1, &[10, 10, 5], &[]);
    for _ in 0..5 {
        forge.mine(&[]);
    }
    grow(&mut forge, blocks, 1);
    forge
}

/// Holds what was killed, and is brought to the node's tip, against an index that was not.
async fn equals_fresh(stub: &Stub, forge: &Forge, dir: &Path, bulk: bool) {
    let options = if bulk { in_bulk() } else { options() };
    let follower = Follower::start(dir, &[stub.url()], options);
    follower.in_sync_at(forge.tip()).await;
    let fresh = tempfile::tempdir().unwrap();
    let fresh = connected(fresh.path(), &forge.blocks);
    follower.assert_rows(&fresh);
    let verdict = fresh.verify(|_| {}).unwrap();
    assert_eq!(verdict.faults, Vec::<String>::new());
    follower.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_is_killed_again_and_again_is_gone_on_with() {
    let forge = grown(900);
    // Many blocks in one batch, and a hundred where there is no endpoint for many.
    for span in [Some(40), None] {
        let stub = Stub::start(forge.clone(), span).await.unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut heights = Vec::new();
        for blocks in [1, 230, 330, 250] {
            heights.push(follow_and_kill(&stub, dir.path(), true, blocks).await);
        }
        println!("killed at {heights:?}");
        // What was on the disk stays there.
        assert!(heights.is_sorted() && heights[3] > Some(0));
        equals_fresh(&stub, &forge, dir.path(), true).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_killed_while_it_follows_goes_on() {
    let mut forge = grown(60);
    let stub = Stub::start(forge.clone(), Some(1000)).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    // From nothing, block by block.
    follow_and_kill(&stub, dir.path(), false, 30).await;
    for (salt, (depth, blocks, given)) in
        [(0, 8, 3), (20, 26, 1), (20, 26, 12), (5, 9, 7), (40, 45, 30)].into_iter().enumerate()
    {
        let height = forge.height();
        forge = forge.branch((height - depth) as usize, salt as u32 + 1);
        grow(&mut forge, blocks, salt as u64 + 2);
        stub.show(forge.clone());
        follow_and_kill(&stub, dir.path(), false, given).await;
    }
    equals_fresh(&stub, &forge, dir.path(), false).await;
    // What a process that was killed left is the chain up to some block, also before a node is heard.
    let height = forge.height();
    let mut other = forge.branch(height as usize - 30, 77);
    grow(&mut other, 40, 77);
    stub.show(other.clone());
    follow_and_kill(&stub, dir.path(), false, 10).await;
    let store = Store::open_read_only(dir.path(), chain(), network(), &memory()).unwrap();
    let tip = store.tip().unwrap();
    let of = |forge: &Forge| forge.hashes.get(tip.height as usize) == Some(&tip.hash);
    let which = if of(&forge) { &forge } else { &other };
    assert!(of(which), "the tip is of neither chain");
    let fresh = tempfile::tempdir().unwrap();
    let fresh = connected(fresh.path(), &which.blocks[..=tip.height as usize]);
    assert_same(&store, &fresh);
    drop(store);
    equals_fresh(&stub, &other, dir.path(), false).await;
}
