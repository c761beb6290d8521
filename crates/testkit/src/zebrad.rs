//! A live zebrad in regtest, where it is installed (`.ci/zebrad.sh`).
//!
//! Invariant: its folder is temporary and goes with it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::call::{CallError, call};
use crate::client::free_port;
use crate::process::{Process, StartError};
use crate::program::in_path;
use crate::starting::{until_up, with_fresh_ports};

const HINT: &str = ".ci/zebrad.sh";
/// Where its blocks pay to: a script hash of the test networks.
const MINER: &str = "t27eWDgjFYJGVXmzrXeVjnb5J3uXDM9xH9v";
/// From which height on which rules hold, so that a short chain has coinbases of versions 4, 5 and 6.
const UPGRADES: &str = "NU5 = 4\nNU6 = 6\n\"NU6.1\" = 8\n\"NU6.2\" = 10\n\"NU6.3\" = 12\n";
/// The file that it writes its credentials to.
const COOKIE: &str = ".cookie";

/// A running zebrad. Dropping it ends it.
#[derive(Debug)]
pub struct Zebrad {
    process: Process,
    folder: TempDir,
    port: u16,
}

impl Zebrad {
    /// Starts it with a new chain, and waits until it answers. A [`StartError::Missing`] is a reason
    /// to skip a test, loudly.
    pub async fn start() -> Result<Zebrad, StartError> {
        let missing = || StartError::Missing { program: "zebrad".to_owned(), hint: HINT };
        let program = in_path("zebrad").ok_or_else(missing)?;
        with_fresh_ports(async || {
            let folder = tempfile::tempdir()?;
            let (port, dir) = (free_port()?, folder.path().display().to_string());
            let config = format!(
                "[network]\nnetwork = \"Regtest\"\nlisten_addr = \"127.0.0.1:0\"\n\
                 cache_dir = false\n[network.testnet_parameters.activation_heights]\n{UPGRADES}[state]\ncache_dir = \"{dir}/state\"\n\
                 [rpc]\nlisten_addr = \"127.0.0.1:{port}\"\ncookie_dir = \"{dir}\"\n\
                 [mining]\nminer_address = \"{MINER}\"\n"
            );
            let path = folder.path().join("zebrad.toml");
            fs::write(&path, config)?;
            let mut command = Command::new(&program);
            command.arg("--config").arg(&path).arg("start");
            let process = Process::start(&mut command, &folder.path().join("output"), HINT)?;
            let mut node = Zebrad { process, folder, port };
            let (url, cookie) = (node.url(), node.cookie());
            let up = async || match authorization(&cookie) {
                Some(authorization) => {
                    let headers = [("Authorization", authorization.as_str())];
                    call(&url, &headers, "getblockcount", json!([])).await.is_ok()
                }
                None => false,
            };
            until_up(&mut node.process, up).await?;
            Ok(node)
        })
        .await
    }

    /// Where it is reached, without a path.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The file with its credentials.
    pub fn cookie(&self) -> PathBuf {
        self.folder.path().join(COOKIE)
    }

    /// Calls a method.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, CallError> {
        let authorization = authorization(&self.cookie()).unwrap_or_default();
        call(&self.url(), &[("Authorization", &authorization)], method, params).await
    }

    /// Takes the block of this hash, and all above it, off its chain.
    pub async fn invalidate(&self, hash: &str) -> Result<(), CallError> {
        self.call("invalidateblock", json!([hash])).await.map(drop)
    }

    /// Mines blocks.
    pub async fn mine(&self, blocks: u32) -> Result<(), CallError> {
        self.call("generate", json!([blocks])).await.map(drop)
    }
}

fn authorization(cookie: &std::path::Path) -> Option<String> {
    let cookie = fs::read_to_string(cookie).ok()?;
    Some(format!("Basic {}", STANDARD.encode(cookie.trim())))
}
