//! The method sets against the lists and counts of the specification.

use chain::{Cacheable, Guard, Heavy, Method};

const BCH: &str = "\
    combinepsbt, combinerawtransaction, converttopsbt, createmultisig, createpsbt, \
    createrawtransaction, decodepsbt, decoderawtransaction, decodescript, estimatefee, \
    finalizepsbt, getbestblockhash, getblock, getblockchaininfo, getblockcount, getblockhash, \
    getblockheader, getblockstats, getchaintips, getchaintxstats, getdifficulty, getindexinfo, \
    getmempoolancestors, getmempooldescendants, getmempoolentry, getmempoolinfo, \
    getmininginfo, getnetworkhashps, getrawmempool, getrawtransaction, gettxout, \
    gettxoutproof, sendrawtransaction, testmempoolaccept, validateaddress, verifymessage, \
    verifytxoutproof";

const BTC: &str = "\
    analyzepsbt, combinepsbt, combinerawtransaction, converttopsbt, createmultisig, \
    createpsbt, createrawtransaction, decodepsbt, decoderawtransaction, decodescript, \
    deriveaddresses, estimatesmartfee, finalizepsbt, getbestblockhash, getblock, \
    getblockchaininfo, getblockcount, getblockhash, getblockheader, getblockstats, \
    getchaintips, getchaintxstats, getdeploymentinfo, getdescriptorinfo, getdifficulty, \
    getindexinfo, getmempoolancestors, getmempooldescendants, getmempoolentry, getmempoolinfo, \
    getmininginfo, getnetworkhashps, getrawmempool, getrawtransaction, gettxout, \
    gettxoutproof, gettxspendingprevout, joinpsbts, sendrawtransaction, submitpackage, \
    testmempoolaccept, utxoupdatepsbt, validateaddress, verifymessage, verifytxoutproof";

const DCR: &str = "\
    createrawtransaction, decoderawtransaction, decodescript, estimatefee, estimatesmartfee, \
    estimatestakediff, existsaddress, existsaddresses, existsliveticket, existslivetickets, \
    existsmempooltxs, getbestblock, getbestblockhash, getblock, getblockchaininfo, \
    getblockcount, getblockhash, getblockheader, getblocksubsidy, getcfilterv2, getchaintips, \
    getcoinsupply, getcurrentnet, getdifficulty, getheaders, getmempoolinfo, getmininginfo, \
    getnetworkhashps, getrawmempool, getrawtransaction, getstakedifficulty, \
    getstakeversioninfo, getstakeversions, getticketpoolvalue, gettreasurybalance, \
    gettreasuryspendvotes, gettxout, getvoteinfo, livetickets, sendrawtransaction, \
    ticketfeeinfo, ticketsforaddress, ticketvwap, txfeeinfo, validateaddress, verifymessage, \
    version";

fn names(slug: &str) -> Vec<&'static str> {
    chain::find(slug).expect("a known chain").methods().iter().map(|m| m.name).collect()
}

fn method(slug: &str, name: &str) -> &'static Method {
    chain::find(slug).expect("a known chain").methods().find(name).expect("a known method")
}

#[test]
fn the_sets_that_the_specification_lists() {
    for (slug, list, count) in [("bch", BCH, 37), ("btc", BTC, 45), ("dcr", DCR, 47)] {
        let listed: Vec<&str> = list.split(", ").collect();
        assert_eq!(listed.len(), count, "{slug}");
        assert_eq!(names(slug), listed, "{slug}");
    }
}

#[test]
fn the_sets_that_are_counted() {
    let counts = [("doge", 28), ("ltc", 42), ("xec", 43), ("zec", 26), ("eth", 34)];
    for (slug, count) in counts {
        assert_eq!(chain::find(slug).expect("a known chain").methods().len(), count, "{slug}");
    }
}

#[test]
fn monero_has_calls_aliases_and_paths() {
    let methods = chain::find("xmr").expect("a known chain").methods();
    let aliases = methods.iter().filter(|m| m.alias_of.is_some()).count();
    let paths = methods.iter().filter(|m| m.path).count();
    assert_eq!((methods.len() - aliases - paths, aliases, paths), (14, 7, 7));
}

#[test]
fn every_set_is_sorted_and_unique_and_found_by_name() {
    for chain in chain::ALL {
        let methods = chain.methods();
        assert!(methods.iter().is_sorted_by(|a, b| a.name < b.name), "{chain:?}");
        for (place, method) in methods.iter().enumerate() {
            assert_eq!(method.index, place, "{chain:?} {}", method.name);
            assert_eq!(methods.find(method.name), Some(method));
            assert_eq!(methods.find(&method.name.to_uppercase()), None);
        }
        assert_eq!(methods.find(""), None);
    }
}

#[test]
fn only_what_hands_in_a_transaction_is_never_resent() {
    let sends: Vec<(&str, &str)> = chain::ALL
        .iter()
        .flat_map(|c| c.methods().iter().filter(|m| m.send).map(|m| (c.slug, m.name)))
        .collect();
    let expected = [
        ("btc", "sendrawtransaction"),
        ("btc", "submitpackage"),
        ("ltc", "sendrawtransaction"),
        ("doge", "sendrawtransaction"),
        ("bch", "sendrawtransaction"),
        ("xec", "sendrawtransaction"),
        ("xec", "submitpackage"),
        ("zec", "sendrawtransaction"),
        ("dcr", "sendrawtransaction"),
        ("eth", "eth_sendRawTransaction"),
        ("xmr", "send_raw_transaction"),
    ];
    assert_eq!(sends, expected);
}

#[test]
fn a_block_is_heavy_from_verbosity_2_on() {
    for chain in chain::ALL {
        let heavy = chain.methods().find("getblock").map(|m| m.heavy);
        match chain.slug {
            "eth" => assert_eq!(heavy, None),
            "xmr" => assert_eq!(heavy, Some(Heavy::Never)),
            _ => assert_eq!(heavy, Some(Heavy::FromVerbosity2), "{chain:?}"),
        }
    }
    assert_eq!(method("btc", "getchaintips").heavy, Heavy::Always);
    assert_eq!(method("btc", "getblockcount").heavy, Heavy::Never);
}

#[test]
fn ranges_are_guarded_under_every_name() {
    assert_eq!(method("eth", "eth_getLogs").guard, Some(Guard::LogRange));
    for name in ["get_block_headers_range", "getblockheadersrange"] {
        assert_eq!(method("xmr", name).guard, Some(Guard::HeaderRange));
        assert_eq!(method("xmr", name).heavy, Heavy::Always);
    }
    let guards = chain::ALL.iter().flat_map(|c| c.methods().iter()).filter(|m| m.guard.is_some());
    assert_eq!(guards.count(), 3);
}

/// What no chain may offer: wallets, peers, node control, scans of the set of unspent outputs.
#[test]
fn nothing_dangerous_is_offered() {
    let never = [
        "stop",
        "dumpprivkey",
        "sendtoaddress",
        "gettxoutsetinfo",
        "scantxoutset",
        "addnode",
        "getpeerinfo",
        "invalidateblock",
        "generatetoaddress",
        "submitblock",
        "setban",
        "signrawtransactionwithkey",
        "eth_sendTransaction",
        "eth_accounts",
        "eth_newFilter",
        "eth_subscribe",
        "debug_traceTransaction",
        "txpool_content",
        "generateblocks",
        "set_bans",
        "flush_txpool",
        "relay_tx",
        "rpc.discover",
    ];
    for chain in chain::ALL {
        for name in never {
            assert_eq!(chain.methods().find(name), None, "{chain:?} {name}");
        }
    }
}

#[test]
fn what_may_be_remembered_is_marked() {
    for chain in chain::ALL {
        for method in chain.methods().iter() {
            let marked = method.cache != Cacheable::Never;
            assert!(!(marked && method.send), "{chain:?} {}", method.name);
            if method.name.contains("mempool") || method.name.contains("pool_") {
                assert!(!marked, "{chain:?} {}", method.name);
            }
            if let Some(name) = method.alias_of {
                let of = chain.methods().find(name).map(|of| of.cache);
                assert_eq!(of, Some(method.cache), "{chain:?} {}", method.name);
            }
        }
        assert!(chain.final_depth >= 60, "{chain:?}");
        let tip = ["getblockcount", "eth_blockNumber", "get_block_count"];
        let marks = tip.iter().filter_map(|name| chain.methods().find(name));
        assert!(marks.into_iter().all(|method| method.cache == Cacheable::Tip), "{chain:?}");
    }
    assert_eq!(method("btc", "getblock").cache, Cacheable::Raw);
    assert_eq!(method("btc", "gettxoutproof").cache, Cacheable::Hash(2));
    assert_eq!(method("btc", "getblockchaininfo").cache, Cacheable::Never);
    assert_eq!(method("eth", "eth_call").cache, Cacheable::Tag(2));
    assert_eq!(method("eth", "eth_getTransactionByHash").cache, Cacheable::Never);
    assert_eq!(method("xmr", "get_info").cache, Cacheable::Never);
}
