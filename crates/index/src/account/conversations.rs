//! The public conversations of the execution API are read by what reads nodes' answers.

use std::io::Read;

use chain::account::{Hash, RewardForks, U256};
use flate2::read::GzDecoder;
use serde_json::Value;
use serde_json::value::RawValue;

use super::assembly::assemble;
use super::facts::Status;
use super::quantity::Hex;
use super::shapes::{BlockShape, HeaderShape, ReceiptShape, TransactionShape};
use super::trace::{read_tree, read_trees};
use super::upstream::read;

/// A question with what was answered to it.
struct Conversation {
    file: String,
    method: String,
    params: Value,
    /// None of an error.
    result: Option<Box<RawValue>>,
}

fn conversations() -> Vec<Conversation> {
    #[derive(serde::Deserialize)]
    struct Answer {
        result: Option<Box<RawValue>>,
    }
    let packed = include_bytes!("../../../replay/recordings/eth/execution-apis.jsonl.gz");
    let mut text = String::new();
    GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
    let read = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let request: Value = serde_json::from_str(line["request"].as_str().unwrap()).unwrap();
        let answer: Answer = serde_json::from_str(line["answer"].as_str().unwrap()).unwrap();
        Conversation {
            file: line["file"].as_str().unwrap().to_owned(),
            method: request["method"].as_str().unwrap().to_owned(),
            params: request["params"].clone(),
            result: answer.result,
        }
    };
    text.lines().map(read).collect()
}

fn parse<T: serde::de::DeserializeOwned>(file: &str, text: &RawValue) -> T {
    read("a conversation", text).unwrap_or_else(|_| panic!("{file}: {text}"))
}

/// It is read as that.
fn reads<T: serde::de::DeserializeOwned>(file: &str, text: &RawValue) {
    let _ = parse::<T>(file, text);
}

/// The one of that name.
fn one(file: &str) -> Box<RawValue> {
    let mut all = conversations().into_iter().filter(|it| it.file == file);
    all.next().unwrap().result.unwrap()
}

#[test]
fn every_answer_that_the_index_asks_for_is_read() {
    let mut seen = std::collections::BTreeMap::<String, usize>::new();
    for Conversation { file, method, params, result } in conversations() {
        let Some(text) = result else { continue };
        match method.as_str() {
            "eth_getBlockByNumber" | "eth_getBlockByHash" if params[1] == true => {
                reads::<Option<BlockShape>>(&file, &text);
            }
            "eth_getBlockByNumber" | "eth_getBlockByHash" => {
                reads::<Option<HeaderShape>>(&file, &text);
            }
            "eth_getBlockReceipts" => reads::<Option<Vec<ReceiptShape>>>(&file, &text),
            "eth_getTransactionReceipt" => reads::<Option<ReceiptShape>>(&file, &text),
            "eth_getTransactionByHash" => reads::<Option<TransactionShape>>(&file, &text),
            "eth_getBalance" => reads::<Hex<U256>>(&file, &text),
            "eth_getTransactionCount" | "eth_chainId" | "eth_blockNumber" => {
                reads::<Hex<u64>>(&file, &text);
            }
            "eth_getCode" | "eth_call" => reads::<Hex<Vec<u8>>>(&file, &text),
            "eth_feeHistory" => reads::<super::fees::History>(&file, &text),
            "txpool_content" => {
                let content: super::txpool::Content = parse(&file, &text);
                assert!(!super::txpool::pool(content).pending.is_empty(), "{file}");
            }
            "txpool_status" => reads::<super::txpool::Counts>(&file, &text),
            _ => continue,
        }
        *seen.entry(method).or_default() += 1;
    }
    assert!(seen.len() >= 14, "{seen:?}");
}

/// They were recorded without a tracer being named: what such a node gives is told apart.
#[test]
fn traces_of_a_nodes_own_tracer_are_foreign() {
    let mut seen = 0;
    for Conversation { file, method, result, .. } in conversations() {
        let Some(text) = result else { continue };
        match method.as_str() {
            "debug_traceBlockByHash" | "debug_traceBlockByNumber" => {
                let traces = read_trees(text.get()).unwrap();
                assert!(traces.iter().all(|one| one.is_foreign && one.hash.is_some()), "{file}");
                seen += traces.len();
            }
            "debug_traceTransaction" => assert_eq!(read_tree(text.get()), Ok(None), "{file}"),
            _ => {}
        }
    }
    assert!(seen > 0);
}

#[test]
fn a_block_and_its_receipts_are_put_together() {
    let body: BlockShape = parse("block", &one("eth_getBlockByHash/get-block-by-hash"));
    let receipts: Vec<ReceiptShape> =
        parse("receipts", &one("eth_getBlockReceipts/get-block-receipts-by-hash"));
    let hashes: Vec<Hash> = receipts.iter().map(|receipt| receipt.transaction_hash.0).collect();
    assert!(!hashes.is_empty());
    // Its chain has Byzantium later, and these receipts no status.
    let forks = RewardForks { byzantium: 9, constantinople: 12, merge: None };
    let block = assemble(body, receipts, &[], forks).unwrap();
    let own: Vec<Hash> = block.transactions.iter().map(|(tx, _)| tx.hash).collect();
    assert_eq!(own, hashes);
    let statuses = block.transactions.iter().map(|(tx, _)| tx.status);
    assert!(statuses.into_iter().all(|status| status != Status::Failed));
    let missing: Vec<ReceiptShape> =
        parse("receipts", &one("eth_getBlockReceipts/get-block-receipts-by-hash"));
    let body: BlockShape = parse("block", &one("eth_getBlockByHash/get-block-by-hash"));
    // From Byzantium on such a receipt lacks something.
    assert!(assemble(body, missing, &[], RewardForks::default()).is_err());
}
