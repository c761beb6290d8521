//! The document of the interface says what the explorer does: reasons, statuses, chains, paths.

#![allow(clippy::unwrap_used, reason = "a test says with a panic what went wrong")]

use std::collections::BTreeSet;
use std::path::Path;

use explorer::Reason;

/// The paths of the utxo family, under `/api/v1/{chain}`.
const PATHS: [&str; 10] = [
    "/status",
    "/blocks",
    "/block/{block}",
    "/block/{block}/txs",
    "/tx/{txid}",
    "/address/{address}",
    "/address/{address}/txs",
    "/address/{address}/utxo",
    "/mempool",
    "/search/{query}",
];

fn interface() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api/explorer.openapi.yaml");
    std::fs::read_to_string(path).unwrap()
}

/// The items of the list that follows `name`.
fn list<'a>(interface: &'a str, name: &str) -> Vec<&'a str> {
    let (_, rest) = interface.split_once(name).unwrap();
    let items = rest.lines().map(str::trim).skip_while(|line| !line.starts_with("- "));
    items.map_while(|line| line.strip_prefix("- ")).collect()
}

#[test]
fn interface_has_every_reason_and_no_other() {
    let interface = interface();
    let names = Reason::ALL.map(|reason| reason.row().name);
    assert_eq!(list(&interface, "reason:\n"), names);
}

#[test]
fn every_path_has_every_status_and_no_other() {
    let interface = interface();
    let (_, paths) = interface.split_once("\npaths:\n").unwrap();
    let (paths, _) = paths.split_once("\ncomponents:\n").unwrap();
    let parts: Vec<&str> = paths.split("  /api/v1/{chain}").skip(1).collect();
    let found: Vec<&str> = parts.iter().map(|part| part.split_once(":\n").unwrap().0).collect();
    assert_eq!(found, PATHS);
    let refused = Reason::ALL.iter().map(|reason| reason.row().status);
    let expected: BTreeSet<u16> = refused.chain([200, 304]).collect();
    for part in parts {
        let statuses = part.lines().filter_map(|line| line.trim().strip_prefix('"'));
        let statuses = statuses.map(|line| line.split('"').next().unwrap().parse().unwrap());
        // The pre-flight question stands with one path, for all.
        let statuses: BTreeSet<u16> = statuses.filter(|status| *status != 204).collect();
        assert_eq!(statuses, expected, "{part}");
    }
}

#[test]
fn interface_has_every_chain_in_order() {
    let slugs = chain::ALL.map(|chain| chain.slug);
    assert!(interface().contains(&format!("enum: [{}]", slugs.join(", "))));
}
