//! `portolan manual`: manual pages, made from the command line itself.
//!
//! Invariant: a page says what `--help` says, since both are made of the same words.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use serde::Serialize;

use super::Cli;
use super::output::Output;
use crate::config::nearest;
use crate::failure::Failure;

#[derive(Serialize)]
struct Page {
    /// The page, in the language of man(7).
    manual: String,
}

#[derive(Serialize)]
struct Written {
    folder: String,
}

/// Prints the page of a command, or writes those of all.
pub(crate) fn run(
    words: &[String],
    to: Option<&Path>,
    output: Output,
) -> Result<ExitCode, Failure> {
    match to {
        Some(folder) => write_all(folder, output)?,
        None => output.print(&Page { manual: page(words)? }, |page| page.manual.clone())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn write_all(folder: &Path, output: Output) -> Result<(), Failure> {
    let failed = |error| Failure::new(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    write(&whole(), folder).map_err(failed)?;
    let written = Written { folder: folder.display().to_string() };
    output.print(&written, |written| format!("The pages are in {}.", written.folder))?;
    Ok(())
}

/// Writes the page of a command and those of its own commands.
fn write(command: &Command, folder: &Path) -> io::Result<()> {
    for inner in command.get_subcommands() {
        write(inner, folder)?;
    }
    std::fs::write(folder.join(man(command).get_filename()), text(command)?)
}

fn page(words: &[String]) -> Result<String, Failure> {
    let mut command = &whole();
    for word in words {
        let names = command.get_subcommands().map(Command::get_name);
        let unknown = || Failure::misunderstood(nearest("command", word, names));
        command = command.find_subcommand(word).ok_or_else(unknown)?;
    }
    Ok(text(command)?)
}

/// The command line with whole names, and the options that stand anywhere at every command.
fn whole() -> Command {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    command
}

fn man(command: &Command) -> Man {
    Man::new(command.clone())
        .source(concat!("portolan ", env!("CARGO_PKG_VERSION")))
        .manual("Portolan")
}

/// A page; examples stand as they are typed, in lines of their own.
fn text(command: &Command) -> io::Result<String> {
    let mut page = Vec::new();
    man(command).render(&mut page)?;
    let page = String::from_utf8(page).map_err(io::Error::other)?;
    Ok(page
        .replace(".SH EXTRA\n", ".SH EXAMPLES\n.nf\n")
        .replace(".SH VERSION\n", ".fi\n.SH VERSION\n"))
}
