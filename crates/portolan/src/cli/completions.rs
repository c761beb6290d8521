//! `portolan completions`: what a shell needs to complete our words.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;
use serde::Serialize;

use super::Cli;
use super::output::Output;
use crate::failure::Failure;

#[derive(Serialize)]
struct Completions {
    shell: String,
    /// To be read by that shell.
    script: String,
}

/// Prints it.
pub(crate) fn run(shell: Shell, output: Output) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "portolan", &mut script);
    let script =
        String::from_utf8(script).map_err(|_| Failure::new("the completions are no text"))?;
    let completions = Completions { shell: shell.to_string(), script };
    output.print(&completions, |it| it.script.clone())?;
    Ok(ExitCode::SUCCESS)
}
