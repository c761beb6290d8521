//! Work that is done on several threads, in the order in which it stands.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::IndexError;

/// A piece of work.
pub(super) type Work<'a, T> = Box<dyn FnOnce() -> Result<T, IndexError> + Send + 'a>;

/// Does all work on so many threads; after an error no more is begun.
pub(super) fn side_by_side<T: Send>(
    threads: usize,
    work: Vec<Work<'_, T>>,
) -> Result<Vec<T>, IndexError> {
    let left = Mutex::new(VecDeque::from(work));
    let take = || left.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let run = || {
        let mut done = Vec::new();
        while let Some(piece) = take() {
            match piece() {
                Ok(one) => done.push(one),
                Err(error) => {
                    left.lock().unwrap_or_else(PoisonError::into_inner).clear();
                    return Err(error);
                }
            }
        }
        Ok(done)
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(run)).collect();
        let mut all = Vec::new();
        for thread in running {
            all.extend(thread.join().map_err(|_| IndexError::failed("merging was cut off"))??);
        }
        Ok(all)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn all_is_done_once_or_an_error_is_told() {
        for threads in [0, 1, 3, 20] {
            let work = |n: u32| -> Work<'_, u32> { Box::new(move || Ok(n)) };
            let mut done = side_by_side(threads, (0..10).map(work).collect()).unwrap();
            done.sort_unstable();
            assert_eq!(done, (0..10).collect::<Vec<_>>());
            let bad: Work<'_, u32> = Box::new(|| Err(IndexError::damaged("it is bad")));
            let work = (0..10).map(work).chain([bad]).collect();
            assert!(side_by_side(threads, work).is_err());
        }
    }
}
