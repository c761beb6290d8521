//! How large answers to calls of our own may be, by what is asked.
//!
//! A node that answers without end is cut at the bound of its kind; customers' answers are never held
//! and have `response_limit` alone. No bound is above that limit. Invariant: whatever answers come at
//! once, what of them is being read holds at most [`SMALL`] a call under way, and [`LARGE_AT_ONCE`]
//! for all that are larger, in the whole process. (The vector that an answer of unknown length is
//! read into may be half empty, and is moved as it grows.)
//!
//! What an answer can be at most, hence the bounds:
//!
//! | asked | at most | bound |
//! |---|---|---|
//! | a head, a status, a fee, an error | 100 kB | 4 MiB |
//! | ids of what waits | 67 B each: 900,000 | 64 MiB |
//! | a block's bytes (REST) | the chain's largest block | that block + 4 MiB |
//! | a block's hex | twice that | twice that + 4 MiB |
//! | what a block spends (btc) | 40 B an input, 24,000 inputs; scripts may be longer | four blocks + 4 MiB |
//! | 100 waiting transactions, hex | 800 kB each (400,000 weight) | 96 MiB |
//! | 100 transactions of xmr, hex | 300 kB each | 96 MiB |
//! | monerod's `get_blocks.bin` | 100 MiB, one block more, and indices | 128 MiB |
//! | eth: a block with transactions | 10 MiB of RLP, in JSON | 32 MiB |
//! | eth: a batch of heads, codes, calls | a few kB each | 64 MiB |
//! | eth: receipts of a block | 160,000 logs of 600 B at 60 million gas | 128 MiB |
//! | eth: traces of a block | beyond, each transaction is asked for alone | 128 MiB |
//! | one trace, flat traces, monerod's whole pool | no bound of its own | `response_limit` |

use chain::{Chain, Dialect, Family};
use tokio::sync::{Semaphore, SemaphorePermit};

const MIB: u64 = 1 << 20;

/// Bound of an answer that is small by its nature, and what each answer may hold without asking for
/// room. Bytes.
pub(crate) const SMALL: u64 = 4 * MIB;
const LISTS: u64 = 64 * MIB;
const TRANSACTIONS: u64 = 96 * MIB;
const SPANS: u64 = 128 * MIB;
const ETH_BLOCK: u64 = 32 * MIB;
const ETH_DETAILS: u64 = 128 * MIB;
/// Largest answer over a websocket (dcrd): that of a batch of transactions. Bytes.
pub(crate) const LINE: u64 = TRANSACTIONS;

/// What larger answers may hold together while they are read. Bytes.
const LARGE_AT_ONCE: u64 = 384 * MIB;

/// In MiB.
static ROOM: Semaphore = Semaphore::const_new((LARGE_AT_ONCE / MIB) as usize);

/// Waits for room for an answer that turned out to be larger than [`SMALL`] and is `bound` bytes at
/// most. The semaphore is never closed, so there always is room some time.
pub(crate) async fn room(bound: u64) -> Option<SemaphorePermit<'static>> {
    let wanted = bound.min(LARGE_AT_ONCE).div_ceil(MIB);
    ROOM.acquire_many(u32::try_from(wanted).unwrap_or(u32::MAX)).await.ok()
}

/// Bound of the answer to a call. Bytes.
pub(crate) fn of_call(chain: &Chain, method: &str, params: &str) -> u64 {
    match method {
        "getrawmempool" => LISTS,
        "getblock" => SMALL + 2 * block(chain),
        "getrawtransaction" => (SMALL + 2 * block(chain)).min(TRANSACTIONS),
        "get_block" | "get_block_headers_range" => 16 * MIB,
        "eth_getBlockByNumber" | "eth_getBlockByHash" if params.ends_with("true]") => ETH_BLOCK,
        "eth_getBlockReceipts" | "debug_traceBlockByHash" => ETH_DETAILS,
        "trace_block" | "debug_traceTransaction" | "txpool_content" => u64::MAX,
        "eth_getTransactionReceipt" => ETH_DETAILS,
        _ => SMALL,
    }
}

/// Bound of the answer to a batch of calls. Bytes.
pub(crate) fn of_batch<M: AsRef<str>, P: AsRef<str>>(chain: &Chain, calls: &[(M, P)]) -> u64 {
    let each =
        calls.iter().map(|(method, params)| of_call(chain, method.as_ref(), params.as_ref()));
    let (sum, largest) = each
        .fold((0_u64, SMALL), |(sum, largest), one| (sum.saturating_add(one), largest.max(one)));
    let most = match chain.family {
        Family::Utxo(_) | Family::Ring => TRANSACTIONS,
        Family::Account => LISTS,
    };
    sum.min(most.max(largest))
}

/// Bound of the answer at a plain path. Bytes.
pub(crate) fn of_path(chain: &Chain, path: &str) -> u64 {
    match path.split(['?', '.']).next().unwrap_or_default() {
        "/get_blocks" => SPANS,
        "/get_transactions" => TRANSACTIONS,
        "/get_transaction_pool_hashes" => LISTS,
        // All of what waits, as JSON and in hex.
        "/get_transaction_pool" => u64::MAX,
        path if path.starts_with("/rest/block/") => SMALL + block(chain),
        _ => SMALL,
    }
}

/// The largest block of a chain, in bytes, and no less.
fn block(chain: &Chain) -> u64 {
    match (chain.slug, chain.dialect) {
        // 4,000,000 of weight.
        ("btc", _) => 4 * MIB,
        // The same, and the extension block.
        ("ltc", _) => 16 * MIB,
        // 1 MB, and the parent chain's proof of work.
        ("doge", _) => 4 * MIB,
        // 32 MB at least; it adapts to what is used (CHIP-2023-04, at most twice in a year).
        ("bch", _) => 64 * MIB,
        // 32 MB.
        ("xec", _) => 32 * MIB,
        // 2 MB.
        (_, Dialect::Zebrad) => 4 * MIB,
        // 393,216 bytes.
        (_, Dialect::Dcrd) => MIB,
        _ => 32 * MIB,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(slug: &str) -> &'static Chain {
        chain::find(slug).unwrap()
    }

    #[test]
    fn largest_answers_of_real_nodes_pass() {
        let hex = |bytes: u64| 2 * bytes;
        for (slug, largest) in [
            ("btc", 4_000_000),
            ("ltc", 8_000_000),
            ("doge", 1_100_000),
            ("bch", 32_000_000),
            ("xec", 32_000_000),
            ("zec", 2_000_000),
            ("dcr", 393_216),
        ] {
            assert!(of_path(chain(slug), "/rest/block/00.bin") > largest, "{slug}");
            assert!(of_call(chain(slug), "getblock", r#"["00",0]"#) > hex(largest), "{slug}");
        }
        // 500,000 wait, and a batch of a hundred is of the largest that are relayed.
        assert!(of_call(chain("btc"), "getrawmempool", "[]") > 500_000 * 67);
        let batch = vec![("getrawtransaction", r#"["00",0]"#); 100];
        assert!(of_batch(chain("btc"), &batch) > 100 * hex(400_000));
        assert!(of_path(chain("xmr"), "/get_transactions") > 100 * hex(150_000));
        assert!(of_path(chain("xmr"), "/get_blocks.bin") > (100 << 20) + 20_000 * 16 * 8);
    }

    #[test]
    fn heads_and_statuses_are_small() {
        for (slug, method, params) in [
            ("btc", "getblockchaininfo", "[]"),
            ("btc", "getbestblockhash", "[]"),
            ("xmr", "get_info", "{}"),
            ("eth", "eth_getBlockByNumber", r#"["latest",false]"#),
            ("eth", "eth_chainId", "[]"),
        ] {
            assert_eq!(of_call(chain(slug), method, params), SMALL, "{method}");
        }
        assert!(of_call(chain("eth"), "eth_getBlockByNumber", r#"["0x1",true]"#) > SMALL);
        assert_eq!(of_path(chain("xmr"), "/get_outs"), SMALL);
        let few = [("getblockhash", "[0]"), ("getblockhash", "[1]")];
        assert_eq!(of_batch(chain("btc"), &few), 2 * SMALL);
        let many = vec![("eth_call", "[]"); 1000];
        assert_eq!(of_batch(chain("eth"), &many), LISTS);
        assert_eq!(of_batch(chain("eth"), &[("eth_getTransactionReceipt", "[]")]), ETH_DETAILS);
    }
}
