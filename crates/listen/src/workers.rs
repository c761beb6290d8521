//! The threads that connections are served on, each with a runtime of its own.
//!
//! A connection goes to the thread that has fewest, and stays there: nothing of its requests crosses
//! threads. Leaves accepting to the accept loop, and work that blocks to the pools of the runtimes.
//! Invariant: a connection counts at its thread until it has ended, wherever it ends.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// How long the work that blocks may take to let go at the end.
const LET_GO: Duration = Duration::from_secs(2);

/// What a pool's threads let the workers have before them where both want a processor: the weights
/// are then as 1 to 3 (sched(7)), so that neither waits for ever.
const POOL_NICE: i32 = 5;

/// The runtimes that connections live on; clones share them.
#[derive(Clone, Debug)]
pub struct Workers(Arc<[Worker]>);

#[derive(Debug)]
struct Worker {
    runtime: Handle,
    connections: AtomicUsize,
}

/// A connection that counts at its worker.
struct Counted {
    workers: Workers,
    place: usize,
}

impl Workers {
    /// The runtime that this is called on, alone.
    ///
    /// # Panics
    /// Outside a runtime.
    pub fn here() -> Workers {
        Workers::of([Handle::current()])
    }

    fn of(runtimes: impl IntoIterator<Item = Handle>) -> Workers {
        let worker = |runtime| Worker { runtime, connections: AtomicUsize::new(0) };
        Workers(runtimes.into_iter().map(worker).collect())
    }

    /// Lets the worker with the fewest connections make one and serve it. Of equals it is the
    /// first, whose connections to the nodes are the warmest.
    pub(crate) fn serve<F>(&self, connection: impl FnOnce() -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let load = |place: &usize| self.0[*place].connections.load(Ordering::Relaxed);
        let Some(place) = (0..self.0.len()).min_by_key(load) else { return };
        let worker = &self.0[place];
        worker.connections.fetch_add(1, Ordering::Relaxed);
        let counted = Counted { workers: self.clone(), place };
        worker.runtime.spawn(async move {
            let _counted = counted;
            connection().await;
        });
    }

    /// Open connections of each worker.
    pub fn connections(&self) -> Vec<usize> {
        self.0.iter().map(|worker| worker.connections.load(Ordering::Relaxed)).collect()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.workers.0[self.place].connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Threads of workers. They end with this, and what still runs on them is dropped then.
#[derive(Debug)]
pub struct Threads {
    workers: Workers,
    threads: Vec<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Threads {
    /// Starts so many threads, at least one, each with a single-threaded runtime.
    ///
    /// # Errors
    /// The operating system gives no thread or no runtime.
    pub fn start(count: usize) -> io::Result<Threads> {
        let mut threads = Vec::with_capacity(count);
        let mut runtimes = Vec::with_capacity(count);
        for place in 0..count.max(1) {
            let (end, ended) = oneshot::channel::<()>();
            let (started, handle) = mpsc::sync_channel(1);
            let work = move || {
                // Of a runtime of one thread these are the threads of its pool.
                let mut runtime = Builder::new_current_thread();
                let runtime = match runtime.enable_all().on_thread_start(step_back).build() {
                    Ok(runtime) => runtime,
                    Err(error) => return drop(started.send(Err(error))),
                };
                if started.send(Ok(runtime.handle().clone())).is_ok() {
                    // A sender that is dropped says the same as one that sends.
                    let _ = runtime.block_on(ended);
                }
                runtime.shutdown_timeout(LET_GO);
            };
            let name = format!("worker-{place}");
            let thread = std::thread::Builder::new().name(name).spawn(work)?;
            runtimes.push(handle.recv().map_err(io::Error::other)??);
            threads.push((end, thread));
        }
        Ok(Threads { workers: Workers::of(runtimes), threads })
    }

    /// Where their connections go.
    pub fn workers(&self) -> &Workers {
        &self.workers
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let (ends, threads): (Vec<_>, Vec<_>) = self.threads.drain(..).unzip();
        drop(ends);
        for thread in threads {
            // A panic on it was told when it happened.
            let _ = thread.join();
        }
    }
}

/// Work that blocks has a thread for as long as it takes; a connection waits for its worker with
/// all others of it.
fn step_back() {
    // Of Linux's threads each has a priority of its own. Without it all are equal, as before.
    // Nor does a process that steps back already come forward.
    if rustix::process::getpriority_process(None).is_ok_and(|nice| nice < POOL_NICE) {
        let _ = rustix::process::setpriority_process(None, POOL_NICE);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn threads_of_the_pool_step_back_before_workers() {
        let nice = || rustix::process::getpriority_process(None).unwrap();
        let ours = nice();
        let threads = Threads::start(1).unwrap();
        let (told, seen) = channel();
        threads.workers().serve(move || async move {
            let pool = tokio::task::spawn_blocking(nice).await.unwrap();
            told.send((nice(), pool)).unwrap();
        });
        assert_eq!(seen.recv().unwrap(), (ours, POOL_NICE.max(ours)));
    }

    #[test]
    fn connections_go_where_there_are_fewest_and_are_counted_to_their_end() {
        let threads = Threads::start(3).unwrap();
        let workers = threads.workers();
        let (told, names) = channel();
        let mut held = Vec::new();
        for _ in 0..6 {
            let (end, ended) = oneshot::channel::<()>();
            let told = told.clone();
            workers.serve(move || async move {
                told.send(std::thread::current().name().unwrap().to_owned()).unwrap();
                let _ = ended.await;
            });
            held.push(end);
        }
        let mut seen: Vec<String> = names.iter().take(6).collect();
        seen.sort();
        assert_eq!(seen, ["worker-0", "worker-0", "worker-1", "worker-1", "worker-2", "worker-2"]);
        assert_eq!(workers.connections(), [2, 2, 2]);
        // Those of the second worker end; the next goes there.
        held.remove(4);
        held.remove(1);
        while workers.connections()[1] > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        workers.serve(move || async move {
            told.send(std::thread::current().name().unwrap().to_owned()).unwrap();
        });
        assert_eq!(names.recv().unwrap(), "worker-1");
        drop(threads);
        assert!(held.iter().all(oneshot::Sender::is_closed), "what runs ends with its thread");
    }
}
