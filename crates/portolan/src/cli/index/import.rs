//! `portolan index import`: an index out of a stream of `portolan index export`.
//!
//! Invariant: nothing takes the place of an index that was not received whole, is not of the
//! configured chain and network, or cannot be opened; what failed leaves nothing behind.

use std::fs::{self, File};
use std::io::{self, BufReader, IsTerminal, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chain::{Chain, Network};
use index::{AtRest, Identity, IndexError, Memory};
use serde::Serialize;
use tar::{Archive, Entries, Entry, EntryType};

use super::served;
use super::stream::{
    END, End, LONGEST, Listed, MANIFEST, Manifest, Summed, damaged, entry_name, no_stream, sum_of,
};
use super::workplace::{Workplace, interruptible};
use crate::cli::output::Output;
use crate::config::{Config, Served};
use crate::failure::Failure;
use crate::serve::{index_dir, rebuilt};

/// What was taken in.
#[derive(Serialize)]
struct Taken {
    chain: &'static str,
    height: u32,
    best_hash: String,
    bytes: u64,
    folder: String,
    /// Whether it stands in its place already; else a server takes it at its next start.
    in_place: bool,
}

/// Takes the index of a chain from standard input.
pub(super) fn import(
    config: &Config,
    slug: &str,
    replace: bool,
    output: Output,
) -> Result<ExitCode, Failure> {
    if io::stdin().is_terminal() {
        let text = format!("standard input is a terminal: portolan index import {slug} < FILE");
        return Err(Failure::misunderstood(text));
    }
    let served = served(config, slug)?;
    let store = std::path::absolute(&config.store.dir)?;
    check_place(&store, slug, replace)?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&store)?;
    let place = Workplace::take(&store, &format!("{slug}.import"))?;
    let taking = Taking {
        dir: place.inner(),
        chain: served.chain,
        network: served.network,
        least_free: config.explorer.sync().least_free_bytes,
    };
    let manifest = interruptible(move || taking.receive(io::stdin().lock()))?;
    check_place(&store, slug, replace)?;
    let in_place = put(&store, &place.inner(), &served)?;
    let folder = if in_place { index_dir(&store, slug) } else { rebuilt::folder(&store, slug) };
    let taken = Taken {
        chain: served.chain.slug,
        height: manifest.tip.height,
        bytes: manifest.bytes().unwrap_or_default(),
        best_hash: manifest.tip.hash,
        folder: folder.display().to_string(),
        in_place,
    };
    output.print(&taken, for_people)?;
    Ok(ExitCode::SUCCESS)
}

fn for_people(taken: &Taken) -> String {
    let Taken { chain, height, bytes, folder, .. } = taken;
    let whole = format!("The index of {chain} up to block {height}, {bytes} bytes, stands");
    match taken.in_place {
        true => format!("{whole} in {folder}."),
        false => format!("{whole} ready in {folder}. The server takes it at its next start."),
    }
}

/// Whether there is a place for an index.
fn check_place(store: &Path, slug: &str, replace: bool) -> Result<(), Failure> {
    let (dir, new) = (index_dir(store, slug), rebuilt::folder(store, slug));
    if new.exists() {
        return Err(Failure::new(format!(
            "{} is there, of `portolan index rebuild` or an import: let a server take it, finish \
             the rebuild, or remove it",
            new.display()
        )));
    }
    let holds_something = fs::read_dir(&dir).is_ok_and(|mut files| files.next().is_some());
    if holds_something && !replace {
        let text = "is there already; --replace puts what is imported in its place";
        return Err(Failure::new(format!("{} {text}", dir.display())));
    }
    Ok(())
}

/// Puts what was received where the next start finds it; `false` while another one is in use there.
fn put(store: &Path, received: &Path, served: &Served) -> Result<bool, Failure> {
    let slug = served.chain.slug;
    fs::rename(received, rebuilt::folder(store, slug))?;
    rebuilt::mark_ready(store, slug)?;
    match rebuilt::put_in_place(store, served.chain, served.network) {
        Ok(_) => Ok(true),
        Err(IndexError::InUse { .. }) => Ok(false),
        Err(error) => Err(Failure::new(error.to_string())),
    }
}

/// Where an index is taken in, and which one it must be.
struct Taking {
    dir: PathBuf,
    chain: &'static Chain,
    network: &'static Network,
    /// Bytes that are to stay free on the disk.
    least_free: u64,
}

impl Taking {
    /// Receives a whole stream into the folder.
    fn receive(&self, from: impl Read) -> Result<Manifest, Failure> {
        let mut archive = Archive::new(BufReader::with_capacity(1 << 20, from));
        let mut entries = archive.entries().map_err(|_| no_stream())?;
        let first = entries.next().and_then(Result::ok).ok_or_else(no_stream)?;
        if !is_named(&first, MANIFEST) {
            return Err(no_stream());
        }
        let text = text(first)?;
        let manifest = Manifest::read(&text)?;
        self.check_stranger(&manifest.identity)?;
        self.check_room(&manifest)?;
        fs::create_dir(&self.dir).map_err(|error| failed(&self.dir, &error))?;
        let mut sums = vec![sum_of(&text)];
        for file in &manifest.files {
            sums.push(self.receive_file(next(&mut entries, &entry_name(file))?, file)?);
        }
        let end = self::text(next(&mut entries, END)?)?;
        let end: End = serde_json::from_slice(&end).map_err(|_| damaged("its end"))?;
        if end != (End { sha256: sums }) {
            return Err(damaged("a checksum is another one"));
        }
        if entries.next().is_some() {
            return Err(damaged("something is behind its end"));
        }
        sync(&self.dir)?;
        self.check_received(&manifest)?;
        Ok(manifest)
    }

    fn receive_file(&self, entry: Entry<'_, impl Read>, file: &Listed) -> Result<String, Failure> {
        let path = self.dir.join(&file.name);
        let mut to = File::create_new(&path).map_err(|error| failed(&path, &error))?;
        let mut from = Summed::new(entry);
        if let Err(error) = io::copy(&mut from, &mut to) {
            return Err(if from.broken { damaged(error) } else { failed(&path, &error) });
        }
        if from.bytes != file.bytes {
            return Err(damaged(format!("{} has another size", file.name)));
        }
        to.sync_all().map_err(|error| failed(&path, &error))?;
        Ok(from.sum())
    }

    fn check_stranger(&self, found: &Identity) -> Result<(), Failure> {
        let wanted = Identity::new(self.chain, self.network);
        if *found != wanted {
            return Err(Failure::new(format!("the stream holds {found}, not {wanted}")));
        }
        Ok(())
    }

    fn check_room(&self, manifest: &Manifest) -> Result<(), Failure> {
        let parent = self.dir.parent().unwrap_or(&self.dir);
        let disk = rustix::fs::statvfs(parent).map_err(|error| failed(parent, &error.into()))?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let wanted = manifest.bytes().unwrap_or(u64::MAX).saturating_add(self.least_free);
        if free < wanted {
            return Err(Failure::new(format!(
                "{}: {wanted} bytes are needed, explorer.least_free_mb included, and {free} are free",
                parent.display()
            )));
        }
        Ok(())
    }

    /// Opens what was received.
    fn check_received(&self, manifest: &Manifest) -> Result<(), Failure> {
        let refused =
            |error: IndexError| damaged(format!("what it holds cannot be opened: {error}"));
        let memory = Memory::new(8 << 20, 8 << 20);
        let held = AtRest::read(&self.dir, self.chain, self.network, &memory).map_err(refused)?;
        if held.tip != Some((manifest.tip.height, manifest.tip.hash.clone())) {
            return Err(damaged("its rows end at another block than it says"));
        }
        Ok(())
    }
}

/// The next entry, which must be this one.
fn next<'a, R: Read>(entries: &mut Entries<'a, R>, name: &str) -> Result<Entry<'a, R>, Failure> {
    let entry = entries.next().ok_or_else(|| damaged(format!("it ends before {name}")))?;
    let entry = entry.map_err(damaged)?;
    if !is_named(&entry, name) {
        return Err(damaged(format!("something stands in the place of {name}")));
    }
    Ok(entry)
}

fn is_named(entry: &Entry<'_, impl Read>, name: &str) -> bool {
    entry.header().entry_type() == EntryType::Regular && *entry.path_bytes() == *name.as_bytes()
}

/// A short entry, whole.
fn text(entry: Entry<'_, impl Read>) -> Result<Vec<u8>, Failure> {
    let (size, mut text) = (entry.size(), Vec::new());
    if size > LONGEST {
        return Err(damaged("its manifest or end is too long"));
    }
    entry.take(LONGEST).read_to_end(&mut text).map_err(damaged)?;
    if text.len() as u64 != size {
        return Err(damaged("its manifest or end is too short"));
    }
    Ok(text)
}

/// Lets the names of the files be on the disk.
fn sync(dir: &Path) -> Result<(), Failure> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(|error| failed(dir, &error))
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}
