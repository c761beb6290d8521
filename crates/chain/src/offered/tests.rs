use super::*;
use crate::find;

fn btc() -> &'static MethodSet {
    find("btc").unwrap().methods()
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn untouched_it_is_the_chains_own_set() {
    let offered = btc().offered(None, &[]).unwrap();
    assert!(offered.iter().eq(btc().iter()));
    assert_eq!(offered.len(), 45);
    assert!(!offered.is_empty());
}

#[test]
fn narrowing_keeps_marks_and_counts_anew() {
    let only = owned(&["getblock", "getblockcount", "getblock"]);
    let offered = btc().offered(Some(&only), &[]).unwrap();
    assert_eq!(offered.len(), 2);
    let block = offered.find("getblock").unwrap();
    assert_eq!((block.index, block.heavy), (0, Heavy::FromVerbosity2));
    assert_eq!(offered.find("getblockhash"), None);
}

#[test]
fn a_name_that_is_not_in_the_set_is_an_error_with_the_nearest() {
    let error = btc().offered(Some(&owned(&["getblokcount"])), &[]).unwrap_err();
    assert_eq!(error.nearest, Some("getblockcount"));
    assert_eq!(
        error.to_string(),
        r#"unknown method "getblokcount", did you mean "getblockcount"?"#
    );
    let error = btc().offered(Some(&owned(&["eth_call"])), &[]).unwrap_err();
    assert_eq!(error.to_string(), r#"unknown method "eth_call""#);
}

#[test]
fn an_extra_method_is_heavy_and_never_resent_unless_the_set_knows_it() {
    let only = owned(&["getblockcount"]);
    let extra = owned(&["gettxoutsetinfo", "getblockhash", "getblockcount"]);
    let offered = btc().offered(Some(&only), &extra).unwrap();
    let names: Vec<&str> = offered.iter().map(|row| row.name).collect();
    assert_eq!(names, ["getblockcount", "getblockhash", "gettxoutsetinfo"]);
    let foreign = offered.find("gettxoutsetinfo").unwrap();
    assert_eq!((foreign.send, foreign.heavy, foreign.index), (true, Heavy::Always, 2));
    assert!(!offered.find("getblockhash").unwrap().send);
}
