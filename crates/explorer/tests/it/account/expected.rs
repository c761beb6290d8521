//! What was worked out of the recordings apart from this program.

use std::path::PathBuf;

use flate2::read::GzDecoder;
use serde_json::Value;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../replay/recordings/eth"))
}

/// The values for the recorded geth.
pub fn geth() -> Value {
    let packed = std::fs::File::open(folder().join("geth-expected.json.gz")).unwrap();
    serde_json::from_reader(GzDecoder::new(packed)).unwrap()
}

/// The page on the recorded anvil.
pub struct Anvil(String);

impl Anvil {
    pub fn read() -> Anvil {
        Anvil(std::fs::read_to_string(folder().join("expected.md")).unwrap())
    }

    fn section(&self, title: &str) -> &str {
        let (_, rest) = self.0.split_once(&format!("\n## {title}")).unwrap();
        rest.split("\n## ").next().unwrap()
    }

    /// The rows of a section's table, without its head.
    pub fn table(&self, title: &str) -> Vec<Vec<&str>> {
        let rows = self.section(title).lines().filter(|line| line.starts_with("| "));
        rows.skip(1)
            .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
            .collect()
    }

    /// Every transaction that is told whole.
    pub fn transactions(&self) -> Vec<Value> {
        let section = self.section("Transactions");
        let blocks = section.split("```json\n").skip(1);
        blocks
            .map(|block| serde_json::from_str(block.split("\n```").next().unwrap()).unwrap())
            .collect()
    }

    /// Histories: an address, and `height.index` of its transactions, newest first.
    pub fn histories(&self) -> Vec<(String, Vec<String>)> {
        let section = self.section("Address histories");
        let lines =
            section.lines().filter(|line| line.starts_with("- ") && line.contains(" txs: "));
        let history = |line: &str| {
            let at = line.find("0x").unwrap();
            let list = line.split(" txs: ").nth(1).unwrap();
            let places = list.split_whitespace().filter(|word| word.contains('.'));
            (line[at..at + 42].to_owned(), places.map(str::to_owned).collect())
        };
        lines.filter(|line| !line.contains("block 13 x25")).map(history).collect()
    }
}
