//! A live wallet of Monero on a [`Monerod`]: what it pays, what it finds, and what it says of others'
//! transactions.
//!
//! Debian's package `monero` (`monero-wallet-rpc` 0.18.0.0), one wallet each, without a password.
//! A wallet that was there when blocks were popped may have lost its way: take a new one then. One
//! that pays picks 75 different outputs by their age, at random, which on fewer than some 130 blocks
//! takes for ever.
//! Invariant: its folder is temporary and goes with it.

use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::call::{CallError, call};
use crate::client::free_port;
use crate::monerod::Monerod;
use crate::process::{Process, StartError};
use crate::starting::{until_up, with_fresh_ports};

const HINT: &str = "apt-get install monero";

/// A running wallet. Dropping it ends it.
#[derive(Debug)]
pub struct MoneroWallet {
    process: Process,
    _folder: TempDir,
    port: u16,
}

/// A transaction that a wallet sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMonero {
    /// The transaction's hash.
    pub hash: String,
    /// Its key, 64 hex digits, and where outputs have keys of their own, those behind it.
    pub key: String,
}

impl SentMonero {
    /// The key and those of single outputs, each of 64 hex digits.
    pub fn keys(&self) -> Vec<&str> {
        self.key.as_bytes().chunks(64).filter_map(|part| str::from_utf8(part).ok()).collect()
    }
}

/// An output that a wallet found to be its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundMonero {
    /// The hash of the transaction that made it.
    pub hash: String,
    /// How much it holds, in the smallest unit.
    pub amount: u64,
    /// Its one-time public key.
    pub public_key: String,
    /// Its index among all outputs of RingCT.
    pub global_index: u64,
    /// The account, and the address in it.
    pub subaddress: (u32, u32),
}

impl MoneroWallet {
    /// Starts a new wallet that asks this node.
    pub async fn start(node: &Monerod) -> Result<MoneroWallet, StartError> {
        with_fresh_ports(async || {
            let mut wallet = MoneroWallet::spawn(node)?;
            let url = wallet.url();
            let new = json!({"filename": "wallet", "language": "English"});
            let up = async || call(&url, &[], "create_wallet", new.clone()).await.is_ok();
            until_up(&mut wallet.process, up).await?;
            Ok(wallet)
        })
        .await
    }

    fn spawn(node: &Monerod) -> Result<MoneroWallet, StartError> {
        let folder = tempfile::tempdir()?;
        let port = free_port()?;
        let within = |name: &str| folder.path().join(name).display().to_string();
        let mut command = Command::new("monero-wallet-rpc");
        command.args(["--non-interactive", "--disable-rpc-login", "--trusted-daemon", "--no-dns"]);
        command.args(["--daemon-address", &node.url()]);
        command.args(["--rpc-bind-port", &port.to_string()]);
        command.args(["--wallet-dir", &within("")]);
        command.args(["--shared-ringdb-dir", &within("ringdb")]);
        command.args(["--log-file", &within("wallet.log")]);
        command.args(["--max-concurrency", "1"]);
        if let Some((user, password)) = node.login() {
            command.args(["--daemon-login", &format!("{user}:{password}")]);
        }
        let process = Process::start(&mut command, &folder.path().join("output"), HINT)?;
        Ok(MoneroWallet { process, _folder: folder, port })
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/json_rpc", self.port)
    }

    /// The process, to be killed or looked at.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Calls a method.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, CallError> {
        call(&self.url(), &[], method, params).await
    }

    /// Makes the wallet of these words its own in the place of the one that it has. `name` is new.
    pub async fn restore(&self, name: &str, words: &str) -> Result<(), CallError> {
        let params = json!({"filename": name, "seed": words, "password": "", "restore_height": 0});
        self.call("restore_deterministic_wallet", params).await.map(drop)
    }

    /// The words that stand for the wallet.
    pub async fn words(&self) -> Result<String, CallError> {
        self.secret("mnemonic").await
    }

    /// The secret view key, which all of its addresses share.
    pub async fn view_key(&self) -> Result<String, CallError> {
        self.secret("view_key").await
    }

    async fn secret(&self, kind: &str) -> Result<String, CallError> {
        let answer = self.call("query_key", json!({"key_type": kind})).await?;
        Ok(text(&answer["key"]))
    }

    /// The address of an account, by its place from 0.
    pub async fn address(&self, account: u32) -> Result<String, CallError> {
        let answer = self.call("get_address", json!({"account_index": account})).await?;
        Ok(text(&answer["address"]))
    }

    /// A new subaddress in an account.
    pub async fn new_subaddress(&self, account: u32) -> Result<String, CallError> {
        let answer = self.call("create_address", json!({"account_index": account})).await?;
        Ok(text(&answer["address"]))
    }

    /// An integrated address with a payment id of 16 hex digits.
    pub async fn integrated(&self, payment_id: &str) -> Result<String, CallError> {
        let params = json!({"payment_id": payment_id});
        let answer = self.call("make_integrated_address", params).await?;
        Ok(text(&answer["integrated_address"]))
    }

    /// Reads the blocks that it has not seen.
    pub async fn refresh(&self) -> Result<(), CallError> {
        self.call("refresh", json!({})).await.map(drop)
    }

    /// What can be spent of an account now, in the smallest unit.
    pub async fn unlocked(&self, account: u32) -> Result<u64, CallError> {
        let answer = self.call("get_balance", json!({"account_index": account})).await?;
        Ok(answer["unlocked_balance"].as_u64().unwrap_or_default())
    }

    /// Pays amounts in the smallest unit to addresses, from the first account.
    pub async fn pay(&self, to: &[(&str, u64)]) -> Result<SentMonero, CallError> {
        let to: Vec<Value> = to
            .iter()
            .map(|(address, amount)| json!({"address": address, "amount": amount}))
            .collect();
        let params = json!({"destinations": to, "get_tx_key": true});
        let answer = self.call("transfer", params).await?;
        Ok(SentMonero { hash: text(&answer["tx_hash"]), key: text(&answer["tx_key"]) })
    }

    /// Pays all that an account has to one address.
    pub async fn sweep(&self, account: u32, to: &str) -> Result<Vec<SentMonero>, CallError> {
        let params = json!({"address": to, "account_index": account, "get_tx_keys": true});
        let answer = self.call("sweep_all", params).await?;
        let list = |name: &str| answer[name].as_array().cloned().unwrap_or_default();
        let sent = list("tx_hash_list").into_iter().zip(list("tx_key_list"));
        Ok(sent.map(|(hash, key)| SentMonero { hash: text(&hash), key: text(&key) }).collect())
    }

    /// The key of a transaction that it sent, and those of single outputs behind it.
    pub async fn tx_key(&self, hash: &str) -> Result<String, CallError> {
        let answer = self.call("get_tx_key", json!({"txid": hash})).await?;
        Ok(text(&answer["tx_key"]))
    }

    /// How much an address received in a transaction, by what its sender has of it: the key and
    /// those of single outputs in a row.
    pub async fn check_tx_key(
        &self,
        hash: &str,
        key: &str,
        address: &str,
    ) -> Result<u64, CallError> {
        let params = json!({"txid": hash, "tx_key": key, "address": address});
        let answer = self.call("check_tx_key", params).await?;
        Ok(answer["received"].as_u64().unwrap_or_default())
    }

    /// The outputs that it found in an account, spent ones too.
    pub async fn incoming(&self, account: u32) -> Result<Vec<FoundMonero>, CallError> {
        let params = json!({"transfer_type": "all", "account_index": account});
        let answer = self.call("incoming_transfers", params).await?;
        let found = answer["transfers"].as_array().cloned().unwrap_or_default();
        let number = |value: &Value| value.as_u64().unwrap_or_default();
        let short = |value: &Value| u32::try_from(number(value)).unwrap_or_default();
        Ok(found
            .iter()
            .map(|one| FoundMonero {
                hash: text(&one["tx_hash"]),
                amount: number(&one["amount"]),
                public_key: text(&one["pubkey"]),
                global_index: number(&one["global_index"]),
                subaddress: (
                    short(&one["subaddr_index"]["major"]),
                    short(&one["subaddr_index"]["minor"]),
                ),
            })
            .collect())
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
