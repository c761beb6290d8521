//! `portolan demo`: everything at once on recorded nodes.
//!
//! Starts a recorded node for every chain, the services on them, an account and a fresh key, and
//! says what to try. Invariant: it needs nothing that is not in the program, and leaves nothing
//! behind but the folder it was told to use.

mod samples;

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use meter::{Admin, Clock, KeyOptions, PlanConfig};
use node::NodeConfig;
use replay::{Replay, ReplayOptions, Take};
use samples::Sample;
use serde_json::{Map, Value, json};

use crate::cli::DemoArgs;
use crate::cli::output::Output;
use crate::config::{ChainConfig, Config, Listens};
use crate::failure::Failure;
use crate::log;
use crate::serve::{Server, Services, Signals, end, shut_down};
use crate::variables::variables;

/// The account that the key belongs to, and its plan.
const NAME: &str = "demo";

/// Runs the demo until a signal ends it.
pub(crate) fn run(
    args: &DemoArgs,
    file: Option<&Path>,
    output: Output,
) -> Result<ExitCode, Failure> {
    let base = Config::of_demo(file, variables()?)?;
    let _log = log::start(&base.log);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let temporary = match args.dir {
        Some(_) => None,
        None => Some(
            tempfile::Builder::new()
                .prefix("portolan-demo-")
                .permissions(fs::Permissions::from_mode(0o700))
                .tempdir()?,
        ),
    };
    let dir = match (&args.dir, &temporary) {
        (Some(dir), _) => dir.clone(),
        (None, Some(temporary)) => temporary.path().to_owned(),
        (None, None) => PathBuf::new(),
    };
    let code = runtime.block_on(demo(args, base, dir, output));
    shut_down(runtime);
    if let Some(temporary) = temporary {
        temporary.close()?;
    }
    code
}

async fn demo(
    args: &DemoArgs,
    mut config: Config,
    dir: PathBuf,
    output: Output,
) -> Result<ExitCode, Failure> {
    let mut signals = Signals::new()?;
    if args.console.is_some() {
        tracing::warn!("the console is not built yet; the demo runs without it");
    }
    let start = async {
        let nodes = recorded_nodes().await?;
        config.store.dir = dir;
        let free = SocketAddr::from(([127, 0, 0, 1], 0));
        config.gateway.listen = args.gateway.unwrap_or(free);
        config.explorer.listen = args.explorer.unwrap_or(free);
        config.explorer.least_free_mb = 0;
        config.plan.insert(NAME.into(), plan());
        config.chain =
            nodes.iter().map(|(slug, node)| ((*slug).into(), chain(slug, node))).collect();
        // A signal drops all of this.
        let opened = Server::open(config.clone(), Services::all(), std::future::pending()).await?;
        let server = opened.ok_or_else(|| Failure::new("nobody serves"))?;
        server.probed().await;
        server.indexed().await;
        let key = tokio::task::spawn_blocking(move || fresh_key(&config)).await??;
        Ok::<_, Failure>((nodes, server, key))
    };
    let (nodes, server, key) = tokio::select! {
        started = start => started?,
        () = signals.end() => return Ok(ExitCode::SUCCESS),
    };
    let gateway = server.address(Listens::Gateway).map(|address| format!("http://{address}"));
    let gateway = gateway.unwrap_or_default();
    let address = server.address(Listens::Explorer);
    let explorer = address.map(|address| format!("http://{address}")).unwrap_or_default();
    let samples = match address {
        Some(address) if !output.json => samples::samples(address, &key).await,
        _ => Vec::new(),
    };
    let of_nodes = nodes.iter().map(|(slug, node)| {
        ((*slug).to_owned(), json!({ "network": network(slug), "url": node.url() }))
    });
    let of_nodes: Map<String, Value> = of_nodes.collect();
    let line = json!({ "gateway": gateway, "explorer": explorer, "key": key, "nodes": of_nodes });
    output.print(&line, |_| {
        what_to_try(&gateway, &explorer, &key, &samples) + &about_nodes(&nodes)
    })?;
    signals.end().await;
    let code = end(server, signals, Duration::ZERO).await;
    drop(nodes);
    Ok(code)
}

/// A recorded node for every chain that has a recording.
async fn recorded_nodes() -> Result<Vec<(&'static str, Replay)>, Failure> {
    let mut nodes = Vec::new();
    for chain in chain::ALL {
        // Of the recordings of eth, this is the richest.
        let take = match chain.family {
            chain::Family::Account => Take::Anvil,
            _ => Take::Main,
        };
        let options = ReplayOptions { take, ..ReplayOptions::default() };
        nodes.push((chain.slug, Replay::start(chain.slug, options).await?));
    }
    Ok(nodes)
}

/// The recordings are of private networks, where blocks are made at will.
fn network(slug: &str) -> &'static str {
    let private = |chain: &'static chain::Chain| {
        // Where a chain has two (dcr: simnet, regnet), the recording is of the first.
        chain.networks.iter().find(|network| network.kind == chain::NetworkKind::Regtest)
    };
    chain::find(slug).and_then(private).map_or("mainnet", |network| network.name)
}

fn chain(slug: &str, node: &Replay) -> ChainConfig {
    ChainConfig {
        network: network(slug).into(),
        nodes: vec![NodeConfig::new(node.url())],
        ..ChainConfig::default()
    }
}

/// A plan that nobody trying things out will ever meet the limits of.
fn plan() -> PlanConfig {
    PlanConfig { requests_per_second: 100_000, batch_size: Some(1000), ..PlanConfig::default() }
}

/// Makes a key, and the account for it unless the folder has it from an earlier demo.
fn fresh_key(config: &Config) -> Result<String, Failure> {
    let admin = Admin::open(&config.store.dir, config.plans(), Clock::system())?;
    if admin.list_accounts()?.iter().any(|account| account.name == NAME) {
        admin.set_plans(NAME, Some(NAME), Some(NAME))?;
    } else {
        admin.add_account(NAME, Some(NAME), Some(NAME))?;
    }
    let options = KeyOptions { label: Some("demo".into()), ..KeyOptions::default() };
    Ok(admin.add_key(NAME, options)?.key.reveal().to_owned())
}

/// What a person reads: a call for each chain, and what to look at on the explorer.
fn what_to_try(gateway: &str, explorer: &str, key: &str, samples: &[Sample]) -> String {
    let mut text = format!(
        "Portolan serves nine recorded nodes. A key without quotas, for this demo alone:\n\n  \
         export KEY={key} URL={gateway} API={explorer}/api/v1\n\nThe height of each chain's tip:\n\n"
    );
    for chain in chain::ALL {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{}","params":{}}}"#,
            tip_method(chain),
            if matches!(chain.family, chain::Family::Ring) { "{}" } else { "[]" },
        );
        text += &format!(
            "  curl -s $URL/v1/rpc/{} -H \"X-API-Key: $KEY\" -d '{call}'   # {}\n",
            chain.slug, chain.name
        );
    }
    text +=
        "\nThe explorer of the chains that are indexed, an address and a transaction of each:\n\n";
    for Sample { chain, address, transaction, height } in samples {
        let paths = [
            "status".to_owned(),
            // Where a chain shows no address, a block is something to see.
            address.as_ref().map_or_else(
                || format!("block/{height}/txs"),
                |address| format!("address/{address}"),
            ),
            format!("tx/{transaction}"),
        ];
        for path in paths {
            text += &format!("  curl -s $API/{}/{path} -H \"X-API-Key: $KEY\"\n", chain.slug);
        }
        if address.is_none() {
            text += &format!(
                "  # addresses are in no block of {}: only who has a view key finds their outputs,\n  \
                 # by POST /tx/{{hash}}/outputs/check\n",
                chain.slug
            );
        }
    }
    text
}

/// What the nodes are, and where: for a configuration of one's own.
fn about_nodes(nodes: &[(&'static str, Replay)]) -> String {
    let places =
        nodes.iter().map(|(slug, node)| format!("{slug} {} {}", network(slug), node.url()));
    format!(
        "\nThe nodes answer recorded calls alone, any other with an error as theirs; for a configuration of \
         yours they are at: {}\n\nControl-C stops it.",
        places.collect::<Vec<_>>().join(", ")
    )
}

/// The method that tells the height of a chain's tip.
fn tip_method(chain: &chain::Chain) -> &'static str {
    match chain.family {
        chain::Family::Utxo(_) => "getblockcount",
        chain::Family::Account => "eth_blockNumber",
        chain::Family::Ring => "get_block_count",
    }
}
