//! The program `portolan`. Everything is in the library.

use std::process::ExitCode;

/// A request makes some forty small allocations; this allocator halves their cost.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    portolan::run(std::env::args_os())
}
