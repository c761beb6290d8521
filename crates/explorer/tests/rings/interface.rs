//! The document of this family's interface has every path with every status.

use std::collections::BTreeSet;
use std::path::Path;

use explorer::Reason;

const PATHS: [&str; 8] = [
    "/status",
    "/blocks",
    "/block/{block}",
    "/block/{block}/txs",
    "/tx/{hash}",
    "/mempool",
    "/search/{query}",
    "/tx/{hash}/outputs/check",
];

#[test]
fn every_path_of_the_family_has_every_status_and_no_other() {
    let file = "../../docs/api/explorer-rings.openapi.yaml";
    let interface = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
    let interface = interface.unwrap();
    let (_, paths) = interface.split_once("\npaths:\n").unwrap();
    let (paths, _) = paths.split_once("\ncomponents:\n").unwrap();
    let parts: Vec<&str> = paths.split("  /api/v1/{chain}").skip(1).collect();
    let found: Vec<&str> = parts.iter().map(|part| part.split_once(":\n").unwrap().0).collect();
    assert_eq!(found, PATHS);
    let refused: BTreeSet<u16> = Reason::ALL.iter().map(|reason| reason.row().status).collect();
    for (path, part) in found.iter().zip(parts) {
        let statuses = part.lines().filter_map(|line| line.trim().strip_prefix('"'));
        let statuses = statuses.map(|line| line.split('"').next().unwrap().parse().unwrap());
        let mut expected = refused.clone();
        expected.insert(200);
        // What is posted is never kept, so it is never unchanged.
        if !path.ends_with("/check") {
            expected.insert(304);
        }
        assert_eq!(statuses.collect::<BTreeSet<u16>>(), expected, "{part}");
    }
}

#[test]
fn the_document_has_every_reason_and_no_other() {
    let file = "../../docs/api/explorer-rings.openapi.yaml";
    let interface = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
    let interface = interface.unwrap();
    let (_, list) = interface.split_once("reason:\n").unwrap();
    let items = list.lines().map(str::trim).skip_while(|line| !line.starts_with("- "));
    let listed: Vec<&str> = items.map_while(|line| line.strip_prefix("- ")).collect();
    assert_eq!(listed, Reason::ALL.map(|reason| reason.row().name));
}
