//! The documents say what the program does: reasons, chains, metrics, paths.

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
fn interface_has_every_chain_in_order() {
    let slugs: Vec<&str> = chain::ALL.iter().map(|chain| chain.slug).collect();
    let interface = text("docs/api/gateway.openapi.yaml");
    assert!(interface.contains(&format!("enum: [{}]", slugs.join(", "))));
}

#[test]
fn operators_are_told_what_each_refusal_means() {
    let table = text("docs/operate.md");
    for reason in Reason::ALL {
        let row = reason.row();
        let told = table.lines().any(|line| {
            line.starts_with(&format!("| {} |", row.status)) && line.contains(row.name)
        });
        assert!(told, "{} {}", row.status, row.name);
    }
}

#[test]
fn operators_are_told_of_every_metric() {
    let told = text("docs/operate.md");
    let sources =
        ["crates/gateway/src/metrics.rs", "crates/portolan/src/serve/health_page.rs"].map(text);
    let mut seen = 0;
    for word in sources.iter().flat_map(|source| source.split('"')) {
        let is_name = ["gateway_", "node_"].iter().any(|prefix| word.starts_with(prefix))
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        if is_name {
            assert!(told.contains(&format!("| `{word}` |")), "{word}");
            seen += 1;
        }
    }
    assert!(seen >= 8, "{seen} metrics");
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
