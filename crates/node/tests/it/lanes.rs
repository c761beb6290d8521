//! Calls from several runtimes: each has connections of its own, and the limits of a node hold over
//! all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use node::{Node, NodeConfig, Tried, Weight};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use crate::scripted::*;

fn runtimes(count: usize) -> Vec<Runtime> {
    let one = || Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    (0..count).map(|_| one()).collect()
}

/// So many calls of our own at once on that runtime.
async fn calls_on(runtime: &Runtime, node: &Arc<Node>, count: usize) {
    let mut calls = JoinSet::new();
    for _ in 0..count {
        let node = Arc::clone(node);
        calls.spawn_on(
            async move { node.call("getblockcount", "[]", Weight::Internal).await.unwrap() },
            runtime.handle(),
        );
    }
    while let Some(done) = calls.join_next().await {
        done.unwrap();
    }
}

fn let_go(runtimes: Vec<Runtime>) {
    runtimes.into_iter().for_each(Runtime::shutdown_background);
}

#[tokio::test]
async fn each_runtime_has_connections_of_its_own() {
    let server = Scripted::answering(|_| result("1")).await;
    let (_pool, node) = lone(&server);
    let runtimes = runtimes(2);
    for _ in 0..4 {
        for runtime in &runtimes {
            calls_on(runtime, &node, 1).await;
        }
    }
    let used: Vec<usize> = server.heard().iter().map(|heard| heard.connection).collect();
    assert_eq!(used, [0, 1, 0, 1, 0, 1, 0, 1]);
    assert_eq!(node.state().idle_connections, 2);
    let_go(runtimes);
}

#[tokio::test]
async fn no_more_connections_are_open_than_calls_may_be_at_once_on_whichever_runtimes() {
    let (open, at_work) = (Arc::<Peak>::default(), Arc::<Peak>::default());
    let counted = (Arc::clone(&open), Arc::clone(&at_work));
    let server = Scripted::start(move |mut peer| {
        let (open, at_work) = counted.clone();
        async move {
            open.more();
            while let Some(heard) = peer.hear().await {
                at_work.more();
                tokio::time::sleep(millis(5)).await;
                at_work.fewer();
                peer.say(heard.echo(result("1"))).await;
            }
            open.fewer();
        }
    })
    .await;
    // monerod counts connections: three calls at once are three of them at most.
    let config = NodeConfig { slots: Some(3), ..NodeConfig::new(server.url()) };
    let pool = pool_with("xmr", "regtest", vec![config], |config| {
        config.queue_wait = std::time::Duration::from_secs(60);
    });
    let node = pool.pick(&Tried::new()).unwrap();
    let runtimes = runtimes(4);
    for runtime in &runtimes {
        calls_on(runtime, &node, 3).await;
    }
    // And from all sides at once.
    for _ in 0..5 {
        let all = runtimes.iter().map(|runtime| calls_on(runtime, &node, 6));
        futures_util::future::join_all(all).await;
    }
    assert_eq!((open.most(), at_work.most()), (3, 3));
    assert_eq!((server.connections(), node.state().idle_connections), (3, 3));
    let_go(runtimes);
}

/// How many there were at most.
#[derive(Default)]
struct Peak {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Peak {
    fn more(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
    }

    fn fewer(&self) {
        self.now.fetch_sub(1, Ordering::SeqCst);
    }

    fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}
