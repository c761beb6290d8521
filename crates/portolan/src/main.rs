//! The program `portolan`. Everything is in the library.

use std::process::ExitCode;

/// A request makes some forty small allocations; this allocator halves their cost.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    spare_huge_pages();
    portolan::run(std::env::args_os())
}

/// Lets the kernel give us small pages only. The allocator returns what is not used for a while; in
/// pages of 2 MiB the next answer would wait until the kernel has cleared megabytes for it, which
/// took fifteen times as long as the answer. Where the kernel cannot, answers are only slower.
fn spare_huge_pages() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}
