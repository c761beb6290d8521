//! How a first load is done.
//!
//! Invariant: none of it changes a row.

/// How the first load is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadOptions {
    /// Memory for the table of unspent outputs; beyond it they are kept in sorted files; 1 GiB.
    pub table_bytes: usize,
    /// Raw bytes of blocks between two points at which a load that was cut off goes on; 4 GiB.
    pub segment_bytes: u64,
    /// Memory for one sorted run; 64 MiB.
    pub run_bytes: usize,
    /// Threads that decode while one joins and others sort and write; the number of cores.
    pub threads: usize,
}

impl Default for LoadOptions {
    fn default() -> LoadOptions {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        LoadOptions {
            table_bytes: 1 << 30,
            segment_bytes: 4 << 30,
            run_bytes: 64 << 20,
            threads: cores,
        }
    }
}
