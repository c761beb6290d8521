//! A child process that ends with the value that stands for it, and what /proc says of a process.
//!
//! Linux only. Invariant: only the process group that was started here is ever signalled, and it is
//! waited for.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// How long a process may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(20);

/// How long it may take to say that it is ready.
const LONGEST_START: Duration = Duration::from_secs(30);

/// Why a node does not run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its program is not there.
    #[error("{program} is not installed: {hint}")]
    Missing {
        /// The program that was looked for.
        program: String,
        /// How to get it.
        hint: &'static str,
    },
    /// It ended, or did not answer in time; the end of what it wrote.
    #[error("{program} did not come up: {said}")]
    Down {
        /// The program.
        program: String,
        /// The end of its output.
        said: String,
    },
    /// A folder, file, port or process could not be had.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A running child in a process group of its own.
#[derive(Debug)]
pub struct Process {
    child: Child,
    log: PathBuf,
    program: String,
}

impl Process {
    /// Starts `command` with its output in `log`. `hint` says how to get the program.
    pub fn start(
        command: &mut Command,
        log: &Path,
        hint: &'static str,
    ) -> Result<Process, StartError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let output = File::create(log)?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).process_group(0);
        let child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StartError::Missing { program: program.clone(), hint },
            _ => StartError::Io(error),
        })?;
        Ok(Process { child, log: log.to_owned(), program })
    }

    /// The same, waiting until it has written `ready`.
    ///
    /// # Errors
    /// It ends, or takes longer than half a minute.
    pub fn start_until(
        ready: &str,
        command: &mut Command,
        log: &Path,
        hint: &'static str,
    ) -> Result<Process, StartError> {
        let mut process = Process::start(command, log, hint)?;
        let until = Instant::now() + LONGEST_START;
        while !process.has_ended() && Instant::now() < until {
            if fs::read_to_string(log).is_ok_and(|said| said.contains(ready)) {
                return Ok(process);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(process.down())
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Why it is not up; the error to give when it ended or was waited for too long.
    pub fn down(&self) -> StartError {
        let said = fs::read(&self.log).unwrap_or_default();
        let said = String::from_utf8_lossy(&said[said.len().saturating_sub(2000)..]).into_owned();
        StartError::Down { program: self.program.clone(), said }
    }

    /// Has it ended?
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    /// Kills it at once and waits for it, as a crash would end it.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }

    /// Asks it to end, waits, and kills it if it does not.
    pub fn stop(&mut self) {
        self.stop_by(Signal::TERM);
    }

    /// The same by another signal.
    pub(crate) fn stop_by(&mut self, signal: Signal) {
        if self.has_ended() {
            return;
        }
        self.signal(signal);
        let until = Instant::now() + GRACE;
        while Instant::now() < until {
            if self.has_ended() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.kill();
    }

    /// Signals its group, and those of its children that are in groups of their own.
    pub(crate) fn signal_with_children(&mut self, signal: Signal) {
        self.signal(signal);
        let id = self.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        for child in children.unwrap_or_default().split_whitespace() {
            // One that has ended meanwhile is not waited for by its stopped parent: its id is its own.
            if let Some(child) = child.parse().ok().and_then(Pid::from_raw) {
                let _ = kill_process(child, signal);
            }
        }
    }

    pub(crate) fn signal(&mut self, signal: Signal) {
        if self.has_ended() {
            return;
        }
        // The child leads its own group and was not waited for yet, so the id is still its own.
        if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The resident memory of a process in bytes (`VmRSS` of /proc/PID/status); `None` if it is gone.
pub fn rss_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// The processor time of a process and its threads, user and system, in microseconds (fields 14 and
/// 15 of /proc/PID/stat, in ticks of 10 ms); `None` if it is gone.
pub fn cpu_micros(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold spaces.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    let ticks = rustix::param::clock_ticks_per_second();
    Some((user + system) * 1_000_000 / ticks)
}
