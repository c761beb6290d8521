//! Tells the program what only its build knows: the machine that it is for, and the release of the
//! engine under the indexes, which stands in the lock file and nowhere else.
//!
//! The commit is given by whoever builds, in `PORTOLAN_COMMIT`: a build does not look for a
//! repository around it.

use std::path::Path;

fn main() {
    // Asked when it runs: a folder of built parts may be shared by several clones.
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let lock = Path::new(&folder).join("../../Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    println!("cargo::rerun-if-changed=build.rs");
    if let Ok(target) = std::env::var("TARGET") {
        println!("cargo::rustc-env=PORTOLAN_TARGET={target}");
    }
    // "0.19.0+11.8.1": of the bindings, then of the engine.
    let text = std::fs::read_to_string(lock).unwrap_or_default();
    let engine = text
        .split_once("name = \"librocksdb-sys\"\nversion = \"")
        .and_then(|(_, rest)| rest.split('"').next()?.split_once('+'));
    if let Some((_, engine)) = engine {
        println!("cargo::rustc-env=PORTOLAN_ROCKSDB={engine}");
    }
}
