//! The command line: what can be said, and what each word means.
//!
//! Leaves the doing, and the words below a command, to one module a command. Invariant: `-c` and
//! `--json` stand anywhere.

pub(crate) mod account;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod copy;
pub(crate) mod index;
pub(crate) mod key;
pub(crate) mod manual;
pub mod methods;
pub(crate) mod output;
pub(crate) mod plan;
pub(crate) mod store;
mod time;
pub(crate) mod usage;
pub(crate) mod version;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::config::Listens;

pub use account::AccountCommand;
pub use copy::StoreCommand;
pub use index::IndexCommand;
pub use key::{Cap, KeyCommand};
pub use plan::PlanCommand;
pub use usage::UsageArgs;

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "portolan",
    version,
    about = "A metered JSON-RPC gateway and chain explorer over the full nodes of nine chains, behind one API key",
    after_help = "Begin with:\n  portolan demo                      nine recorded nodes, a key, calls to try\n  portolan -c portolan.toml check    are the configured nodes right?\n  portolan -c portolan.toml serve    serve them",
    max_term_width = 100
)]
pub struct Cli {
    /// Configuration file [default: portolan.toml, if it is there]
    #[arg(short = 'c', long = "config", value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Print exactly one JSON value on standard output
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start everything at once on recorded nodes: nothing to configure, nothing to download
    #[command(
        after_help = "Examples:\n  portolan demo\n  portolan demo --gateway 127.0.0.1:8480 --dir demo-data\n  portolan demo --json | head -1\n\nWith --json the first line, printed when every node was probed and every index is in sync, is\n  {\"gateway\":URL,\"explorer\":URL,\"key\":KEY,\"nodes\":{\"btc\":{\"network\":NAME,\"url\":URL},...}}\nControl-C or SIGTERM stops it and removes its temporary folder."
    )]
    Demo(DemoArgs),
    /// Serve the configured chains
    #[command(
        after_help = "Examples:\n  portolan -c portolan.toml serve\n  portolan serve --only gateway\n  portolan serve --only explorer\n\nSIGHUP reads plans, nodes, limits and TLS files again. SIGTERM or Control-C serves on for\nserve.drain_grace_secs, lets answers in flight finish, saves the counters, and ends."
    )]
    Serve(ServeArgs),
    /// Read the configuration, ask each node, and say what is to be changed
    #[command(
        after_help = "Examples:\n  portolan -c portolan.toml check\n  portolan check --json\n\nThe exit code is 1 if a node is not usable."
    )]
    Check,
    /// Accounts: who may use the services, on which plan
    #[command(subcommand)]
    Account(AccountCommand),
    /// API keys of an account
    #[command(subcommand)]
    Key(KeyCommand),
    /// Plans: rates and quotas
    #[command(subcommand)]
    Plan(PlanCommand),
    /// Methods of the gateway on a chain, or on all
    #[command(after_help = "Examples:\n  portolan methods btc\n  portolan methods --json")]
    Methods {
        /// The chain, such as btc [default: all]
        chain: Option<String>,
    },
    /// The store of accounts, keys and usage
    #[command(subcommand)]
    Store(StoreCommand),
    /// Indexes of the explorer: sizes, audit, rebuild, backup, export, import
    #[command(subcommand)]
    Index(IndexCommand),
    /// What an account used, in units, UTC
    #[command(
        after_help = "Examples:\n  portolan usage lab\n  portolan usage acc_1 --since 2026-11-01 --json\n  portolan usage lab --since 24h"
    )]
    Usage(UsageArgs),
    /// Which program this is, for which machine, on which engines
    #[command(after_help = "Example:\n  portolan version --json")]
    Version,
    /// The manual page of the program or of a command
    #[command(
        after_help = "Examples:\n  portolan manual | man -l -\n  portolan manual key add | man -l -\n  portolan manual --to /usr/local/share/man/man1"
    )]
    Manual {
        /// The command, such as `key add` [default: the program]
        #[arg(value_name = "COMMAND", conflicts_with = "to")]
        words: Vec<String>,
        /// Write the pages of all commands into this folder instead
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
    /// What a shell needs to complete the words of this command line
    #[command(
        after_help = "Examples:\n  portolan completions bash > /etc/bash_completion.d/portolan\n  portolan completions zsh > \"${fpath[1]}/_portolan\"\n  portolan completions fish > ~/.config/fish/completions/portolan.fish"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// `portolan demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Address of the gateway [default: a free port on loopback]
    #[arg(long, value_name = "ADDR")]
    pub gateway: Option<SocketAddr>,
    /// Address of the explorer [default: a free port on loopback]
    #[arg(long, value_name = "ADDR")]
    pub explorer: Option<SocketAddr>,
    /// Address of the console, which is not built yet
    #[arg(long, value_name = "ADDR")]
    pub console: Option<SocketAddr>,
    /// Folder to keep accounts and counters in [default: a temporary one, removed at the end]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// `portolan serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Serve only these services [default: all that are built]
    #[arg(long, value_name = "SERVICE", value_delimiter = ',')]
    pub only: Vec<ServiceName>,
}

/// A service, as `--only` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ServiceName {
    /// The JSON-RPC gateway.
    Gateway,
    /// The explorer.
    Explorer,
    /// The web page, which is not built yet.
    Console,
}

impl ServiceName {
    /// Whose listener it is.
    pub fn listens(self) -> Listens {
        match self {
            ServiceName::Gateway => Listens::Gateway,
            ServiceName::Explorer => Listens::Explorer,
            ServiceName::Console => Listens::Console,
        }
    }
}
