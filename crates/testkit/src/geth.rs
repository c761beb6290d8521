//! A live geth in developer mode, where Go is there to build one.
//!
//! The program is what `GETH` names, else `geth` in `PATH`, `$GOPATH/bin` or `~/go/bin`. Invariant:
//! its folder is temporary and goes with it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::call::{CallError, call};
use crate::client::free_port;
use crate::process::{Process, StartError};
use crate::program::in_path;
use crate::starting::{until_up, with_fresh_ports};

const HINT: &str = "go install github.com/ethereum/go-ethereum/cmd/geth@v1.17.10";

/// A running geth. Dropping it ends it.
#[derive(Debug)]
pub struct Geth {
    process: Process,
    _folder: TempDir,
    port: u16,
}

impl Geth {
    /// Starts it with a new chain, and waits until it answers. `more` are further arguments. A
    /// [`StartError::Missing`] is a reason to skip a test, loudly.
    pub async fn start(more: &[&str]) -> Result<Geth, StartError> {
        let missing = || StartError::Missing { program: "geth".to_owned(), hint: HINT };
        let program = program().ok_or_else(missing)?;
        with_fresh_ports(async || {
            let mut node = Geth::spawn(&program, more)?;
            let url = node.url();
            let up = async || call(&url, &[], "eth_chainId", json!([])).await.is_ok();
            until_up(&mut node.process, up).await?;
            Ok(node)
        })
        .await
    }

    fn spawn(program: &Path, more: &[&str]) -> Result<Geth, StartError> {
        let folder = tempfile::tempdir()?;
        let (port, engine_port) = (free_port()?, free_port()?);
        let mut command = Command::new(program);
        command.args(["--dev", "--nodiscover", "--ipcdisable", "--port", "0", "--http"]);
        command.args(["--http.api", "eth,net,web3,debug,txpool,dev"]);
        // It ends itself on a disk that is nearly full, whatever it would need.
        command.args(["--datadir.minfreedisk", "64"]);
        command.args(["--datadir", &folder.path().display().to_string()]);
        command.args(["--http.port", &port.to_string()]);
        command.args(["--authrpc.port", &engine_port.to_string()]).args(more);
        let process = Process::start(&mut command, &folder.path().join("output"), HINT)?;
        Ok(Geth { process, _folder: folder, port })
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
}

fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("GETH") {
        return Some(PathBuf::from(named));
    }
    let built = |folder: PathBuf| Some(folder.join("bin/geth")).filter(|path| path.is_file());
    in_path("geth")
        .or_else(|| std::env::var_os("GOPATH").and_then(|folder| built(PathBuf::from(folder))))
        .or_else(|| std::env::var_os("HOME").and_then(|home| built(Path::new(&home).join("go"))))
}
