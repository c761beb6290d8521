//! The command line: what can be said, and what each word means.
//!
//! Leaves the doing to one module a command. Invariant: `-c` and `--json` stand anywhere.

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
        after_help = "Examples:\n  portolan demo\n  portolan demo --gateway 127.0.0.1:8480 --dir demo-data\n  portolan demo --json | head -1\n\nWith --json the first line, printed when every node was probed and every index is in sync, is\n  {\"gateway\":URL,\"explorer\":URL,\"key\":KEY}\nControl-C or SIGTERM stops it and removes its temporary folder."
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

/// `portolan account …`.
#[derive(Debug, Subcommand)]
pub enum AccountCommand {
    /// Add an account
    #[command(
        after_help = "Examples:\n  portolan account add lab\n  portolan account add shop --gateway-plan Pro --explorer-plan none\n\nA plan is one of `portolan plan list`, or \"none\" for no access."
    )]
    Add {
        /// Its name: unique, 1 to 64 characters, not like an id
        name: String,
        /// Plan on the gateway
        #[arg(long, value_name = "PLAN", default_value = "Free")]
        gateway_plan: String,
        /// Plan on the explorer
        #[arg(long, value_name = "PLAN", default_value = "Free")]
        explorer_plan: String,
        /// Make a new store where neither a configuration nor a store is
        #[arg(long)]
        create_store: bool,
    },
    /// Change the plans of an account; in force within a second
    #[command(after_help = "Example:\n  portolan account plan lab --gateway-plan Pro")]
    Plan {
        /// Name or id
        account: String,
        /// New plan on the gateway [default: unchanged]
        #[arg(long, value_name = "PLAN", required_unless_present = "explorer_plan")]
        gateway_plan: Option<String>,
        /// New plan on the explorer [default: unchanged]
        #[arg(long, value_name = "PLAN")]
        explorer_plan: Option<String>,
    },
    /// Refuse all keys of an account with ACCOUNT_SUSPENDED; in force within a second
    Suspend {
        /// Name or id
        account: String,
    },
    /// Serve a suspended account again
    Resume {
        /// Name or id
        account: String,
    },
    /// List all accounts
    List,
}

/// `portolan key …`.
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Make a key and show it, this once
    #[command(
        after_help = "Examples:\n  portolan key add lab\n  portolan key add lab --label ci --daily-cap 10000 --expires 90d\n  portolan key add shop --chains btc,ltc --methods getblockcount,sendrawtransaction\n  portolan key add shop --networks 203.0.113.0/24 --origins https://shop.example\n\nOnly its SHA-256 is stored; a lost key cannot be shown again, but rotated."
    )]
    Add {
        /// Name or id of the account
        account: String,
        /// A word to know it by
        #[arg(long)]
        label: Option<String>,
        /// Units a UTC day on the gateway [default: no cap]
        #[arg(long, value_name = "N")]
        daily_cap: Option<u64>,
        /// When it ends: 2027-01-31, 2027-01-31T12:00:00Z, or 90d from now [default: never]
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
        /// The only chains it may use, with commas [default: those of the plan]
        #[arg(long, value_delimiter = ',', value_name = "CHAIN")]
        chains: Vec<String>,
        /// The only methods it may call, with commas [default: those of the chain]
        #[arg(long, value_delimiter = ',', value_name = "METHOD")]
        methods: Vec<String>,
        /// The only networks it may be used from, with commas [default: any]
        #[arg(long, value_delimiter = ',', value_name = "CIDR")]
        networks: Vec<ipnet::IpNet>,
        /// The only web pages it may be used from, with commas [default: any]
        #[arg(long, value_delimiter = ',', value_name = "ORIGIN")]
        origins: Vec<String>,
    },
    /// Set or lift the daily cap of a key; in force within a second
    #[command(
        after_help = "Examples:\n  portolan key cap key_3 50000\n  portolan key cap key_3 none"
    )]
    Cap {
        /// Id of the key
        key_id: String,
        /// Units a UTC day, or "none"
        #[arg(value_name = "N|none", value_parser = cap)]
        cap: self::Cap,
    },
    /// Refuse a key with KEY_REVOKED from now on; in force within a second
    Revoke {
        /// Id of the key
        key_id: String,
    },
    /// Make a new key like this one, and end the old one after an overlap
    #[command(
        after_help = "Example:\n  portolan key rotate key_3 --overlap 24h\n\nLabel, cap and scopes are those of the old key. Both work during the overlap."
    )]
    Rotate {
        /// Id of the key
        key_id: String,
        /// How long the old key works on, such as 24h, 7d, 0s
        #[arg(long, value_name = "TIME", default_value = "24h")]
        overlap: String,
    },
    /// List the keys of an account, without the keys themselves
    List {
        /// Name or id of the account
        account: String,
    },
}

/// A daily cap, or none.
// An own name, because the parser would take a bare `Option` for a word that may be left out.
pub type Cap = Option<u64>;

fn cap(text: &str) -> Result<Cap, String> {
    match text {
        "none" => Ok(None),
        units => units.parse().map(Some).map_err(|_| "expected a number or \"none\"".into()),
    }
}

/// `portolan plan …`.
#[derive(Debug, Subcommand)]
pub enum PlanCommand {
    /// List every plan with its numbers
    List,
}

/// `portolan store …`.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Copy accounts, keys and usage between a folder and a PostgreSQL, either way
    #[command(
        after_help = "Examples:\n  portolan store copy --from data --to postgres://portolan@db.example/portolan --password-file pw\n  portolan store copy --from postgres://portolan@db.example/portolan --to data2\n\nStop the servers of both first. The target must be empty. Every row is read again on both sides;\nthe exit code is 1 if they differ. What PostgreSQL asks for is taken from [store] where the\naddress is that of the configuration."
    )]
    Copy {
        /// The store as it is: a folder, or postgres://user@host/database
        #[arg(long, value_name = "STORE")]
        from: String,
        /// The store to be, empty: a folder, or postgres://user@host/database
        #[arg(long, value_name = "STORE")]
        to: String,
        /// A file with the password of PostgreSQL
        #[arg(long, value_name = "FILE")]
        password_file: Option<PathBuf>,
        /// A file with the authorities that its certificate may come from, PEM
        #[arg(long, value_name = "FILE")]
        ca: Option<PathBuf>,
    },
}

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

/// `portolan usage`.
#[derive(Debug, Args)]
pub struct UsageArgs {
    /// Name or id of the account
    pub account: String,
    /// Show the hours from then on: 2026-11-01, 2026-11-01T12:00:00Z, or 24h ago
    /// [default: the first of this month]
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
}
