//! What a text means: every search is answered, with a block, a transaction, an address or nothing.

use serde_json::json;

use crate::utxo::rig::{Plan, json};

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_text_mean_nothing() {
    let rig = Plan::of(&["btc"]).start().await;
    for query in ["%ff", "%c3%28", "%ed%a0%80", "7%ff", "%00", "%", "%zz", "%20", "%F0%9F%92%A9"] {
        let answer = rig.get(&format!("/api/v1/btc/search/{query}")).await;
        assert_eq!((answer.status, json(&answer)), (200, json!({ "kind": "none" })), "{query}");
    }
}
