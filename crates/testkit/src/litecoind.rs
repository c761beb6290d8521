//! A live litecoind in regtest: a node of the Core family with everything that a test may want.
//!
//! Debian's package `litecoind` (0.21.2.1), which is built without ZMQ. RPC and REST on loopback, a
//! transaction index, a wallet. Invariant: its folder is temporary and goes with it.

use std::path::PathBuf;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::call::{CallError, call};
use crate::client::free_port;
use crate::process::{Process, StartError};
use crate::starting::{until_up, with_fresh_ports};

const HINT: &str = "apt-get install litecoind";

/// How a [`Litecoind`] lets its callers in.
#[derive(Debug, Clone, Default)]
pub enum Login {
    /// By the cookie file that it writes at each start.
    #[default]
    Cookie,
    /// By a fixed user and password.
    Password(String, String),
}

/// A running litecoind. Dropping it ends it.
#[derive(Debug)]
pub struct Litecoind {
    process: Process,
    folder: TempDir,
    rpc_port: u16,
    login: Login,
}

impl Litecoind {
    /// Starts it with a new chain, and waits until it answers. `more` are further arguments.
    pub async fn start(login: Login, more: &[&str]) -> Result<Litecoind, StartError> {
        with_fresh_ports(async || {
            let mut node = Litecoind::spawn(login.clone(), more)?;
            let (url, folder, login) = (node.url(), node.folder.path().to_owned(), &node.login);
            let up = async || {
                let Some(authorization) = authorization(login, folder.join(COOKIE)) else {
                    return false;
                };
                let headers = [("Authorization", authorization.as_str())];
                call(&url, &headers, "getblockcount", json!([])).await.is_ok()
            };
            until_up(&mut node.process, up).await?;
            // Since 0.21 a new folder has none.
            match node.call("createwallet", json!(["test"])).await {
                Ok(_) => Ok(node),
                Err(_) => Err(node.process.down()),
            }
        })
        .await
    }

    fn spawn(login: Login, more: &[&str]) -> Result<Litecoind, StartError> {
        let folder = tempfile::tempdir()?;
        let rpc_port = free_port()?;
        let mut command = Command::new("litecoind");
        command.arg(format!("-datadir={}", folder.path().display()));
        command.args(["-regtest", "-server", "-txindex", "-rest", "-listen=0", "-printtoconsole"]);
        command.args(["-rpcbind=127.0.0.1", "-rpcallowip=127.0.0.1", "-fallbackfee=0.0001"]);
        command.arg(format!("-rpcport={rpc_port}"));
        if let Login::Password(user, password) = &login {
            command.args([format!("-rpcuser={user}"), format!("-rpcpassword={password}")]);
        }
        command.args(more);
        let process = Process::start(&mut command, &folder.path().join("output"), HINT)?;
        Ok(Litecoind { process, folder, rpc_port, login })
    }

    /// Where it is reached, without a path.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.rpc_port)
    }

    /// The cookie file, also where a password is used (then it is not there).
    pub fn cookie(&self) -> PathBuf {
        self.folder.path().join(COOKIE)
    }

    /// The process, to be killed or looked at.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Calls a method.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, CallError> {
        let authorization = authorization(&self.login, self.cookie()).unwrap_or_default();
        call(&self.url(), &[("Authorization", &authorization)], method, params).await
    }

    /// Mines blocks to an address of its wallet, and gives their hashes.
    pub async fn mine(&self, blocks: u32) -> Result<Vec<String>, CallError> {
        let address = self.call("getnewaddress", json!([])).await?;
        let hashes = self.call("generatetoaddress", json!([blocks, address])).await?;
        let hashes = hashes.as_array().cloned().unwrap_or_default();
        Ok(hashes.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }
}

const COOKIE: &str = "regtest/.cookie";

fn authorization(login: &Login, cookie: PathBuf) -> Option<String> {
    let pair = match login {
        Login::Cookie => std::fs::read_to_string(cookie).ok()?,
        Login::Password(user, password) => format!("{user}:{password}"),
    };
    Some(format!("Basic {}", STANDARD.encode(pair.trim())))
}
