//! The documents say what the program does: reasons, chains, tables, metrics, paths, commands.
//!
//! The explorer's interface is held against its tables in that crate.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use gateway::Reason;
use index::ChainIndex;

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
    // The explorer's are each of a family; its own tests hold them.
    let slugs: Vec<&str> = chain::ALL.iter().map(|chain| chain.slug).collect();
    let interface = text("docs/api/gateway.openapi.yaml");
    assert!(interface.contains(&format!("enum: [{}]", slugs.join(", "))));
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
        word.starts_with("portolan_")
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    let (gateway, explorer) = (gateway::Metrics::new(), explorer::Metrics::new());
    let families = [gateway.registry().gather(), explorer.registry().gather()].concat();
    let sources = ["health_page", "index_metrics", "meter_metrics", "program_metrics"];
    let sources =
        sources.map(|name| text(&format!("crates/portolan/src/serve/{name}.rs"))).concat();
    let mut named: BTreeSet<&str> = sources.split('"').filter(|word| is_metric(word)).collect();
    named.extend(families.iter().map(|family| family.name()));
    let rows = told.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let rows: BTreeSet<&str> = rows.filter(|word| is_metric(word)).collect();
    assert_eq!(named, rows);
    assert!(named.len() >= 21, "{named:?}");
}

#[test]
fn operators_are_told_of_every_command_of_an_index() {
    let (told, source) = (text("docs/operate.md"), text("crates/portolan/src/cli/index.rs"));
    let (_, commands) = source.split_once("pub enum IndexCommand {").unwrap();
    let (commands, _) = commands.split_once("\n}\n").unwrap();
    let mut names =
        commands.lines().filter_map(|line| line.strip_prefix("    ")?.strip_suffix(" {"));
    let count = names.try_fold(0, |count, name| {
        let call = format!("portolan index {} btc", name.to_lowercase());
        if told.contains(&call) { Ok(count + 1) } else { Err(call) }
    });
    assert_eq!(count, Ok(6));
}

#[test]
fn schema_has_every_table_of_an_index() {
    let (schema, source) = (text("docs/schema.md"), text("crates/index/src/utxo/schema.rs"));
    let tables = source.split("TableSpec { name: \"").skip(1);
    let tables: Vec<&str> = tables.map(|spec| spec.split('"').next().unwrap()).collect();
    assert_eq!(tables.len(), 10, "{tables:?}");
    for table in tables {
        assert!(schema.contains(&format!("| **{table}** |")), "{table}");
    }
    let (_, number) = source.split_once("FORMAT: u16 = ").unwrap();
    let (number, _) = number.split_once(';').unwrap();
    assert!(schema.contains(&format!("`format`, which is {number}.")), "format {number}");
}

#[test]
fn schema_has_every_table_of_an_index_of_accounts() {
    let (schema, source) = (text("docs/schema.md"), text("crates/index/src/account/schema.rs"));
    let (_, section) = schema.split_once("\n## The index of a chain of accounts\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let tables = source.split(" name: \"").skip(1);
    let tables: Vec<&str> = tables.map(|spec| spec.split('"').next().unwrap()).collect();
    assert_eq!(tables.len(), 10, "{tables:?}");
    for table in tables {
        assert!(section.contains(&format!("| **{table}** |")), "{table}");
    }
    let (_, number) = source.split_once("FORMAT: u16 = ").unwrap();
    let (number, _) = number.split_once(';').unwrap();
    assert!(section.contains(&format!("`format` of its own, {number}.")), "format {number}");
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
        assert_eq!(
            indexed,
            if ChainIndex::is_kept_of(chain) { "yes" } else { "to come" },
            "{line}"
        );
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

/// `UPDATE_DOCUMENTS=1 cargo test -p portolan --test it documents` writes it anew.
#[test]
fn methods_are_told_as_they_are_offered() {
    let (path, page) = (root().join("docs/methods.md"), portolan::cli::methods::page());
    if std::env::var_os("UPDATE_DOCUMENTS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    assert!(fs::read_to_string(path).unwrap() == page, "docs/methods.md is not what it is made to");
}

/// Files of the repository whose names end so, but for what is built or was recorded.
fn sources(endings: &[&str]) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![root()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" && name != "recordings" {
                folders.push(path);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(path);
            }
        }
    }
    assert!(found.len() > 20, "{found:?}");
    found
}

/// The numbers of rules that a text cites: a letter of `BGEUAR` and one or two digits behind the
/// word "decision", or in a list behind it.
fn cited(text: &str) -> BTreeSet<String> {
    let is_number = |word: &str| {
        let (letter, digits) = word.split_at_checked(1).unwrap_or_default();
        "BGEUAR".contains(letter)
            && matches!(digits.len(), 1 | 2)
            && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut cited = BTreeSet::new();
    for (_, behind) in
        text.match_indices("ecision").map(|(at, word)| text.split_at(at + word.len()))
    {
        let words = behind.trim_start_matches('s').split([' ', '\n', '/', '!', ',']);
        for word in words.filter(|word| !word.is_empty() && *word != "and") {
            let bare = word.trim_end_matches([')', '.', ';', ':', '|', '`', '"', '\'']);
            if !is_number(bare) {
                break;
            }
            cited.insert(bare.to_owned());
        }
    }
    cited
}

#[test]
fn contract_has_every_decision_that_is_cited() {
    let contract = text("docs/contract.md");
    let rows = contract.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next());
    let rows: Vec<&str> = rows.filter(|word| word.len() > 1 && word.len() < 4).collect();
    let known: BTreeSet<String> = rows.iter().map(|word| (*word).to_owned()).collect();
    assert_eq!(known.len(), rows.len(), "a number is given twice");
    let mut count = 0;
    for file in sources(&[".rs", ".md", ".toml", ".yaml", ".txt"]) {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let cited = cited(&text);
        count += cited.len();
        let unknown: Vec<&String> = cited.difference(&known).collect();
        assert!(unknown.is_empty(), "{}: {unknown:?}", file.display());
    }
    assert!(count > 60, "{count}");
}

#[test]
fn no_document_outside_the_repository_is_cited() {
    // Spelled in parts, so that this file does not cite them.
    let outside = [["spec", "gateway.md"], ["spec", "explorer.md"], ["spec", "decisions"]];
    let folders = ["shared", "research"].map(|folder| [folder, ""]);
    for file in sources(&[".rs", ".md", ".toml", ".yaml"]) {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        for parts in outside.iter().chain(&folders) {
            let name = parts.join("/");
            let cites = text.match_indices(&name).any(|(at, _)| {
                let before = text[..at].chars().next_back();
                before.is_none_or(|it| it.is_whitespace() || "`(./\"".contains(it))
            });
            assert!(!cites, "{} cites {name}", file.display());
        }
    }
}

#[test]
fn alarms_are_about_metrics_that_there_are_and_go_off() {
    let (rules, told) = (text("docs/alerts.yaml"), text("docs/operate.md"));
    let words = rules.split(|at: char| !at.is_ascii_alphanumeric() && at != '_');
    let metrics: BTreeSet<&str> = words.filter(|word| word.starts_with("portolan_")).collect();
    assert!(metrics.len() >= 5, "{metrics:?}");
    for metric in metrics {
        assert!(told.contains(&format!("| `{metric}` |")), "{metric}");
    }
    let mut promtool = std::process::Command::new("promtool");
    promtool.args(["test", "rules", "alerts-test.yaml"]).current_dir(root().join("docs"));
    match promtool.output() {
        Ok(ran) => assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout)),
        Err(_) => println!("skipped: promtool is not installed here"),
    }
}
