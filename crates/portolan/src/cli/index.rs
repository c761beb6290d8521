//! `portolan index`: what a chain's index holds, whether it is right, and how to make it anew.
//!
//! Leaves rows to `index`. `info` and `verify` read beside a running server; `backup` asks the
//! server where one runs; `rebuild` makes a new index beside the old one and puts it in its place
//! once it is in sync. Invariant: no command takes an index away before another one stands ready.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use chain::Chain;
use index::utxo::{Agreement, Identity, Index, Progress, Store, Verdict};
use index::{IndexError, Memory};
use node::{Pool, Tried, Weight};
use serde::Serialize;

use super::IndexCommand;
use super::output::{Output, number, table};
use crate::config::{Config, Served};
use crate::failure::Failure;
use crate::log;
use crate::serve::{control, index_dir, rebuilt, shut_down};

/// A first load does so many transactions a second on two cores, with room to spare.
const LOAD_TX_PER_SEC: u64 = 100_000;

/// Carries the command out.
pub(crate) fn run(
    config: &Config,
    command: &IndexCommand,
    output: Output,
) -> Result<ExitCode, Failure> {
    match command {
        IndexCommand::Info { chain } => info(config, chain, output),
        IndexCommand::Verify { chain } => verify(config, chain, output),
        IndexCommand::Rebuild { chain } => rebuild(config, chain, output),
        IndexCommand::Backup { chain, to } => backup(config, chain, to, output),
    }
}

/// A configured chain that this version keeps an index of.
fn served(config: &Config, slug: &str) -> Result<Served, Failure> {
    let served = config.served().into_iter().find(|served| served.chain.slug == slug);
    let served = served.ok_or_else(|| {
        Failure::new(format!("chain.{slug} is not configured: give [chain.{slug}]"))
    })?;
    if served.chain.format.is_none() {
        return Err(Failure::new(format!("this version keeps no index of {slug}")));
    }
    Ok(served)
}

fn read_only(config: &Config, served: &Served) -> Result<Store, Failure> {
    let dir = index_dir(&config.store.dir, served.chain.slug);
    let memory = Memory::new(64 << 20, 8 << 20);
    Store::open_read_only(&dir, served.chain, served.network, &memory)
        .map_err(|error| Failure::new(error.to_string()))
}

/// What an index holds.
#[derive(Serialize)]
struct Info {
    chain: &'static str,
    network: &'static str,
    folder: String,
    holds: Option<Identity>,
    /// Whether it is an index that this version and configuration can use.
    usable: bool,
    height: Option<u32>,
    best_hash: Option<String>,
    transactions: u64,
    bytes: u64,
    tables: Vec<TableSize>,
    loading: bool,
    rebuild: Cost,
}

#[derive(Serialize)]
struct TableSize {
    table: &'static str,
    bytes: u64,
    rows: u64,
}

/// What making the index anew costs, by what this one holds.
#[derive(Serialize)]
struct Cost {
    seconds: u64,
    bytes: u64,
}

fn info(config: &Config, slug: &str, output: Output) -> Result<ExitCode, Failure> {
    let served = served(config, slug)?;
    let dir = index_dir(&config.store.dir, slug);
    let holds = Store::identity(&dir).map_err(|error| Failure::new(error.to_string()))?;
    let wanted = Identity::new(served.chain, served.network);
    let usable = holds.as_ref() == Some(&wanted);
    let store = if usable { Some(read_only(config, &served)?) } else { None };
    let tip = store.as_ref().and_then(Store::tip);
    let sizes = store.as_ref().map(Store::sizes).unwrap_or_default();
    let tables: Vec<TableSize> =
        sizes.into_iter().map(|(table, bytes, rows)| TableSize { table, bytes, rows }).collect();
    let bytes = folder_bytes(&dir);
    let transactions = tip.map_or(0, |tip| tip.next_txnum);
    let mut loading = dir.clone().into_os_string();
    loading.push(".load");
    let info = Info {
        chain: slug_of(served.chain),
        network: served.network.name,
        folder: dir.display().to_string(),
        holds,
        usable,
        height: tip.map(|tip| tip.height),
        best_hash: tip.map(|tip| tip.hash.to_string()),
        transactions,
        bytes,
        tables,
        loading: Path::new(&loading).exists(),
        // Runs and finished files lie on the disk together until the store takes the files.
        rebuild: Cost { seconds: transactions / LOAD_TX_PER_SEC + 1, bytes: bytes * 2 },
    };
    output.print(&info, info_text)?;
    Ok(ExitCode::SUCCESS)
}

/// Bytes of the files in a folder, what is not yet in tables' files included.
fn folder_bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|file| file.len()).sum()
}

fn slug_of(chain: &'static Chain) -> &'static str {
    chain.slug
}

fn info_text(info: &Info) -> String {
    let holds = match &info.holds {
        None => "nothing yet".to_owned(),
        Some(holds) => format!("{} {} in format {}", holds.chain, holds.network, holds.format),
    };
    let mut text = format!("{} {}: {} holds {holds}\n", info.chain, info.network, info.folder);
    if info.holds.is_some() && !info.usable {
        text += "This version cannot use it: `portolan index rebuild` makes a new one.\n";
    }
    if info.loading {
        text += "A first load is under way, or was cut off and will be gone on with.\n";
    }
    if let (Some(height), Some(hash)) = (info.height, &info.best_hash) {
        text += &format!("Tip {} {hash}\n", number(Some(height.into())));
        text += &format!("Transactions {}\n", number(Some(info.transactions)));
        text += &format!("Bytes on disk {}\n\n", number(Some(info.bytes)));
        let row = |size: &TableSize| {
            vec![size.table.to_owned(), number(Some(size.bytes)), number(Some(size.rows))]
        };
        let rows: Vec<_> = info.tables.iter().map(row).collect();
        text += &table(&["table", "bytes", "rows (about)"], &rows);
        text += &format!(
            "\nA rebuild reads every block of the node again: about {} s of computing on two cores \
             besides, and up to {} bytes of disk while it runs.\n",
            number(Some(info.rebuild.seconds)),
            number(Some(info.rebuild.bytes))
        );
    }
    text
}

/// What an audit found.
#[derive(Serialize)]
struct Audit {
    chain: &'static str,
    ok: bool,
    height: Option<u32>,
    best_hash: Option<String>,
    blocks: u64,
    transactions: u64,
    scripts: u64,
    unspent_outputs: u64,
    unspent_total: String,
    fault_count: u64,
    faults: Vec<String>,
    /// What the node's own count says: `same`, `differs: …`, or why it was not compared.
    node: String,
}

fn verify(config: &Config, slug: &str, output: Output) -> Result<ExitCode, Failure> {
    let served = served(config, slug)?;
    let store = read_only(config, &served)?;
    let mut told = "";
    let verdict = store
        .verify(|progress: Progress| {
            if progress.step != told {
                told = progress.step;
                eprintln!("portolan: walking the {told}");
            }
        })
        .map_err(|error| Failure::new(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (node, agrees) = runtime.block_on(ask_node(&served, &verdict));
    runtime.shutdown_background();
    let audit = Audit {
        chain: slug_of(served.chain),
        ok: verdict.fault_count == 0 && agrees,
        height: verdict.tip.map(|tip| tip.height),
        best_hash: verdict.tip.map(|tip| tip.hash.to_string()),
        blocks: verdict.blocks,
        transactions: verdict.transactions,
        scripts: verdict.scripts,
        unspent_outputs: verdict.unspent_outputs,
        unspent_total: verdict.unspent_total.to_string(),
        fault_count: verdict.fault_count,
        faults: verdict.faults,
        node,
    };
    output.print(&audit, audit_text)?;
    Ok(if audit.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The node's own count, and whether it leaves nothing to complain of.
async fn ask_node(served: &Served, verdict: &Verdict) -> (String, bool) {
    let Ok(pool) = Pool::new(served.chain, served.network, served.pool.clone()) else {
        return ("not asked: its settings cannot be used".into(), true);
    };
    pool.start();
    pool.probed().await;
    let answer = match pool.pick(&Tried::new()) {
        Ok(node) => node.call("gettxoutsetinfo", "[]", Weight::Internal).await,
        Err(_) => return ("not asked: no node can be asked".into(), true),
    };
    pool.stop();
    match answer {
        Err(error) => (format!("not compared: {error}"), true),
        Ok(text) => match verdict.against(text.get(), served.chain.decimals) {
            Agreement::Same => ("same".into(), true),
            Agreement::Differs { outputs, total } => {
                (format!("differs: {outputs} outputs of {total} in all"), false)
            }
            Agreement::OtherBlock { theirs } => {
                (format!("not compared: the node counted at block {theirs}"), true)
            }
            Agreement::Unreadable => ("not compared: the node's count cannot be read".into(), true),
        },
    }
}

fn audit_text(audit: &Audit) -> String {
    let mut text = format!(
        "{}: {} blocks, {} transactions, {} scripts, {} unspent outputs of {} in all\nNode: {}\n",
        audit.chain,
        number(Some(audit.blocks)),
        number(Some(audit.transactions)),
        number(Some(audit.scripts)),
        number(Some(audit.unspent_outputs)),
        audit.unspent_total,
        audit.node,
    );
    for fault in &audit.faults {
        text += &format!("  {fault}\n");
    }
    text + &match audit.fault_count {
        0 => "No faults.".to_owned(),
        count => {
            format!("{} faults: `portolan index rebuild {}`", number(Some(count)), audit.chain)
        }
    }
}

#[derive(Serialize)]
struct Done {
    chain: &'static str,
    folder: String,
    /// Whether it stands in the place of the old one already.
    in_place: bool,
}

fn rebuild(config: &Config, slug: &str, output: Output) -> Result<ExitCode, Failure> {
    log::start(&config.log);
    let served = served(config, slug)?;
    let dir = rebuilt::folder(&config.store.dir, slug);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let made = runtime.block_on(make(config, &served, &dir));
    shut_down(runtime);
    made?;
    rebuilt::mark_ready(&config.store.dir, slug)?;
    let in_place = match rebuilt::put_in_place(
        &config.store.dir,
        slug,
        &Identity::new(served.chain, served.network),
    ) {
        Ok(()) => true,
        Err(IndexError::InUse { .. }) => false,
        Err(error) => return Err(Failure::new(error.to_string())),
    };
    let folder = if in_place { index_dir(&config.store.dir, slug) } else { dir };
    let chain = slug_of(served.chain);
    output.print(
        &Done { chain, folder: folder.display().to_string(), in_place },
        |done| match done.in_place {
            true => format!("The new index stands in {}.", done.folder),
            false => format!(
                "The new index stands ready in {}. The server takes it at its next start.",
                done.folder
            ),
        },
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Makes an index in a folder of its own, up to the node's best block.
async fn make(config: &Config, served: &Served, dir: &Path) -> Result<(), Failure> {
    let open = Store::open(dir, served.chain, served.network, &config.explorer.memory(), None);
    let store = open.map_err(|error| Failure::new(error.to_string()))?;
    let pool = Pool::new(served.chain, served.network, served.pool.clone())?;
    pool.start();
    let index: Arc<Index> = Index::start(store, Arc::clone(&pool), config.explorer.sync());
    let end = tokio::signal::ctrl_c();
    let synced = async {
        loop {
            let standing = index.standing();
            if standing.in_sync {
                return Ok(());
            }
            if let Some(stopped) = standing.stopped {
                return Err(Failure::new(stopped));
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    let done = tokio::select! {
        done = synced => done,
        _ = end => Err(Failure::new("interrupted; the same command goes on from here")),
    };
    index.stop().await;
    pool.stop();
    done
}

fn backup(config: &Config, slug: &str, to: &Path, output: Output) -> Result<ExitCode, Failure> {
    let served = served(config, slug)?;
    let to = std::path::absolute(to)?;
    let store = std::path::absolute(&config.store.dir)?;
    if to.starts_with(&store) {
        let text = "a copy inside the store's folder would go with what it is a copy of";
        return Err(Failure::new(format!("{}: {text}; give another folder", to.display())));
    }
    let dir = index_dir(&config.store.dir, slug);
    let memory = Memory::new(8 << 20, 8 << 20);
    match Store::open(&dir, served.chain, served.network, &memory, None) {
        Ok(store) => store.backup(&to).map_err(|error| Failure::new(error.to_string()))?,
        Err(IndexError::InUse { .. }) => control::ask_backup(&config.store.dir, slug, &to)?,
        Err(error) => return Err(Failure::new(error.to_string())),
    }
    let folder: PathBuf = to;
    let chain = slug_of(served.chain);
    let done = Done { chain, folder: folder.display().to_string(), in_place: false };
    output.print(&done, |done| format!("A copy of the index stands in {}.", done.folder))?;
    Ok(ExitCode::SUCCESS)
}
