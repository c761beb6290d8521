//! The recordings that ship with the program, by chain.
//!
//! Each is unpacked when it is first asked for, and once. Invariant: a table row is all that a
//! recording needs.

use std::sync::OnceLock;

use crate::exchange::Format::{Plain, Transcript};
use crate::options::{Phase, Take};
use crate::recording::{Recording, Source, Unreadable};

struct Row {
    slug: &'static str,
    take: Take,
    sources: &'static [Source],
    recording: OnceLock<Result<Recording, Unreadable>>,
}

macro_rules! row {
    ($slug:literal, $take:ident, $($file:literal $format:ident $phase:ident),+) => {
        Row {
            slug: $slug,
            take: Take::$take,
            sources: &[$(Source {
                packed: include_bytes!(concat!("../recordings/", $slug, "/", $file, ".jsonl.br")),
                format: $format,
                phase: Phase::$phase,
            }),+],
            recording: OnceLock::new(),
        }
    };
}

static ROWS: [Row; 11] = [
    row!("btc", Main, "transcript" Transcript A),
    row!("ltc", Main, "transcript" Transcript A),
    row!("doge", Main, "transcript" Transcript A),
    row!("bch", Main, "transcript" Transcript A),
    row!("xec", Main, "transcript" Transcript A),
    row!("zec", Main, "transcript" Transcript A),
    row!("dcr", Main, "transcript" Transcript A),
    row!("eth", Main, "geth" Plain A),
    row!("eth", Anvil, "anvil" Plain A),
    row!("eth", AnvilReorg, "reorg" Plain A),
    row!("xmr", Main,
        "monerod" Plain A,
        "monerod-bin" Plain A,
        "monerod-reorg-popped" Plain Popped,
        "monerod-reorg-after" Plain B),
];

/// The recording of a chain; `None` if there is no such one.
pub(crate) fn recording(slug: &str, take: Take) -> Option<Result<&'static Recording, Unreadable>> {
    let row = ROWS.iter().find(|row| row.slug == slug && row.take == take)?;
    let recording = row.recording.get_or_init(|| Recording::read(row.sources));
    Some(recording.as_ref().map_err(|error| *error))
}
