//! The index of a chain of accounts: how fast it is filled from a node, how soon it answers, how large
//! it is.
//!
//! A node in this process serves a chain that it makes as it is asked; the environment says how much:
//!
//! - `ACCOUNTS_ROWS`: transactions, every one of which pays to one address; 1,000,000.
//! - `ACCOUNTS_PER_BLOCK`: of them in a block; 200.
//! - `ACCOUNTS_ASKED`: questions to each endpoint, one after the other on one connection; 5,000.
//! - `ACCOUNTS_DIR`: where the index is made; a folder for temporary files.
//!
//! A third of the transactions has a log that tells of a token, a fifth a call that moves something.
//! Making and sending the blocks takes processor time of the same machine: first the same answers are
//! asked for by the same client and thrown away, which nothing that asks for them can be faster than.

mod served;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use explorer::{ChainService, Explorer, Settings};
use futures_util::{StreamExt, stream};
use index::account::{Index, Store, SyncOptions, View};
use index::{ChainIndex, Memory};
use listen::{Drain, Limits};
use meter::{Admin, Clock, KeyOptions, Meter, PlanConfig, Plans, Service};
use node::{Node, NodeConfig, Pool, PoolConfig, Tried, Weight};
use tempfile::TempDir;
use testkit::Connection;

use self::served::{Chain, WHALE};

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Waits until a view is as it should be, and gives the time since `began`.
async fn until(index: &Index, began: Instant, holds: impl Fn(&View) -> bool) -> Duration {
    while !index.view().is_some_and(|view| holds(&view)) {
        if let Some(stopped) = index.standing().stopped {
            panic!("{stopped}");
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    began.elapsed()
}

/// Asks for everything that is said of the chain's blocks, a block's answers one after the other and
/// as many blocks at once as an index does, and throws it away.
async fn download(node: &Arc<Node>, blocks: u64, traces: bool) -> Duration {
    let began = Instant::now();
    let ask = |height: u64| async move {
        let hash = Chain::block_hash(height);
        let mut calls = vec![
            ("eth_getBlockByNumber", format!(r#"["{height:#x}",true]"#)),
            ("eth_getBlockReceipts", format!(r#"["{hash}"]"#)),
        ];
        if traces {
            let tracer = format!(r#"["{hash}",{{"tracer":"callTracer"}}]"#);
            calls.push(("debug_traceBlockByHash", tracer));
        }
        for (method, params) in calls {
            let answer = node.call(method, &params, Weight::Internal).await;
            assert!(answer.expect("it is answered").get().len() > 2, "{method}");
        }
    };
    let window = SyncOptions::default().window;
    stream::iter((1..=blocks).rev()).map(ask).buffered(window).for_each(async |()| ()).await;
    began.elapsed()
}

/// Bytes and rows of each table, once nothing waits to be written.
fn sizes(index: &Index, copy: &Path, transactions: u64) {
    index.backup(copy).expect("there is room for a copy");
    let files = std::fs::read_dir(copy).into_iter().flatten().flatten();
    let bytes: u64 = files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum();
    println!("{:.0} bytes of index a transaction", bytes as f64 / transactions as f64);
    println!("| table | bytes a row | rows a transaction |\n|---|---|---|");
    let store = index.store().lock().expect("nobody panicked");
    for (table, bytes, rows) in store.sizes().into_iter().filter(|(.., rows)| *rows > 100) {
        let per = |count: u64, of: u64| count as f64 / of as f64;
        println!("| {table} | {:.1} | {:.4} |", per(bytes, rows), per(rows, transactions));
    }
}

/// An explorer that serves an index, where it is reached, and a key to it.
fn serve(dir: &Path, index: &Arc<Index>) -> (SocketAddr, String) {
    let wide = PlanConfig {
        requests_per_second: 100_000,
        daily: None,
        monthly: None,
        batch_size: None,
        concurrency: Some(10_000),
        chains: None,
        price_usd: None,
    };
    let plans = Plans::with([("wide".to_owned(), wide)]).expect("the plan is sound");
    let services = [Service::Gateway, Service::Explorer];
    let meter = Meter::open(dir, &services, plans.clone(), Clock::system());
    let meter = meter.expect("the store opens");
    let admin = Admin::open(dir, plans, Clock::system()).expect("the store opens");
    admin.add_account("bench", Some("wide"), Some("wide")).expect("the account is new");
    let key = admin.add_key("bench", KeyOptions::default()).expect("the account is there");
    let (chain, network) = (index.chain(), index.network());
    let index = Some(ChainIndex::Account(Arc::clone(index)));
    let services = vec![ChainService { chain, network, index }];
    let explorer = Arc::new(Explorer::new(meter, services, Settings::default()));
    let listener = listen::bind("explorer", "127.0.0.1:0".parse().expect("an address"));
    let listener = listener.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(listen::run(listener, None, Limits::default(), explorer, Drain::new()));
    (address, key.key.reveal().to_owned())
}

/// Asks for paths one after the other; a row of the table.
async fn ask(at: &(SocketAddr, String), name: &str, paths: impl Iterator<Item = String>) -> String {
    let mut connection = Connection::open(at.0).await.expect("somebody listens");
    let headers = [("X-API-Key", at.1.as_str())];
    let mut times = Vec::new();
    for path in paths {
        let began = Instant::now();
        let path = format!("/api/v1/eth/{path}");
        connection.request("GET", &path, &headers, b"").await.expect("it is sent");
        let answer = connection.answer().await.expect("it is answered");
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        times.push(began.elapsed());
    }
    times.sort_unstable();
    let at =
        |part: usize| times[(times.len() * part / 100).min(times.len() - 1)].as_secs_f64() * 1e3;
    format!("| {name} | {:.3} | {:.3} | {:.3} |", at(50), at(99), at(100))
}

#[tokio::main]
async fn main() {
    // Test runs of all targets start benches too, without this word.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let (rows, per_block) =
        (setting("ACCOUNTS_ROWS", 1_000_000), setting("ACCOUNTS_PER_BLOCK", 200));
    let asked = setting("ACCOUNTS_ASKED", 5_000);
    let blocks = rows.div_ceil(per_block).max(1);
    let url = served::start(Chain { blocks, per_block }).await;
    let folder = TempDir::new().expect("a folder for temporary files");
    let dir = std::env::var_os("ACCOUNTS_DIR").map_or(folder.path().to_owned(), Into::into);
    let made: usize = (1..=blocks).map(|height| Chain { blocks, per_block }.weight(height)).sum();
    println!("{} MB of answers", made / 1_000_000);

    let chain = chain::find("eth").expect("eth is a chain");
    let network = chain.network("dev").expect("eth has a network of developers");
    let store = Store::open(&dir.join("eth"), chain, network, &Memory::default());
    let config = PoolConfig { nodes: vec![NodeConfig::new(url)], ..PoolConfig::default() };
    let pool = Pool::new(chain, network, config).expect("the settings are sound");
    pool.start();
    pool.probed().await;
    let node = pool.pick(&Tried::new()).expect("the node is ready");
    let (plain, whole) =
        (download(&node, blocks, false).await, download(&node, blocks, true).await);
    let options = SyncOptions { history_from: 0, least_free_bytes: 0, ..SyncOptions::default() };
    let began = Instant::now();
    let index = Index::start(store.expect("the folder is empty"), Arc::clone(&pool), options);
    let served = until(&index, began, |_| true).await;
    let based = until(&index, began, |view| view.base() == 0).await;
    let traced = until(&index, began, |view| {
        view.coverage(index::Tier::Any).is_ok_and(|coverage| coverage.traces)
    })
    .await;
    let transactions = blocks * per_block;
    println!("| | s | tx/s | times a bare download of the same |\n|---|---|---|---|");
    println!("| until the tip is served | {:.2} | | |", served.as_secs_f64());
    let row = |what: &str, took: Duration, bare: Duration| {
        let (took, times) = (took.as_secs_f64(), took.as_secs_f64() / bare.as_secs_f64());
        println!("| {what} | {took:.2} | {:.0} | {times:.2} |", transactions as f64 / took);
    };
    row("bare download of blocks and receipts", plain, plain);
    row("bare download with traces", whole, whole);
    row("base pass, with traces beside it", based, plain);
    row("until all is traced", traced, whole);
    sizes(&index, &dir.join("copy"), transactions);

    let meter = TempDir::new().expect("a folder for temporary files");
    let at = serve(meter.path(), &index);
    println!("| one after the other, ms | p50 | p99 | slowest |\n|---|---|---|---|");
    let first = (0..asked).map(|_| format!("address/{WHALE}/txs"));
    println!("{}", ask(&at, "first page of the address of all", first).await);
    let places = (0..asked).map(|n| n.wrapping_mul(2_654_435_761) % transactions);
    let txs =
        places.clone().map(|n| format!("tx/{}", Chain::tx_hash(1 + n / per_block, n % per_block)));
    println!("{}", ask(&at, "`/tx`", txs).await);
    let lists = places.map(|n| format!("block/{}/txs?limit=50", 1 + n / per_block));
    println!("{}", ask(&at, "`/block/txs`, 50 of them", lists).await);
    index.stop().await;
    pool.stop();
}
