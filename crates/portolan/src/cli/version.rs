//! `portolan version`: which program this is, for which machine, on which engines.
//!
//! Invariant: what the build did not say is absent, never guessed.

use std::collections::BTreeMap;
use std::process::ExitCode;

use index::{ChainIndex, Identity};
use serde::Serialize;

use super::output::Output;
use crate::failure::Failure;

/// What a program says of itself.
#[derive(Serialize)]
struct Version {
    version: &'static str,
    /// The commit that it was built of, where its build was told (`PORTOLAN_COMMIT`).
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'static str>,
    /// The target triple of the compiler.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'static str>,
    /// Releases of what the data rests on, by name.
    engines: BTreeMap<&'static str, &'static str>,
    /// Format of the index of each chain that one is kept of: those of another format are refused.
    index_formats: BTreeMap<&'static str, u16>,
}

/// Says it.
pub(crate) fn run(output: Output) -> Result<ExitCode, Failure> {
    let said = |text: Option<&'static str>| text.filter(|text| !text.is_empty());
    let engines = [("sqlite", Some(meter::sqlite_version())), ("rocksdb", rocksdb())];
    let kept = chain::ALL.iter().filter(|chain| ChainIndex::is_kept_of(chain));
    let version = Version {
        version: env!("CARGO_PKG_VERSION"),
        commit: said(option_env!("PORTOLAN_COMMIT")),
        target: said(option_env!("PORTOLAN_TARGET")),
        engines: engines.into_iter().filter_map(|(name, it)| Some((name, it?))).collect(),
        index_formats: kept
            .map(|chain| (chain.slug, Identity::new(chain, &chain.networks[0]).format))
            .collect(),
    };
    output.print(&version, for_people)?;
    Ok(ExitCode::SUCCESS)
}

fn rocksdb() -> Option<&'static str> {
    option_env!("PORTOLAN_ROCKSDB")
}

fn for_people(it: &Version) -> String {
    let commit = it.commit.map(|commit| format!(" ({commit})")).unwrap_or_default();
    let target = it.target.map(|target| format!(" for {target}")).unwrap_or_default();
    let engines = it.engines.iter().map(|(name, release)| format!("{name} {release}"));
    let formats = it.index_formats.iter().map(|(chain, format)| format!("{chain} {format}"));
    format!(
        "portolan {}{commit}{target}\nengines: {}\nformats of indexes: {}",
        it.version,
        engines.collect::<Vec<_>>().join(", "),
        formats.collect::<Vec<_>>().join(", ")
    )
}
