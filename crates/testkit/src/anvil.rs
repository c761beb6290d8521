//! A live anvil: the second Ethereum dialect, at hand wherever npm is.
//!
//! The program is what `ANVIL` names, else `anvil` in `PATH`, else it is installed once, by npm,
//! into a folder beside the build output. Invariant: nothing is installed outside that folder.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::call::{CallError, call};
use crate::client::free_port;
use crate::process::{Process, StartError};
use crate::program::{build_output, in_path};
use crate::starting::{until_up, with_fresh_ports};

/// The version that the recordings were made with.
const PACKAGE: &str = "@foundry-rs/anvil@1.7.1";
const HINT: &str = "npm install @foundry-rs/anvil, and ANVIL=PATH/TO/anvil";

/// A running anvil. Dropping it ends it.
#[derive(Debug)]
pub struct Anvil {
    process: Process,
    _folder: TempDir,
    port: u16,
}

impl Anvil {
    /// Starts it with a new chain, and waits until it answers. `more` are further arguments.
    pub async fn start(more: &[&str]) -> Result<Anvil, StartError> {
        let program = program()?;
        with_fresh_ports(async || {
            let mut node = Anvil::spawn(&program, more)?;
            let url = node.url();
            let up = async || call(&url, &[], "eth_chainId", json!([])).await.is_ok();
            until_up(&mut node.process, up).await?;
            Ok(node)
        })
        .await
    }

    fn spawn(program: &Path, more: &[&str]) -> Result<Anvil, StartError> {
        let folder = tempfile::tempdir()?;
        let port = free_port()?;
        let mut command = Command::new(program);
        command.args(["--host", "127.0.0.1", "--port", &port.to_string()]).args(more);
        let process = Process::start(&mut command, &folder.path().join("output"), HINT)?;
        Ok(Anvil { process, _folder: folder, port })
    }

    /// Where it is reached, without a path.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The process, to be killed or looked at.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Calls a method.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, CallError> {
        call(&self.url(), &[], method, params).await
    }

    /// Mines blocks.
    pub async fn mine(&self, blocks: u32) -> Result<(), CallError> {
        self.call("anvil_mine", json!([format!("{blocks:#x}")])).await.map(drop)
    }
}

fn program() -> Result<PathBuf, StartError> {
    if let Some(named) = std::env::var_os("ANVIL") {
        return Ok(PathBuf::from(named));
    }
    if let Some(found) = in_path("anvil") {
        return Ok(found);
    }
    let folder = build_output()?.join("testkit-anvil");
    fs::create_dir_all(&folder)?;
    // Tests of several crates may come here at once; the lock ends with the file.
    let lock = File::create(folder.join("lock"))?;
    lock.lock()?;
    match installed(&folder) {
        Some(program) => Ok(program),
        None => install(&folder),
    }
}

/// npm puts the program for this machine into a package of its own, beside the named one.
fn installed(folder: &Path) -> Option<PathBuf> {
    let packages = fs::read_dir(folder.join("node_modules/@foundry-rs")).ok()?;
    packages.flatten().map(|package| package.path().join("bin/anvil")).find(|path| path.is_file())
}

fn install(folder: &Path) -> Result<PathBuf, StartError> {
    let missing = || StartError::Missing { program: "anvil".to_owned(), hint: HINT };
    let arguments =
        ["install", "--no-save", "--no-audit", "--no-fund", "--prefix"].map(OsString::from);
    let ran = Command::new("npm")
        .args(arguments)
        .args([folder.as_os_str(), PACKAGE.as_ref()])
        .stdin(Stdio::null())
        .output()
        .map_err(|_| missing())?;
    match installed(folder) {
        Some(program) => Ok(program),
        None if ran.status.success() => Err(missing()),
        None => Err(StartError::Down {
            program: "npm".to_owned(),
            said: String::from_utf8_lossy(&ran.stderr).into_owned(),
        }),
    }
}
