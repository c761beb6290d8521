//! From the words of the command line to an exit code.
//!
//! 0: done. 1: it failed, one line on standard error says why. 2: the words make no sense.
//! With `--json` a failure is `{"error":TEXT}` on standard output besides.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use serde_json::json;

use crate::cli::output::{Output, complain};
use crate::cli::store::Whereabouts;
use crate::cli::{
    AccountCommand, Cli, Command, account, check, completions, copy, index, key, manual, methods,
    plan, usage, version,
};
use crate::config::Config;
use crate::failure::Failure;
use crate::variables::variables;
use crate::{demo, serve};

/// Runs the program with these arguments, the first being its name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let wants_json = arguments.iter().any(|argument| argument == "--json");
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return misunderstood(&error, &arguments, wants_json),
    };
    // Tables, the runs of a first load and connections are files, in every command.
    listen::raise_open_files();
    match carry_out(&cli) {
        Ok(code) => code,
        Err(failure) => {
            report(&failure.to_string(), cli.json);
            failure.code()
        }
    }
}

fn carry_out(cli: &Cli) -> Result<ExitCode, Failure> {
    let output = Output { json: cli.json };
    // None of these looks at a configuration, so none stumbles over one.
    match &cli.command {
        Command::Demo(args) => return demo::run(args, cli.config.as_deref(), output),
        Command::Version => return version::run(output),
        Command::Manual { words, to } => return manual::run(words, to.as_deref(), output),
        Command::Completions { shell } => return completions::run(*shell, output),
        _ => {}
    }
    let variables = variables()?;
    let create =
        matches!(&cli.command, Command::Account(AccountCommand::Add { create_store: true, .. }));
    let whereabouts = Whereabouts::of(cli.config.as_deref(), &variables, create);
    let config = Config::load(cli.config.as_deref(), variables)?;
    match &cli.command {
        Command::Demo(_)
        | Command::Version
        | Command::Manual { .. }
        | Command::Completions { .. } => {}
        Command::Serve(args) => return serve::run(cli.config.as_deref(), config, &args.only),
        Command::Check => return check::run(&config, output),
        Command::Index(command) => return index::run(&config, command, output),
        Command::Account(command) => account::run(&config, whereabouts, command, output)?,
        Command::Key(command) => key::run(&config, whereabouts, command, output)?,
        Command::Store(command) => copy::run(&config, command, output)?,
        Command::Plan(command) => plan::run(&config, command, output)?,
        Command::Methods { chain } => methods::run(&config, chain.as_deref(), output)?,
        Command::Usage(args) => usage::run(&config, whereabouts, args, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Help and version are answers; anything else is a misunderstanding.
fn misunderstood(error: &clap::Error, arguments: &[OsString], json: bool) -> ExitCode {
    if !error.use_stderr() {
        // Nobody is left to tell if standard output is closed.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.render().to_string();
    complain(&text);
    if json {
        print_error(&match error.kind() {
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => which_command(arguments),
            _ => in_one_line(&text),
        });
    }
    Failure::misunderstood(text).code()
}

/// What a command line needs that ends before its command: the words that may follow.
fn which_command(arguments: &[OsString]) -> String {
    let all = Cli::command();
    let (mut command, mut words) = (&all, vec![all.get_name()]);
    for argument in arguments.iter().skip(1) {
        if let Some(next) = argument.to_str().and_then(|word| command.find_subcommand(word)) {
            command = next;
            words.push(next.get_name());
        }
    }
    let shown = command.get_subcommands().filter(|next| !next.is_hide_set());
    let shown: Vec<&str> = shown.map(clap::Command::get_name).collect();
    format!("{}: which command? {}", words.join(" "), shown.join(", "))
}

/// A misunderstanding without the usage below it.
fn in_one_line(text: &str) -> String {
    let is_said = |line: &&str| !line.starts_with("Usage:") && !line.starts_with("For more");
    let said: Vec<&str> =
        text.lines().take_while(is_said).map(str::trim).filter(|line| !line.is_empty()).collect();
    said.join(" ").trim_start_matches("error: ").to_owned()
}

fn report(text: &str, json: bool) {
    complain(&format!("portolan: {text}"));
    if json {
        print_error(text);
    }
}

fn print_error(text: &str) {
    // Nobody is left to tell if standard output is closed.
    let _ = Output { json: true }.print(&json!({ "error": text }), |_| String::new());
}
