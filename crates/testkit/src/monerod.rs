//! A live monerod in regtest, with and without HTTP Digest.
//!
//! Debian's package `monero` (0.18.0.0). An open and a restricted port, ZMQ publishing, difficulty
//! 1. Invariant: its folder is temporary and goes with it.

use std::net::SocketAddr;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::call::{CallError, envelope, result};
use crate::client::{Answer, Connection, free_port};
use crate::digest::digest_header;
use crate::process::{Process, StartError};
use crate::starting::{until_up, with_fresh_ports};

const HINT: &str = "apt-get install monero";

/// Receives what is mined: the address of the Monero project's General Fund, whose keys no test has.
const MINER: &str = "44AFFq5kSiGBoZ4NMDwYtN18obc8AemS33DBLWs3H7otXft3XjrpDtQGv7SqSsaBYBb98uNbr2VBBEt7f2wfn3RVGQBEP3A";

/// A running monerod. Dropping it ends it.
#[derive(Debug)]
pub struct Monerod {
    process: Process,
    _folder: TempDir,
    rpc_port: u16,
    restricted_port: u16,
    zmq_port: u16,
    login: Option<(String, String)>,
}

impl Monerod {
    /// Starts it with a new chain, and waits until it answers. With `login` (user, password) both
    /// ports ask for HTTP Digest.
    pub async fn start(login: Option<(&str, &str)>) -> Result<Monerod, StartError> {
        with_fresh_ports(async || {
            let mut node = Monerod::spawn(login)?;
            let (port, login) = (node.rpc_port, node.login.clone());
            let up = async || {
                let body = envelope("get_block_count", Value::Null);
                exchange(port, login.as_ref(), "/json_rpc", &body)
                    .await
                    .is_ok_and(|answer| result(&answer).is_ok())
            };
            until_up(&mut node.process, up).await?;
            Ok(node)
        })
        .await
    }

    fn spawn(login: Option<(&str, &str)>) -> Result<Monerod, StartError> {
        let folder = tempfile::tempdir()?;
        let mut ports = [0; 5];
        for port in &mut ports {
            *port = free_port()?;
        }
        let [rpc_port, restricted_port, p2p, zmq_rpc, zmq_port] = ports;
        let mut command = Command::new("monerod");
        command.args(["--regtest", "--offline", "--non-interactive", "--no-igd", "--hide-my-port"]);
        command.args(["--fixed-difficulty", "1", "--p2p-bind-ip", "127.0.0.1"]);
        command.args(["--data-dir", &folder.path().display().to_string()]);
        for (option, port) in [
            ("--rpc-bind-port", rpc_port),
            ("--rpc-restricted-bind-port", restricted_port),
            ("--p2p-bind-port", p2p),
            ("--zmq-rpc-bind-port", zmq_rpc),
        ] {
            command.args([option, &port.to_string()]);
        }
        command.args(["--zmq-pub", &format!("tcp://127.0.0.1:{zmq_port}")]);
        if let Some((user, password)) = login {
            command.args(["--rpc-login", &format!("{user}:{password}")]);
        }
        let process = Process::start(&mut command, &folder.path().join("output"), HINT)?;
        let login = login.map(|(user, password)| (user.to_owned(), password.to_owned()));
        Ok(Monerod { process, _folder: folder, rpc_port, restricted_port, zmq_port, login })
    }

    /// The open port, without a path.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.rpc_port)
    }

    /// The restricted port, without a path.
    pub fn restricted_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.restricted_port)
    }

    /// Where it publishes by ZMQ.
    pub fn zmq(&self) -> String {
        format!("tcp://127.0.0.1:{}", self.zmq_port)
    }

    /// The process, to be killed or looked at.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Calls a method of `/json_rpc`.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, CallError> {
        result(&self.post("/json_rpc", &envelope(method, params)).await?)
    }

    /// Posts a body to a path, through Digest if it is asked for, and gives the answer as it is.
    pub async fn post(&self, path: &str, body: &[u8]) -> std::io::Result<Answer> {
        exchange(self.rpc_port, self.login.as_ref(), path, body).await
    }

    /// User and password, where it asks for them.
    pub(crate) fn login(&self) -> Option<&(String, String)> {
        self.login.as_ref()
    }

    /// Takes away the last blocks; their transactions wait again. Gives the height of the tip.
    pub async fn pop_blocks(&self, blocks: u32) -> Result<u64, CallError> {
        let body = json!({"nblocks": blocks}).to_string();
        let answer = self.post("/pop_blocks", body.as_bytes()).await?;
        let said: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        match said["height"].as_u64() {
            // It tells how many blocks there are.
            Some(count) if said["status"] == "OK" => Ok(count.saturating_sub(1)),
            _ => Err(CallError::Refused { status: answer.status, body: answer.text() }),
        }
    }

    /// Mines blocks, and gives their hashes.
    pub async fn mine(&self, blocks: u32) -> Result<Vec<String>, CallError> {
        self.mine_to(MINER, blocks).await
    }

    /// Mines blocks to an address, which is no subaddress, and gives their hashes.
    pub async fn mine_to(&self, address: &str, blocks: u32) -> Result<Vec<String>, CallError> {
        let params = json!({"amount_of_blocks": blocks, "wallet_address": address});
        let mined = self.call("generateblocks", params).await?;
        let hashes = mined["blocks"].as_array().cloned().unwrap_or_default();
        Ok(hashes.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }
}

async fn exchange(
    port: u16,
    login: Option<&(String, String)>,
    path: &str,
    body: &[u8],
) -> std::io::Result<Answer> {
    // monerod's nonces belong to one connection.
    let mut connection = Connection::open(SocketAddr::from(([127, 0, 0, 1], port))).await?;
    connection.request("POST", path, &[], body).await?;
    let answer = connection.answer().await?;
    let (401, Some((user, password))) = (answer.status, login) else { return Ok(answer) };
    let challenge = answer.header("www-authenticate").unwrap_or_default();
    let header = digest_header(challenge, (user, password), ("POST", path), 1).unwrap_or_default();
    connection.request("POST", path, &[("Authorization", &header)], body).await?;
    connection.answer().await
}
