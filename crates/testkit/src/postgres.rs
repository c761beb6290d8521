//! A live PostgreSQL on loopback with a folder of its own.
//!
//! Debian's package `postgresql`, whose programs are not in `PATH`; no service of the machine is
//! touched. PostgreSQL refuses to run as root, so that it is run as the user `postgres`, or `nobody`,
//! where the test is. Logins are by password. Invariant: its folder is temporary and goes with it.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::client::free_port;
use crate::process::{Process, StartError};
use crate::program::in_path;

const HINT: &str = "apt-get install postgresql";
/// Where Debian has the programs, in a folder for each version.
const DEBIAN: &str = "/usr/lib/postgresql";
const USER: &str = "portolan";
const PASSWORD: &str = "told to nobody but the tests";
/// What it writes when it takes connections.
const READY: &str = "database system is ready to accept connections";
const TRIES: usize = 3;

/// A running PostgreSQL, or one that was stopped for a while. Dropping it ends it.
#[derive(Debug)]
pub struct Postgres {
    process: Option<Process>,
    folder: TempDir,
    programs: PathBuf,
    owner: Option<(u32, u32)>,
    port: u16,
    with_tls: bool,
}

impl Postgres {
    /// Starts one with an empty database `postgres`, and waits until it takes connections.
    ///
    /// # Errors
    /// [`StartError::Missing`] where it is not installed.
    pub fn start() -> Result<Postgres, StartError> {
        Postgres::start_with(None)
    }

    /// The same with a certificate and its key, both PEM. It takes connections without TLS too.
    ///
    /// # Errors
    /// As [`Postgres::start`].
    pub fn start_with_tls(certificate: &str, key: &str) -> Result<Postgres, StartError> {
        Postgres::start_with(Some((certificate, key)))
    }

    fn start_with(tls: Option<(&str, &str)>) -> Result<Postgres, StartError> {
        let missing = || StartError::Missing { program: "postgres".to_owned(), hint: HINT };
        let programs = programs().ok_or_else(missing)?;
        let mut postgres = Postgres::with_folder(programs, tls.is_some())?;
        if let Some((certificate, key)) = tls {
            postgres.write("server.crt", certificate)?;
            postgres.write("server.key", key)?;
        }
        let mut tries = 1;
        loop {
            postgres.port = free_port()?;
            match postgres.start_again() {
                // The port may have been taken meanwhile.
                Err(StartError::Down { .. }) if tries < TRIES => tries += 1,
                other => break other.map(|()| postgres),
            }
        }
    }

    /// Makes the folder with its databases.
    fn with_folder(programs: PathBuf, with_tls: bool) -> Result<Postgres, StartError> {
        let owner = if rustix::process::geteuid().is_root() { Some(unprivileged()?) } else { None };
        let folder = tempfile::tempdir()?;
        let postgres = Postgres { process: None, folder, programs, owner, port: 0, with_tls };
        postgres.give(postgres.folder.path())?;
        postgres.write("password", PASSWORD)?;
        let mut make = postgres.command("initdb");
        make.arg("-D").arg(postgres.data()).arg("--pwfile").arg(postgres.password_file());
        make.args(["--no-sync", "--username", USER, "--encoding", "UTF8", "--locale", "C"]);
        make.args(["--auth", "scram-sha-256"]);
        let made = make.output()?;
        match made.status.success() {
            true => Ok(postgres),
            false => Err(StartError::Down {
                program: "initdb".to_owned(),
                said: String::from_utf8_lossy(&made.stderr).into_owned(),
            }),
        }
    }

    /// Starts it again where it was, with all that it holds. Nothing happens while it runs.
    ///
    /// # Errors
    /// It does not come up.
    pub fn start_again(&mut self) -> Result<(), StartError> {
        if self.process.is_some() {
            return Ok(());
        }
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data()).arg("-p").arg(self.port.to_string());
        let mut settings = vec!["listen_addresses=127.0.0.1", "unix_socket_directories="];
        settings.extend(["logging_collector=off", "max_connections=50"]);
        if self.with_tls {
            settings.extend([
                "ssl=on",
                "ssl_cert_file=../server.crt",
                "ssl_key_file=../server.key",
            ]);
        }
        for setting in settings {
            command.arg("-c").arg(setting);
        }
        let log = self.folder.path().join("output");
        let process = Process::start_until(READY, &mut command, &log, HINT)?;
        self.process = Some(process);
        Ok(())
    }

    /// Ends it for a while: connections are cut, nothing is lost.
    pub fn stop(&mut self) {
        self.thaw();
        if let Some(mut process) = self.process.take() {
            // The default, to wait until every client is gone, would wait for the test.
            process.stop_by(Signal::INT);
        }
    }

    /// Lets it answer nothing while connections stay open and new ones are taken, as a machine that
    /// hangs does.
    pub fn freeze(&mut self) {
        self.process.iter_mut().for_each(|process| process.signal_with_children(Signal::STOP));
    }

    /// The end of that.
    pub fn thaw(&mut self) {
        self.process.iter_mut().for_each(|process| process.signal_with_children(Signal::CONT));
    }

    /// Makes a database.
    ///
    /// # Errors
    /// It is there already, or nothing answers.
    pub fn make_database(&self, name: &str) -> io::Result<()> {
        self.sql("postgres", &format!("CREATE DATABASE {name}")).map(drop)
    }

    /// Carries SQL out in a database, and gives what psql prints: a line a row, `|` between columns.
    ///
    /// # Errors
    /// What psql says.
    pub fn sql(&self, database: &str, sql: &str) -> io::Result<String> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.env("PGPASSWORD", PASSWORD).args(["-h", "127.0.0.1", "-U", USER, "-d", database]);
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql]);
        let said = psql.arg("-p").arg(self.port.to_string()).output()?;
        match said.status.success() {
            true => Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned()),
            false => Err(io::Error::other(String::from_utf8_lossy(&said.stderr).into_owned())),
        }
    }

    /// The address of a database, without the password.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port)
    }

    /// A file with the password.
    pub fn password_file(&self) -> PathBuf {
        self.folder.path().join("password")
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        // It looks where it is, and the folder of the test may be closed to it.
        command.current_dir(self.folder.path());
        if let Some((user, group)) = self.owner {
            command.uid(user).gid(group);
        }
        command
    }

    /// Writes a file that its user alone may read.
    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let path = self.folder.path().join(name);
        let mut file = fs::File::create(&path)?;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        file.write_all(text.as_bytes())?;
        self.give(&path)
    }

    fn give(&self, path: &Path) -> io::Result<()> {
        match self.owner {
            Some((user, group)) => chown(path, Some(user), Some(group)),
            None => Ok(()),
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The folder of its programs: beside `postgres` in `PATH`, or Debian's of the highest version.
fn programs() -> Option<PathBuf> {
    if let Some(found) = in_path("postgres").and_then(|path| path.canonicalize().ok()) {
        return found.parent().map(PathBuf::from);
    }
    let versions = fs::read_dir(DEBIAN).ok()?.flatten();
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let versions = versions.filter_map(|entry| Some((number(&entry.path())?, entry.path())));
    let programs = versions.map(|(version, path)| (version, path.join("bin")));
    let whole = programs.filter(|(_, path)| path.join("postgres").is_file());
    whole.max().map(|(_, path)| path)
}

/// User and group that it is run as where the test is root.
fn unprivileged() -> io::Result<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd")?;
    let find = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    let found = find("postgres").or_else(|| find("nobody"));
    found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no user postgres or nobody"))
}
