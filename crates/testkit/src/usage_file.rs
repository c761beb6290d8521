//! A usage file as a former version left it.

use std::path::Path;
use std::{fs, io};

/// Makes a usage file one of format 2, as a program wrote it that knew of no replicas.
///
/// # Errors
/// The file cannot be read or written.
pub fn make_former_usage_file(path: &Path) -> io::Result<()> {
    let mut bytes = fs::read(path)?;
    let words = bytes.as_chunks_mut::<8>().0;
    words[1] = 2_u64.to_ne_bytes();
    let begin = words[..5].as_flattened();
    let hash = begin.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    words[5] = (hash ^ hash >> 32).to_ne_bytes();
    words[6] = [0; 8];
    fs::write(path, bytes)
}
