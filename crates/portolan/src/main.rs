//! The program `portolan`. Everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    portolan::run(std::env::args_os())
}
