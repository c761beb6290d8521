//! How long a store into a shared mapping of a file may take while the file is synced once a second,
//! as the usage file is: `mapped-gaps FILE SECONDS`. To be held against a FILE in memory (`/dev/shm`).
//! Prints the number of stores, p99 and p99.9 in microseconds, the longest three in milliseconds, and
//! how many took more than 1 and 10 ms. The file is made, and removed in the end.

use std::fs::{OpenOptions, remove_file};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use memmap2::MmapOptions;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Pages that are written, one word of each.
const PAGES: usize = 64;
const PAGE_BYTES: usize = 4096;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [path, seconds] = &words[..] else { return Err("usage: mapped-gaps FILE SECONDS".into()) };
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    file.set_len((PAGES * PAGE_BYTES) as u64)?;
    let map = Arc::new(MmapOptions::new().len(PAGES * PAGE_BYTES).map_raw(&file)?);
    let over = Arc::new(AtomicBool::new(false));
    let syncing = {
        let (map, over) = (Arc::clone(&map), Arc::clone(&over));
        thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                if map.flush().is_err() {
                    return;
                }
                thread::sleep(Duration::from_secs(1));
            }
        })
    };
    let end = Instant::now() + Duration::from_secs_f64(seconds.parse()?);
    let mut took = Vec::new();
    while Instant::now() < end {
        let place = took.len() * 37 % PAGES * PAGE_BYTES;
        // SAFETY: `place` is a multiple of the page size within the mapping, which lives until the end
        // of `main`; nothing but atomics reads or writes it.
        let word = unsafe { AtomicU64::from_ptr(map.as_mut_ptr().add(place).cast()) };
        let began = Instant::now();
        word.fetch_add(1, Ordering::AcqRel);
        took.push(began.elapsed());
        thread::sleep(Duration::from_micros(50));
    }
    over.store(true, Ordering::Relaxed);
    let _ = syncing.join();
    remove_file(path)?;
    took.sort_unstable();
    let at = |share: f64| took[(took.len() as f64 * share) as usize].as_nanos() as f64 / 1000.0;
    let longest: Vec<f64> = took.iter().rev().take(3).map(|t| t.as_secs_f64() * 1000.0).collect();
    let beyond = |ms| took.iter().filter(|t| t.as_millis() >= ms).count();
    println!(
        "{} {:.1} {:.1} {longest:.2?} {} {}",
        took.len(),
        at(0.99),
        at(0.999),
        beyond(1),
        beyond(10)
    );
    Ok(())
}
