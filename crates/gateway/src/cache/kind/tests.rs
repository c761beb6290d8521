use super::*;
use crate::envelope::{Posted, read};

const HASH: &str = "00000000000000000002a7c4c1e48d76c5a37902165a270156b7a8d72728a054";

/// The kind of a call where 100 is the greatest height that counts as final.
#[track_caller]
fn kind(chain: &str, method: &str, params: &str) -> Option<Kind> {
    let text = format!(r#"{{"id":1,"method":"{method}","params":{params}}}"#);
    let Ok(Posted::One(envelope)) = read(text.as_bytes(), 1) else { panic!("{text}") };
    let method = chain::find(chain).unwrap().methods().find(method).unwrap();
    Kind::of(&Call { envelope, method }, || Some(100))
}

#[test]
fn raw_forms_by_hash_are_final() {
    let params = |raw: &str| raw.replace('#', &format!("\"{HASH}\""));
    for (method, raw, expected) in [
        ("getblock", "[#,0]", Kind::Final),
        ("getblock", "[#,false]", Kind::Final),
        ("getblock", "[ # , 0 , true ]", Kind::Final),
        ("getblock", "[#]", Kind::Tip),
        ("getblock", "[#,1]", Kind::Tip),
        ("getblock", "[#,\"0\"]", Kind::Tip),
        ("getblock", "[\"12\",0]", Kind::Tip),
        ("getblock", "{\"blockhash\":#,\"verbosity\":0}", Kind::Tip),
        ("getblockheader", "[#,false]", Kind::Final),
        ("getblockheader", "[#,true]", Kind::Tip),
        ("gettxoutproof", "[[#],#]", Kind::Final),
        ("gettxoutproof", "[[#]]", Kind::Tip),
    ] {
        assert_eq!(kind("btc", method, &params(raw)), Some(expected), "{method} {raw}");
    }
    let transaction = |raw| kind("btc", "getrawtransaction", &params(raw));
    assert_eq!(transaction("[#,0,#]"), Some(Kind::Final));
    for raw in ["[#]", "[#,0]", "[#,1,#]", "[#,0,\"x\"]", "{}", "null", "[]"] {
        assert_eq!(transaction(raw), None, "{raw}");
    }
}

#[test]
fn heights_are_final_once_they_are_deep() {
    for (raw, expected) in [
        ("[100]", Kind::Final),
        ("[0]", Kind::Final),
        ("[101]", Kind::Tip),
        ("[-1]", Kind::Tip),
        ("[1e1]", Kind::Tip),
        ("[99999999999999999999]", Kind::Tip),
        ("[]", Kind::Tip),
        ("null", Kind::Tip),
        ("{\"height\":1}", Kind::Tip),
    ] {
        assert_eq!(kind("btc", "getblockhash", raw), Some(expected), "{raw}");
    }
    assert_eq!(kind("zec", "z_gettreestate", "[\"100\"]"), Some(Kind::Final));
    assert_eq!(kind("zec", "z_gettreestate", "[\"101\"]"), Some(Kind::Tip));
    assert_eq!(kind("xmr", "on_get_block_hash", "[7]"), Some(Kind::Final));
    let text = r#"{"id":1,"method":"getblockhash","params":[0]}"#;
    let Ok(Posted::One(envelope)) = read(text.as_bytes(), 1) else { panic!("{text}") };
    let method = chain::find("btc").unwrap().methods().find("getblockhash").unwrap();
    assert_eq!(Kind::of(&Call { envelope, method }, || None), Some(Kind::Tip), "no tip is known");
}

#[test]
fn blocks_of_account_chains_are_told_apart() {
    let hash = format!("\"0x{HASH}\"");
    for (block, expected) in [
        ("\"latest\"", Some(Kind::Tip)),
        ("\"safe\"", Some(Kind::Tip)),
        ("\"finalized\"", Some(Kind::Tip)),
        ("\"earliest\"", Some(Kind::Final)),
        ("\"0x64\"", Some(Kind::Final)),
        ("\"0x65\"", Some(Kind::Tip)),
        (hash.as_str(), Some(Kind::Final)),
        ("\"pending\"", None),
        ("\"l\\u0061test\"", None),
        ("\"0x\"", None),
        ("\"0x+1\"", None),
        ("\"\"", None),
        ("null", None),
        ("1", None),
        ("{\"blockNumber\":\"pending\"}", None),
    ] {
        let address = "\"0x0000000000000000000000000000000000000000\"";
        assert_eq!(kind("eth", "eth_getBalance", &format!("[{address},{block}]")), expected);
        assert_eq!(kind("eth", "eth_call", &format!("[{{}},{block},{{}}]")), expected);
        assert_eq!(kind("eth", "eth_getBlockByNumber", &format!("[{block},true]")), expected);
        assert_eq!(
            kind("eth", "eth_getStorageAt", &format!("[{address},\"0x0\",{block}]")),
            expected
        );
    }
    assert_eq!(kind("eth", "eth_call", "[{}]"), None, "nodes differ in what is meant");
    assert_eq!(kind("eth", "eth_getBlockByHash", &format!("[{hash},false]")), Some(Kind::Final));
    assert_eq!(kind("eth", "eth_getLogs", "[{\"toBlock\":\"latest\"}]"), Some(Kind::Tip));
    assert_eq!(kind("eth", "eth_getLogs", "[{\"toBlock\":\"pending\"}]"), None);
    assert_eq!(kind("eth", "eth_getLogs", "[{\"toBlock\":\"p\\u0065nding\"}]"), None);
}

#[test]
fn what_a_mempool_or_a_clock_has_a_part_in_is_of_no_kind() {
    for (chain, method) in [
        ("btc", "getrawmempool"),
        ("btc", "gettxout"),
        ("btc", "getblockchaininfo"),
        ("btc", "estimatesmartfee"),
        ("btc", "sendrawtransaction"),
        ("eth", "eth_getTransactionByHash"),
        ("eth", "eth_syncing"),
        ("xmr", "get_info"),
        ("xmr", "get_transactions"),
    ] {
        assert_eq!(kind(chain, method, "[]"), None, "{chain} {method}");
    }
    assert_eq!(kind("btc", "decodescript", "[\"51\"]"), Some(Kind::Final));
    assert_eq!(kind("xmr", "getblockcount", "[]"), Some(Kind::Tip));
}
