//! `portolan manual`: manual pages, made from the command line itself.
//!
//! Invariant: a page says what `--help` says, since both are made of the same words.

use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
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
    clap_mangen::generate_to(Cli::command(), folder).map_err(failed)?;
    let written = Written { folder: folder.display().to_string() };
    output.print(&written, |written| format!("The pages are in {}.", written.folder))?;
    Ok(())
}

fn page(words: &[String]) -> Result<String, Failure> {
    let mut command = Cli::command().disable_help_subcommand(true);
    // Gives commands their whole names and the options that stand anywhere.
    command.build();
    for word in words {
        let names: Vec<String> =
            command.get_subcommands().map(|it| it.get_name().to_owned()).collect();
        let unknown = || Failure::new(nearest("command", word, names.iter().map(String::as_str)));
        command = command.find_subcommand(word).ok_or_else(unknown)?.clone();
    }
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    String::from_utf8(page).map_err(|_| Failure::new("the page is no text"))
}
