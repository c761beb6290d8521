//! A live Redis on loopback with a folder of its own, which keeps nothing on the disk.
//!
//! Debian's package `redis-server`; no service of the machine is touched. Invariant: its folder is
//! temporary and goes with it.

use std::fs;
use std::io;
use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::client::free_port;
use crate::process::{Process, StartError};

const HINT: &str = "apt-get install redis-server";
/// What it writes when it takes connections.
const READY: &str = "Ready to accept connections";
const TRIES: usize = 3;

/// A running Redis, or one that was stopped for a while. Dropping it ends it.
#[derive(Debug)]
pub struct Redis {
    process: Option<Process>,
    folder: TempDir,
    port: u16,
    more: Vec<String>,
    with_tls: bool,
}

impl Redis {
    /// Starts an empty one and waits until it takes connections. `more` are further arguments.
    ///
    /// # Errors
    /// [`StartError::Missing`] where it is not installed.
    pub fn start(more: &[&str]) -> Result<Redis, StartError> {
        Redis::start_with(more, None)
    }

    /// The same with a certificate and its key, both PEM; it speaks nothing but TLS.
    ///
    /// # Errors
    /// As [`Redis::start`].
    pub fn start_with_tls(certificate: &str, key: &str) -> Result<Redis, StartError> {
        Redis::start_with(&[], Some((certificate, key)))
    }

    fn start_with(more: &[&str], tls: Option<(&str, &str)>) -> Result<Redis, StartError> {
        let (folder, with_tls) = (tempfile::tempdir()?, tls.is_some());
        let mut more: Vec<String> = more.iter().map(|&word| word.to_owned()).collect();
        if let Some((certificate, key)) = tls {
            for (name, text) in [("cert", certificate), ("key", key)] {
                let path = folder.path().join(name);
                fs::write(&path, text)?;
                more.extend([format!("--tls-{name}-file"), path.display().to_string()]);
            }
            more.extend(["--tls-auth-clients", "no"].map(str::to_owned));
        }
        let mut redis = Redis { process: None, folder, port: 0, more, with_tls };
        let mut tries = 1;
        loop {
            redis.port = free_port()?;
            match redis.start_again() {
                // The port may have been taken meanwhile.
                Err(StartError::Down { .. }) if tries < TRIES => tries += 1,
                other => break other.map(|()| redis),
            }
        }
    }

    /// Starts it again where it was; it has forgotten everything. Nothing happens while it runs.
    ///
    /// # Errors
    /// It does not come up.
    pub fn start_again(&mut self) -> Result<(), StartError> {
        if self.process.is_some() {
            return Ok(());
        }
        let port = self.port.to_string();
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir"]);
        command.arg(self.folder.path());
        match self.with_tls {
            true => command.args(["--port", "0", "--tls-port", &port]),
            false => command.args(["--port", &port]),
        };
        let log = self.folder.path().join("output");
        let process = Process::start_until(READY, command.args(&self.more), &log, HINT)?;
        self.process = Some(process);
        Ok(())
    }

    /// Ends it for a while: connections are cut, everything is forgotten.
    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.signal(Signal::CONT);
            process.stop();
        }
    }

    /// Lets it answer nothing while its connections stay open, as behind a network that is cut.
    pub fn freeze(&mut self) {
        self.process.iter_mut().for_each(|process| process.signal(Signal::STOP));
    }

    /// The end of that.
    pub fn thaw(&mut self) {
        self.process.iter_mut().for_each(|process| process.signal(Signal::CONT));
    }

    /// Carries a command out and gives what `redis-cli` prints.
    ///
    /// # Errors
    /// What it says.
    pub fn command(&self, words: &[&str]) -> io::Result<String> {
        let mut cli = Command::new("redis-cli");
        let said =
            cli.args(["-h", "127.0.0.1", "-p", &self.port.to_string()]).args(words).output()?;
        match said.status.success() {
            true => Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned()),
            false => Err(io::Error::other(String::from_utf8_lossy(&said.stderr).into_owned())),
        }
    }

    /// Its address, without a password.
    pub fn url(&self) -> String {
        let scheme = if self.with_tls { "rediss://localhost" } else { "redis://127.0.0.1" };
        format!("{scheme}:{}", self.port)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.stop();
    }
}
