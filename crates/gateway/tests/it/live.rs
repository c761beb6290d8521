//! The gateway on live nodes: what comes through is what the node itself answers.

use node::{Auth, NodeConfig, PoolConfig};
use serde_json::{Value, json};
use testkit::{Anvil, Geth, Litecoind, Login, Monerod};

use crate::rig::{Plan, Rig, nodes};

fn result(answer: &testkit::Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    assert!(!body["result"].is_null(), "{}", answer.text());
    body["result"].clone()
}

/// Basic credentials for asking a node past the gateway.
fn basic(userinfo: &str) -> String {
    use base64::Engine;
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(userinfo))
}

/// Asserts that the gateway's bytes are those of the node.
async fn same(rig: &Rig, chain: &str, url: &str, headers: &[(&str, &str)], body: &str) {
    let direct = testkit::post(url, headers, body.as_bytes()).await.unwrap();
    let through = rig.ask(chain, body).await;
    assert_eq!((through.status, through.text()), (200, direct.text()), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn litecoind_by_cookie_and_by_password() {
    for login in [Login::Cookie, Login::Password("user".into(), "pass word:1".into())] {
        let node = Litecoind::start(login.clone(), &[]).await.unwrap();
        let mined = node.mine(3).await.unwrap();
        let mut config = NodeConfig::new(node.url());
        let userinfo = match login {
            Login::Cookie => {
                config.cookie = Some(node.cookie());
                std::fs::read_to_string(node.cookie()).unwrap()
            }
            Login::Password(user, password) => {
                config.user = Some(user.clone());
                config.password = Some(serde_json::from_value(json!(password)).unwrap());
                format!("{user}:{password}")
            }
        };
        let rig = Plan::one("ltc", PoolConfig { nodes: vec![config], ..PoolConfig::default() })
            .start()
            .await;
        rig.pools[0].start();
        rig.pools[0].probed().await;
        assert_eq!(rig.pools[0].tip(), Some(3));
        let authorization = basic(userinfo.trim());
        let headers = [("Authorization", authorization.as_str())];
        for body in [
            r#"{"id":1e30,"method":"getblockcount"}"#.to_owned(),
            r#"{"id":10114294196968190000,"method":"getblockcount"}"#.to_owned(),
            r#"{"id":-0,"method":"getblockcount"}"#.to_owned(),
            r#"{"id":"\u0041\"\\","method":"getblockcount"}"#.to_owned(),
            r#"{"id":null,"method":"getblockcount"}"#.to_owned(),
            r#"{"method":"getblockcount"}"#.to_owned(),
            r#"{"id":true,"jsonrpc":"2.0","method":"getblockhash","params":[99]}"#.to_owned(),
            r#"{"id":1,"method":"getblock","params":["zz"]}"#.to_owned(),
            r#"{"id":1,"method":"getblockhash","params":[]}"#.to_owned(),
            format!(
                r#"{{"id":1,"method":"getblock","params":{{"blockhash":"{}","verbosity":2}}}}"#,
                mined[0]
            ),
            format!(
                r#"[{{"id":1,"method":"getblock","params":["{}",0]}},{{"id":1,"method":"getblockhash","params":[9]}}]"#,
                mined[2]
            ),
        ] {
            same(&rig, "ltc", &node.url(), &headers, &body).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn litecoind_that_was_restarted_is_found_again() {
    let node = Litecoind::start(Login::Cookie, &[]).await.unwrap();
    let mut config = NodeConfig::new(node.url());
    config.cookie = Some(node.cookie());
    let cookie = std::fs::read_to_string(node.cookie()).unwrap();
    let rig =
        Plan::one("ltc", PoolConfig { nodes: vec![config], ..PoolConfig::default() }).start().await;
    let call = r#"{"id":1,"method":"getblockcount"}"#;
    assert_eq!(result(&rig.ask("ltc", call).await), json!(0));
    // A cookie that is wrong for a while, as between a node's end and its next start.
    std::fs::write(node.cookie(), "__cookie__:stale").unwrap();
    let _ = rig.ask("ltc", call).await;
    std::fs::write(node.cookie(), &cookie).unwrap();
    assert_eq!(result(&rig.ask("ltc", call).await), json!(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn monerod_with_digest_and_without() {
    for login in [None, Some(("user", "pass"))] {
        let node = Monerod::start(login).await.unwrap();
        let mined = node.mine(3).await.unwrap();
        let mut config = NodeConfig::new(node.restricted_url());
        if let Some((user, password)) = login {
            config.auth = Auth::Digest;
            config.user = Some(user.into());
            config.password = Some(serde_json::from_value(json!(password)).unwrap());
        }
        let rig = Plan::one("xmr", PoolConfig { nodes: vec![config], ..PoolConfig::default() })
            .start()
            .await;
        rig.pools[0].start();
        rig.pools[0].probed().await;
        assert_eq!(rig.pools[0].tip(), Some(3));
        let header = format!(
            r#"{{"id":"h","method":"get_block_header_by_hash","params":{{"hash":"{}"}}}}"#,
            mined[2]
        );
        assert_eq!(
            result(&rig.ask("xmr", &header).await)["block_header"]["hash"],
            mined[2].as_str()
        );
        let height = rig.ask("xmr", r#"{"id":[0],"id":1,"method":"get_height"}"#).await;
        assert_eq!(height.status, 400);
        let height = rig.ask("xmr", r#"{"id":1e30,"method":"get_height"}"#).await;
        assert!(
            height.text().starts_with(r#"{"jsonrpc":"2.0","id":1e30,"result":{"#),
            "{}",
            height.text()
        );
        assert_eq!(result(&height)["height"], 4);
        let batch = rig.ask("xmr", r#"[{"id":1,"method":"get_height"},{"id":2,"method":"stop_daemon"},{"id":3,"method":"getblockcount"}]"#).await;
        let items: Value = serde_json::from_slice(&batch.body).unwrap();
        assert_eq!((&items[0]["id"], &items[2]["result"]["count"]), (&json!(1), &json!(4)));
        assert_eq!(items[1]["error"]["data"]["reason"], "METHOD_NOT_ALLOWED");
        if login.is_none() {
            for body in [
                r#"{"jsonrpc":"2.0","id":"x","method":"get_info"}"#,
                r#"{"method":"get_block_count"}"#,
                r#"{"jsonrpc":"2.0","id":"0","method":"get_block","params":{"height":99}}"#,
            ] {
                let direct = testkit::post(
                    &format!("{}/json_rpc", node.restricted_url()),
                    &[],
                    body.as_bytes(),
                )
                .await
                .unwrap();
                let through = rig.ask("xmr", body).await;
                let stable = |text: String| {
                    text.lines()
                        .filter(|line| !line.contains("time") && !line.contains("space"))
                        .collect::<Vec<_>>()
                        .join("\n")
                };
                assert_eq!(stable(through.text()), stable(direct.text()), "{body}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn anvil_and_geth() {
    let anvil = Anvil::start(&[]).await.unwrap();
    anvil.mine(5).await.unwrap();
    on_execution_client(&anvil.url()).await;
    match Geth::start(&[]).await {
        Ok(geth) => on_execution_client(&geth.url()).await,
        Err(error) => eprintln!("SKIPPED: no geth to test against: {error}"),
    }
}

async fn on_execution_client(url: &str) {
    let rig = Plan::one("eth", nodes(&[url])).start().await;
    rig.pools[0].start();
    rig.pools[0].probed().await;
    assert!(rig.pools[0].tip().is_some());
    for body in [
        r#"{"jsonrpc":"2.0","id":1e0,"method":"eth_blockNumber","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"eth_getBlockByNumber","params":["0x0",true]}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"eth_getBalance","params":["nonsense","latest"]}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]},{"jsonrpc":"2.0","id":1,"method":"net_version","params":[]}]"#,
    ] {
        same(&rig, "eth", url, &[("Content-Type", "application/json")], body).await;
    }
}
