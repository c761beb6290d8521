//! `portolan index export`: an index as a stream, while a server runs or not.
//!
//! Leaves the copy that is streamed to the engine, and its form to `stream`. Invariants: what is sent
//! is whole at one block; nothing of the copy stays.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use index::{AtRest, Memory};

use super::stream::{END, End, Listed, MANIFEST, Manifest, Summed, Tip, entry_name, sum_of};
use super::workplace::{Workplace, interruptible};
use super::{copy_to, served};
use crate::cli::output::{Output, complain};
use crate::config::{Config, Served};
use crate::failure::Failure;

/// Sends the index of a chain to standard output.
pub(super) fn export(config: &Config, slug: &str, output: Output) -> Result<ExitCode, Failure> {
    if output.json {
        let text = "the stream takes standard output, so there is no --json; what it is of is in \
                    its manifest.json";
        return Err(Failure::misunderstood(text));
    }
    if io::stdout().is_terminal() {
        let text = format!("standard output is a terminal: portolan index export {slug} > FILE");
        return Err(Failure::misunderstood(text));
    }
    let served = served(config, slug)?;
    // On the disk of the index, where a copy is hard links.
    let place =
        Workplace::take(&std::path::absolute(&config.store.dir)?, &format!("{slug}.export"))?;
    let dir = place.inner();
    copy_to(config, &served, &dir)?;
    let manifest = manifest(&dir, &served)?;
    let told = told(&manifest);
    interruptible(move || send(&manifest, &dir, io::stdout().lock()))?;
    complain(&told);
    Ok(ExitCode::SUCCESS)
}

fn told(manifest: &Manifest) -> String {
    let (tip, files) = (&manifest.tip, manifest.files.len());
    let bytes = manifest.bytes().unwrap_or_default();
    format!("{} up to block {}: {files} files, {bytes} bytes", manifest.identity, tip.height)
}

/// What a copy holds.
fn manifest(dir: &Path, served: &Served) -> Result<Manifest, Failure> {
    // Before it is opened, which leaves a log there.
    let mut files = files(dir)?;
    files.sort_by(|one, other| one.name.cmp(&other.name));
    let (chain, network) = (served.chain, served.network);
    let failed = |error: index::IndexError| Failure::new(error.to_string());
    let (_, identity) = AtRest::identities(dir, chain, network).map_err(failed)?;
    let held = AtRest::read(dir, chain, network, &Memory::new(8 << 20, 8 << 20)).map_err(failed)?;
    let nothing = || Failure::new("the index holds no block yet; there is nothing to export");
    let (height, hash) = held.tip.ok_or_else(nothing)?;
    Ok(Manifest::new(identity, Tip { height, hash }, files))
}

fn files(dir: &Path) -> Result<Vec<Listed>, Failure> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().into_string();
        let name = name.map_err(|_| Failure::new("a file of the index has an odd name"))?;
        files.push(Listed { name, bytes: entry.metadata()?.len() });
    }
    Ok(files)
}

/// Sends manifest, files and end.
fn send(manifest: &Manifest, dir: &Path, to: impl Write) -> Result<(), Failure> {
    let mut archive = tar::Builder::new(BufWriter::with_capacity(1 << 20, to));
    let text = serde_json::to_vec(manifest)?;
    let mut sums = vec![sum_of(&text)];
    append_text(&mut archive, MANIFEST, &text)?;
    for file in &manifest.files {
        sums.push(append_file(&mut archive, file, &dir.join(&file.name))?);
    }
    append_text(&mut archive, END, &serde_json::to_vec(&End { sha256: sums })?)?;
    archive.into_inner().and_then(|mut out| out.flush()).map_err(unsent)
}

fn append_text(
    archive: &mut tar::Builder<impl Write>,
    name: &str,
    text: &[u8],
) -> Result<(), Failure> {
    archive.append_data(&mut header(text.len() as u64), name, text).map_err(unsent)
}

/// Appends a file, and gives its checksum.
fn append_file(
    archive: &mut tar::Builder<impl Write>,
    file: &Listed,
    path: &Path,
) -> Result<String, Failure> {
    let failed = |error: &io::Error| Failure::new(format!("{}: {error}", path.display()));
    let from = File::open(path).map_err(|error| failed(&error))?;
    let mut from = Summed::new(from.take(file.bytes));
    let sent = archive.append_data(&mut header(file.bytes), entry_name(file), &mut from);
    sent.map_err(|error| if from.broken { failed(&error) } else { unsent(error) })?;
    if from.bytes != file.bytes {
        return Err(Failure::new(format!("{}: it has changed meanwhile", path.display())));
    }
    Ok(from.sum())
}

fn header(bytes: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes);
    header.set_mode(0o600);
    header
}

fn unsent(error: io::Error) -> Failure {
    Failure::new(format!("the stream cannot be written: {error}"))
}
