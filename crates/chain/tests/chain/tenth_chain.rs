//! What a new chain still lacks, by name.
//!
//! A chain of a known family is five paths: a file in `chains/`, a line in the list, a method
//! file, recordings and an example stanza.

use std::path::PathBuf;

fn crate_path(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn stems(folder: &str) -> Vec<String> {
    let folder = crate_path(folder);
    std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect()
}

/// A chain file or a method file without a line in the list.
#[test]
fn every_file_has_a_line_in_the_list() {
    for folder in ["src/chains", "methods"] {
        for slug in stems(folder) {
            assert!(chain::find(&slug).is_some(), "{folder}/{slug}: no line in src/chains.rs");
        }
    }
}

#[test]
fn every_chain_has_its_files() {
    let mut missing = Vec::new();
    for chain in chain::ALL {
        let slug = chain.slug;
        for path in [format!("src/chains/{slug}.rs"), format!("methods/{slug}.txt")] {
            if !crate_path(&path).is_file() {
                missing.push(format!("crates/chain/{path}"));
            }
        }
        let recordings = format!("crates/replay/recordings/{slug}");
        if !crate_path("../..").join(&recordings).is_dir() {
            missing.push(recordings);
        }
    }
    assert!(missing.is_empty(), "missing: {missing:#?}");
}

#[test]
fn every_chain_has_an_example_stanza() {
    let path = crate_path("../../portolan.example.toml");
    let example = std::fs::read_to_string(&path).expect("portolan.example.toml is there");
    for chain in chain::ALL {
        let stanza = format!("[chain.{}]", chain.slug);
        let there =
            example.lines().any(|line| line.trim_start_matches(['#', ' ']).starts_with(&stanza));
        assert!(there, "portolan.example.toml: no {stanza}, not even commented out");
    }
}
