//! The bytes of every table, held against a file.
//!
//! The rows of a small chain stand in `rows-of-format-N.txt`. Where they change, `FORMAT` has to be
//! raised, so that an index of before is refused and not misread, and the file made anew: run the
//! test with `WRITE_ROWS=1`.

use std::fmt::Write;

use index::ring::Identity;

use crate::ring::forged::mixed;
use crate::ring::rig::{chain, connected, network, rows};

#[test]
fn the_bytes_of_rows_change_with_their_format_only() {
    let dir = tempfile::tempdir().unwrap();
    let store = connected(dir.path(), &mixed().blocks);
    let mut ours = String::new();
    for ((table, key), value) in rows(&store) {
        let (key, value) = (const_hex::encode(key), const_hex::encode(value));
        writeln!(ours, "{table} {key} {value}").unwrap();
    }
    let format = Identity::new(chain(), network()).format;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/ring/");
    let path = format!("{folder}rows-of-format-{format}.txt");
    if std::env::var_os("WRITE_ROWS").is_some() {
        std::fs::write(&path, &ours).unwrap();
    }
    let held = std::fs::read_to_string(&path).expect("the rows of this format are in a file");
    for (ours, held) in ours.lines().zip(held.lines()) {
        assert_eq!(ours, held, "rows changed: raise FORMAT, then write the file anew");
    }
    assert_eq!(ours.lines().count(), held.lines().count(), "rows changed: raise FORMAT");
}
