//! The document of this family's interface has every path with every status.

use std::collections::BTreeSet;
use std::path::Path;

use explorer::Reason;

const PATHS: [&str; 11] = [
    "/status",
    "/blocks",
    "/block/{block}",
    "/block/{block}/txs",
    "/tx/{hash}",
    "/address/{address}",
    "/address/{address}/txs",
    "/gas",
    "/contract/{address}",
    "/mempool",
    "/search/{query}",
];

#[test]
fn every_path_of_the_family_has_every_status_and_no_other() {
    let file = "../../docs/api/explorer-accounts.openapi.yaml";
    let interface = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
    let interface = interface.unwrap();
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
        assert_eq!(statuses.collect::<BTreeSet<u16>>(), expected, "{part}");
    }
}
