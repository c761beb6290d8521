//! The documents say what the program does: reasons, chains, tables, metrics, paths, commands.
//!
//! The explorer's interface is held against its tables in that crate.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use gateway::Reason;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every name of a reason; two rows may share one, and one row has none.
fn reasons() -> BTreeSet<&'static str> {
    Reason::ALL.iter().map(|reason| reason.row().name).filter(|name| !name.is_empty()).collect()
}

/// Every Markdown file of the repository's root and of docs.
fn documents() -> Vec<PathBuf> {
    let folders = [root(), root().join("docs"), root().join("docs/decisions")];
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut files: Vec<PathBuf> = files
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    files.sort();
    assert!(files.len() > 10, "{files:?}");
    files
}

#[test]
fn interface_has_every_reason_and_no_other() {
    let interface = text("docs/api/gateway.openapi.yaml");
    let (_, list) = interface.split_once("reason:\n").unwrap();
    let items = list.lines().map(str::trim).skip_while(|line| !line.starts_with("- "));
    let listed: Vec<&str> = items.map_while(|line| line.strip_prefix("- ")).collect();
    assert_eq!(listed.len(), reasons().len(), "one is there twice, or missing: {listed:?}");
    assert_eq!(BTreeSet::from_iter(listed), reasons());
}

#[test]
fn interface_has_every_code_and_status_and_no_other() {
    let interface = text("docs/api/gateway.openapi.yaml");
    let (_, codes) = interface.split_once("enum: [-").unwrap();
    let (codes, _) = codes.split_once(']').unwrap();
    let codes: BTreeSet<i32> =
        format!("-{codes}").split(", ").map(|code| code.parse().unwrap()).collect();
    assert_eq!(codes, Reason::ALL.iter().map(|reason| reason.row().code).collect());
    for reason in Reason::ALL {
        let status = reason.row().status;
        assert!(interface.contains(&format!("\"{status}\": {{ $ref:")), "{status}");
    }
}

#[test]
fn interfaces_have_every_chain_in_order() {
    let slugs: Vec<&str> = chain::ALL.iter().map(|chain| chain.slug).collect();
    for interface in ["docs/api/gateway.openapi.yaml", "docs/api/explorer.openapi.yaml"] {
        let chains = format!("enum: [{}]", slugs.join(", "));
        assert!(text(interface).contains(&chains), "{interface}");
    }
}

/// The rows of a table of refusals: status, and the reasons that share the line.
fn told_refusals(table: &str) -> BTreeSet<(u16, &str)> {
    let mut told = BTreeSet::new();
    for line in table.lines() {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let (Some(status), Some(reasons)) = (cells.next(), cells.next()) else { continue };
        let Ok(status) = status.parse() else { continue };
        told.extend(reasons.split(", ").map(|reason| (status, reason)));
    }
    told
}

#[test]
fn operators_are_told_what_each_refusal_means() {
    let operate = text("docs/operate.md");
    let (_, tables) = operate.split_once("## What each refusal means").unwrap();
    let (of_gateway, of_explorer) = tables.split_once("Of the explorer").unwrap();
    let rows = Reason::ALL.iter().map(|reason| reason.row());
    let rows = rows.map(|row| (row.status, row.name)).filter(|(_, name)| !name.is_empty());
    assert_eq!(told_refusals(of_gateway), rows.collect());
    let rows = explorer::Reason::ALL.iter().map(|reason| reason.row());
    assert_eq!(told_refusals(of_explorer), rows.map(|row| (row.status, row.name)).collect());
}

#[test]
fn operators_are_told_of_every_metric() {
    let told = text("docs/operate.md");
    let is_metric = |word: &str| {
        let services = ["gateway_", "explorer_", "index_", "node_"];
        services.iter().any(|service| word.starts_with(service))
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    let (gateway, explorer) = (gateway::Metrics::new(), explorer::Metrics::new());
    let families = [gateway.registry().gather(), explorer.registry().gather()].concat();
    let nodes = text("crates/portolan/src/serve/health_page.rs");
    let mut named: BTreeSet<&str> = nodes.split('"').filter(|word| is_metric(word)).collect();
    named.extend(families.iter().map(|family| family.name()));
    let rows = told.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let rows: BTreeSet<&str> = rows.filter(|word| is_metric(word)).collect();
    assert_eq!(named, rows);
    assert!(named.len() >= 17, "{named:?}");
}

#[test]
fn operators_are_told_of_every_command_of_an_index() {
    let (told, source) = (text("docs/operate.md"), text("crates/portolan/src/cli.rs"));
    let (_, commands) = source.split_once("pub enum IndexCommand {").unwrap();
    let (commands, _) = commands.split_once("\n}\n").unwrap();
    let mut names =
        commands.lines().filter_map(|line| line.strip_prefix("    ")?.strip_suffix(" {"));
    let count = names.try_fold(0, |count, name| {
        let call = format!("portolan index {} btc", name.to_lowercase());
        if told.contains(&call) { Ok(count + 1) } else { Err(call) }
    });
    assert_eq!(count, Ok(4));
}

#[test]
fn schema_has_every_table_of_an_index() {
    let (schema, source) = (text("docs/schema.md"), text("crates/index/src/utxo/schema.rs"));
    let tables = source.split("TableSpec { name: \"").skip(1);
    let tables: Vec<&str> = tables.map(|spec| spec.split('"').next().unwrap()).collect();
    assert_eq!(tables.len(), 8, "{tables:?}");
    for table in tables {
        assert!(schema.contains(&format!("| **{table}** |")), "{table}");
    }
    let (_, number) = source.split_once("FORMAT: u16 = ").unwrap();
    let (number, _) = number.split_once(';').unwrap();
    assert!(schema.contains(&format!("`format`, which is {number}.")), "format {number}");
}

#[test]
fn readme_has_every_chain_with_the_number_of_its_methods() {
    let readme = text("README.md");
    for chain in chain::ALL {
        let start = format!("| `{}` | {} |", chain.slug, chain.name);
        let line = readme.lines().find(|line| line.starts_with(&start));
        let line = line.unwrap_or_else(|| panic!("no line {start}"));
        // "14, 7 path calls, 7 aliases" where methods are of several kinds.
        let cell = line.split('|').nth(4).unwrap();
        let counts = cell.split([' ', ',']).filter_map(|word| word.parse::<usize>().ok());
        assert_eq!(counts.sum::<usize>(), chain.methods().len(), "{line}");
        // The last cell says whether the explorer keeps an index of it.
        let indexed = line.trim_end_matches('|').rsplit('|').next().unwrap().trim();
        assert_eq!(indexed, if chain.format.is_some() { "yes" } else { "to come" }, "{line}");
    }
}

#[test]
fn links_lead_somewhere() {
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in text.split("](").skip(1) {
            let (link, _) = link.split_once(')').unwrap();
            let file = link.split('#').next().unwrap();
            if !link.starts_with("http") && !file.is_empty() {
                let target = document.parent().unwrap().join(file);
                assert!(target.exists(), "{}: {link}", document.display());
            }
        }
    }
}

#[test]
fn paths_of_crates_are_there() {
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for quoted in text.split('`').skip(1).step_by(2) {
            let is_path = quoted.starts_with("crates/")
                && !quoted.contains(['*', ' ', '{'])
                && !quoted.split(['/', '.']).any(|part| part == "X");
            if is_path {
                assert!(root().join(quoted).exists(), "{}: {quoted}", document.display());
            }
        }
    }
}
