//! The recorded answers that lie in the workspace.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use flate2::read::GzDecoder;
use serde_json::Value;

/// The folder of a chain's recordings.
pub fn folder(slug: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../replay/recordings")).join(slug)
}

/// The lines of a packed recording, e.g. `btc`, `transcript.jsonl.gz`.
pub fn lines(slug: &str, file: &str) -> impl Iterator<Item = Value> {
    let path = folder(slug).join(file);
    let packed = std::fs::File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    BufReader::new(GzDecoder::new(packed))
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}
