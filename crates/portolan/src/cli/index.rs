//! `portolan index`: what a chain's index holds, whether it is right, and how to make it anew.
//!
//! Leaves rows to `index`. `info` and `verify` read beside a running server; `backup` and `export`
//! ask the server where one runs; `rebuild` makes a new index beside the old one and puts it in its
//! place once it is in sync, `import` once it was received. Invariant: no command takes an index away
//! before another one stands ready.

mod accounts;
mod asked;
mod audit;
mod export;
mod findings;
mod import;
mod info;
mod ring_audit;
mod stream;
mod workplace;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use index::utxo::Store;
use index::{AtRest, ChainIndex, IndexError, Memory};
use node::Pool;
use serde::Serialize;

use super::methods::known;
use super::output::Output;
use crate::config::{Config, Served};
use crate::failure::Failure;
use crate::log;
use crate::serve::{control, index_dir, rebuilt, shut_down};

/// `portolan index …`.
#[derive(Debug, Subcommand)]
pub enum IndexCommand {
    /// Sizes and progress of an index, and what a rebuild would cost
    #[command(after_help = "Example:\n  portolan index info btc\n\nIt may run beside a server.")]
    Info {
        /// The chain, such as btc
        chain: String,
    },
    /// Hold every row of an index against every other, and its sums against the node's own
    #[command(
        after_help = "Example:\n  portolan index verify btc --json\n\nIt may run beside a server. The exit code is 1 if a fault was found, or if the node's\nown sums at the same block differ."
    )]
    Verify {
        /// The chain, such as btc
        chain: String,
        /// Read every block from the node again, and hold the index against it
        #[arg(long)]
        blocks: bool,
    },
    /// Make a new index beside the old one, and put it in its place
    #[command(
        after_help = "Example:\n  portolan index rebuild btc\n\nA running server goes on with the old index, and takes the new one at its next start. What was\ninterrupted is gone on with by the same command."
    )]
    Rebuild {
        /// The chain, such as btc
        chain: String,
    },
    /// Copy an index into a new folder, with hard links where both are on one disk
    #[command(after_help = "Example:\n  portolan index backup btc --to /backup/btc-2026-11-28")]
    Backup {
        /// The chain, such as btc
        chain: String,
        /// The new folder
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
    },
    /// Send an index to standard output, while a server runs or not
    #[command(
        after_help = "Examples:\n  portolan index export btc | zstd > btc.tar.zst\n  portolan index export btc | ssh other sudo -u portolan portolan -c /etc/portolan/portolan.toml index import btc\n\nThe stream is a tar archive, whole at one block, with checksums."
    )]
    Export {
        /// The chain, such as btc
        chain: String,
    },
    /// Take an index from standard input, as `export` sends it
    #[command(
        after_help = "Example:\n  zstd -d < btc.tar.zst | portolan index import btc\n\nWhat is cut off, damaged, or of another chain, network or format is refused and leaves nothing\nbehind. It follows the node from the block that it was sent at."
    )]
    Import {
        /// The chain, such as btc
        chain: String,
        /// Take the place of the index that is there; a running server takes the new one at its
        /// next start
        #[arg(long)]
        replace: bool,
    },
}

/// Carries the command out.
pub(crate) fn run(
    config: &Config,
    command: &IndexCommand,
    output: Output,
) -> Result<ExitCode, Failure> {
    match command {
        IndexCommand::Info { chain } => info::info(config, chain, output),
        IndexCommand::Verify { chain, blocks } => audit::verify(config, chain, *blocks, output),
        IndexCommand::Rebuild { chain } => rebuild(config, chain, output),
        IndexCommand::Backup { chain, to } => backup(config, chain, to, output),
        IndexCommand::Export { chain } => export::export(config, chain, output),
        IndexCommand::Import { chain, replace } => import::import(config, chain, *replace, output),
    }
}

/// A configured chain that this version keeps an index of.
fn served(config: &Config, slug: &str) -> Result<Served, Failure> {
    let chain = known(slug)?;
    let served = config.served().into_iter().find(|served| served.chain == chain);
    let served = served.ok_or_else(|| {
        Failure::new(format!("chain.{slug} is not configured: give [chain.{slug}]"))
    })?;
    if !ChainIndex::is_kept_of(served.chain) {
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

#[derive(Serialize)]
struct Done {
    chain: &'static str,
    folder: String,
    /// Whether it stands in the place of the old one already.
    in_place: bool,
}

fn rebuild(config: &Config, slug: &str, output: Output) -> Result<ExitCode, Failure> {
    let _log = log::start(&config.log);
    let served = served(config, slug)?;
    let dir = rebuilt::folder(&config.store.dir, slug);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let made = runtime.block_on(make(config, &served, &dir));
    shut_down(runtime);
    made?;
    rebuilt::mark_ready(&config.store.dir, slug)?;
    let put = rebuilt::put_in_place(&config.store.dir, served.chain, served.network);
    let in_place = match put {
        Ok(_) => true,
        Err(IndexError::InUse { .. }) => false,
        Err(error) => return Err(Failure::new(error.to_string())),
    };
    let folder = if in_place { index_dir(&config.store.dir, slug) } else { dir };
    let chain = served.chain.slug;
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
    let pool = Pool::new(served.chain, served.network, served.pool.clone())?;
    let (memory, sync) = (config.explorer.memory(), config.explorer.sync());
    let open = ChainIndex::open(dir, &pool, &memory, sync, served.accounts);
    let index = open.map_err(|error| Failure::new(error.to_string()))?;
    pool.start();
    let end = tokio::signal::ctrl_c();
    let synced = async {
        loop {
            let standing = index.standing();
            if standing.in_sync && !index.is_filling() {
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
    copy_to(config, &served, &to)?;
    let chain = served.chain.slug;
    let done = Done { chain, folder: to.display().to_string(), in_place: false };
    output.print(&done, |done| format!("A copy of the index stands in {}.", done.folder))?;
    Ok(ExitCode::SUCCESS)
}

/// A copy of an index in a new folder, of which a server is asked that has the index open.
fn copy_to(config: &Config, served: &Served, to: &Path) -> Result<(), Failure> {
    let (chain, network, slug) = (served.chain, served.network, served.chain.slug);
    let dir = index_dir(&config.store.dir, slug);
    // Opening would begin an index where there is none.
    let (holds, _) = AtRest::identities(&dir, chain, network)
        .map_err(|error| Failure::new(error.to_string()))?;
    if holds.is_none() {
        return Err(Failure::new(format!("there is no index of {slug} to copy")));
    }
    let memory = Memory::new(8 << 20, 8 << 20);
    match AtRest::copy(&dir, chain, network, &memory, to) {
        Ok(()) => Ok(()),
        Err(IndexError::InUse { .. }) => control::ask_backup(&config.store.dir, slug, to),
        Err(error) => Err(Failure::new(error.to_string())),
    }
}
