//! `portolan index info`: what a folder holds, how large it is, what another one would cost.

use std::path::Path;
use std::process::ExitCode;

use index::{AtRest, Identity, Memory};
use serde::Serialize;

use super::served;
use crate::cli::output::{Output, number, table};
use crate::config::Config;
use crate::failure::Failure;
use crate::serve::index_dir;

/// A first load does so many transactions a second on two cores, with room to spare.
const LOAD_TX_PER_SEC: u64 = 100_000;

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

/// Carries `info` out.
pub(super) fn info(config: &Config, slug: &str, output: Output) -> Result<ExitCode, Failure> {
    let served = served(config, slug)?;
    let dir = index_dir(&config.store.dir, slug);
    let failed = |error: index::IndexError| Failure::new(error.to_string());
    let (chain, network) = (served.chain, served.network);
    let (holds, wanted) = AtRest::identities(&dir, chain, network).map_err(failed)?;
    let usable = holds.as_ref() == Some(&wanted);
    let memory = Memory::new(64 << 20, 8 << 20);
    let index = match usable {
        true => Some(AtRest::read(&dir, chain, network, &memory).map_err(failed)?),
        false => None,
    };
    let (tip, transactions, sizes) = match index {
        Some(AtRest { tip, transactions, sizes }) => (tip, transactions, sizes),
        None => (None, 0, Vec::new()),
    };
    let tables: Vec<TableSize> =
        sizes.into_iter().map(|(table, bytes, rows)| TableSize { table, bytes, rows }).collect();
    let bytes = folder_bytes(&dir);
    let mut loading = dir.clone().into_os_string();
    loading.push(".load");
    let info = Info {
        chain: served.chain.slug,
        network: served.network.name,
        folder: dir.display().to_string(),
        holds,
        usable,
        height: tip.as_ref().map(|(height, _)| *height),
        best_hash: tip.map(|(_, hash)| hash),
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

fn info_text(info: &Info) -> String {
    let holds = match &info.holds {
        None => "nothing yet".to_owned(),
        Some(holds) => format!("{} {} in format {}", holds.chain, holds.network, holds.format),
    };
    let mut text = format!("{} {}: {} holds {holds}\n", info.chain, info.network, info.folder);
    if info.holds.is_some() && !info.usable {
        let ours = info
            .holds
            .as_ref()
            .is_some_and(|holds| holds.chain == info.chain && holds.network == info.network);
        text += match ours {
            true => "This version cannot use it: `portolan index rebuild` makes a new one.\n",
            false => {
                "That is another chain or network than the configuration says: mend `network` in \
                 it, or give another folder.\n"
            }
        };
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
