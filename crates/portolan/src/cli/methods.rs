//! `portolan methods`: what the gateway offers on each chain, and the page of documents about it.
//!
//! Leaves the sets to `chain` and what an operator makes of them to the configuration. Invariant:
//! command and page show the same rows.

use std::fmt::Write;

use chain::{Cacheable, Chain, Guard, Heavy, Method};
use serde::Serialize;

use super::output::{Output, table};
use crate::config::{Config, nearest};
use crate::failure::Failure;

/// The methods of one chain.
#[derive(Debug, Serialize)]
struct ChainMethods {
    chain: &'static str,
    methods: Vec<Row>,
}

/// One method, in the words of the command and of the page.
#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    /// It hands in a transaction.
    send: bool,
    /// It is never sent twice once a byte was written: it hands in a transaction, or nobody knows
    /// that it does not.
    once: bool,
    /// The operator offers it besides the chain's own set, which knows nothing of it.
    added: bool,
    /// It counts against the cap of heavy calls.
    heavy: &'static str,
    /// A plain path of the node, called like any other method.
    path: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    alias_of: Option<&'static str>,
    /// The argument whose range is bounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<&'static str>,
    /// For how long its answers stay right, where they may be remembered.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<&'static str>,
}

impl Row {
    /// A row of the chain's own set.
    fn own(method: &Method) -> Row {
        Row::of(method, false)
    }

    fn of(method: &Method, added: bool) -> Row {
        let heavy = match method.heavy {
            Heavy::Never => "no",
            Heavy::Always => "yes",
            Heavy::FromVerbosity2 => "from verbosity 2",
        };
        let range = method.guard.map(|guard| match guard {
            Guard::LogRange => "blocks of a log filter",
            Guard::HeaderRange => "headers",
        });
        let Method { name, send: once, path, alias_of, .. } = *method;
        let kept = kept(method.cache);
        Row { name, send: once && !added, once, added, heavy, path, alias_of, range, kept }
    }

    /// What a reader must know besides the name.
    fn notes(&self) -> String {
        let mut notes = Vec::new();
        if let Some(name) = self.alias_of {
            notes.push(format!("another spelling of `{name}`"));
        }
        if self.send {
            notes.push("hands in a transaction".into());
        }
        if self.added {
            notes.push("added by the operator, never sent twice".into());
        }
        match self.heavy {
            "no" => {}
            "yes" => notes.push("heavy".into()),
            from => notes.push(format!("heavy {from}")),
        }
        if self.path {
            notes.push("plain path".into());
        }
        notes.extend(self.range.map(|range| format!("range of {range} bounded")));
        notes.extend(self.kept.map(|kept| format!("kept {kept}")));
        notes.join(", ")
    }
}

/// What is kept of the answers to a method.
fn kept(cache: Cacheable) -> Option<&'static str> {
    Some(match cache {
        Cacheable::Never => return None,
        Cacheable::Always => "for good",
        Cacheable::Tip => "with the tip",
        Cacheable::Height => "for good where the height is deep, else with the tip",
        Cacheable::Hash(_) => "for good by block hash, else with the tip",
        Cacheable::Raw => "for good where raw by block hash, else with the tip",
        Cacheable::RawInBlock => "for good where raw with a block hash",
        Cacheable::Tag(_) => {
            "for good by block hash or deep number, with the tip by any other block but `pending`"
        }
        Cacheable::Logs => "with the tip unless `pending`",
    })
}

/// Prints the methods of one chain, or of all.
///
/// A configured chain is shown as it is offered (`methods`, `extra_methods`), any other with its
/// whole set.
pub(crate) fn run(config: &Config, slug: Option<&str>, output: Output) -> Result<(), Failure> {
    let all: Vec<ChainMethods> = match slug {
        Some(slug) => vec![offered(config, known(slug)?)],
        None => chain::ALL.iter().map(|chain| offered(config, chain)).collect(),
    };
    Ok(output.print(&all, |all| people(all))?)
}

/// The chain of that name.
pub(crate) fn known(slug: &str) -> Result<&'static Chain, Failure> {
    chain::find(slug).ok_or_else(|| {
        Failure::misunderstood(nearest("chain", slug, chain::ALL.iter().map(|chain| chain.slug)))
    })
}

fn offered(config: &Config, chain: &'static Chain) -> ChainMethods {
    let served = config.served();
    let row = |method: &Method| Row::of(method, chain.methods().find(method.name).is_none());
    let methods = match served.iter().find(|served| served.chain == chain) {
        Some(served) => served.offered.iter().map(row).collect(),
        None => chain.methods().iter().map(Row::own).collect(),
    };
    ChainMethods { chain: chain.slug, methods }
}

fn people(all: &[ChainMethods]) -> String {
    let rows = all.iter().flat_map(|one| {
        let row = |method: &Row| {
            vec![one.chain.to_owned(), method.name.to_owned(), method.notes().replace('`', "")]
        };
        one.methods.iter().map(row)
    });
    let mut text = table(&["chain", "method", "notes"], &rows.collect::<Vec<_>>());
    if all.iter().any(|one| one.methods.iter().any(|method| method.path)) {
        let lines = EXAMPLE.lines().map(|line| format!("  {line}\n"));
        text += &format!(
            "\nA plain path is called like any other method:\n{}",
            lines.collect::<String>()
        );
    }
    text
}

/// `docs/methods.md`, made from the method files.
pub fn page() -> String {
    let mut page = String::from(BEGINNING);
    for chain in chain::ALL {
        let rows: Vec<Row> = chain.methods().iter().map(Row::own).collect();
        // Writing to a string cannot fail.
        let _ = write!(page, "\n## `{}`, {}: {}\n\n", chain.slug, chain.name, rows.len());
        page += "| method | |\n|---|---|\n";
        for row in &rows {
            let _ = writeln!(page, "| `{}` | {} |", row.name, row.notes());
        }
    }
    let prompted = EXAMPLE.lines().map(|line| format!("$ {line}\n")).collect::<String>();
    page.replace("|  |", "| |") + END + "```console\n" + &prompted + "```\n"
}

const BEGINNING: &str = "\
# Methods of the gateway

What each chain offers unless the operator narrows it (`methods` in `[chain.X]`) or widens it
(`extra_methods`, which are taken for heavy and never sent twice). `portolan methods [CHAIN]` prints what a
configuration makes of that, also of a chain that it does not run. Made from
`crates/chain/methods/`; a test keeps it so.

- Names are compared exactly. Parameters are the node's business, but for the ranges below.
- *heavy*: such calls share a quarter of a node's slots, so they never stand in the way of others.
- *hands in a transaction*: never sent twice once a byte of it was written; any other call is asked
  of a second node if the first does not answer.
- *added by the operator*: named in `extra_methods` and not in the chain's own set. Nobody knows whether
  it only reads, so it is never sent twice either, and it is heavy. No table below has such a one.
- *range bounded*: `eth_getLogs` spans at most `gateway.log_range` blocks,
  `get_block_headers_range` at most `gateway.header_range` headers.
- *kept*: what may be remembered where `[chain.X] cache` is set, see
  [operating](operate.md#answers-that-are-remembered). *For good* is kept by `final` and `tip`, *with the
  tip* by `tip` alone, a second at most. Without the word: never.
- With `--json`, `send` is *hands in a transaction*, `once` that the call is never sent twice, `added`
  that the operator added it.
- Every call costs one unit and one token, a batch one of each for each call in it.
";

const END: &str = "
## Plain paths of monerod

They are called like any other method; `params` is the body that monerod would get on the path, and
may be absent, `null`, `{}` or `[]` where it takes none. The path's answer stands in `result`:

";

/// Calls of plain paths, one without parameters and one with.
const EXAMPLE: &str = "\
curl -s $URL/v1/rpc/xmr -H \"X-API-Key: $KEY\" -d '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"get_height\"}'
curl -s $URL/v1/rpc/xmr -H \"X-API-Key: $KEY\" -d '{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"get_transactions\",\"params\":{\"txs_hashes\":[\"…\"],\"decode_as_json\":true}}'
";
