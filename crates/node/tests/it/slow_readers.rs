//! Readers who take their time with megabytes keep no call from a node that is done with them.

use std::sync::Arc;

use node::{NodeConfig, Tried, Weight};

use crate::scripted::*;

const BYTES: usize = 5 << 20;

#[tokio::test]
async fn a_hundred_readers_of_five_megabytes_are_all_served_with_four_slots() {
    for (slug, network, readers) in [("eth", "dev", 100), ("zec", "regtest", 90)] {
        let answer = Arc::new(ok(&"1".repeat(BYTES)));
        let server = Scripted::start(move |mut peer| {
            let answer = Arc::clone(&answer);
            async move {
                while peer.hear().await.is_some() {
                    peer.say(&*answer).await;
                }
            }
        })
        .await;
        let config = NodeConfig { slots: Some(4), ..NodeConfig::new(server.url()) };
        let pool = pool(slug, network, vec![config]);
        let node = pool.pick(&Tried::new()).unwrap();
        let mut answers = Vec::new();
        for reader in 0..readers {
            let lease = node.lease(reader % 4, Weight::Light).await.unwrap();
            let sent = node.send(lease, node::Route::Rpc, CALL.into(), node::Ids::None).await;
            answers.push(sent.unwrap());
        }
        // None of them has read a byte yet, and the node is as free as if there were none.
        let state = node.state();
        assert_eq!((state.in_flight, state.open_answers), (0, readers as usize), "{slug}");
        assert!(node.lease(9, Weight::Light).await.is_ok());
        for answer in answers {
            assert_eq!(answer.body.collect(BYTES as u64).await.unwrap().len(), BYTES);
        }
        let state = node.state();
        assert_eq!((state.in_flight, state.open_answers), (0, 0), "{slug}");
    }
}
