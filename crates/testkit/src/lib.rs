//! What tests need and a release does not: live nodes on loopback, a stub node with a chain made to
//! measure, what recorded nodes said, a proxy that breaks the network, the barest HTTP client, a look
//! at a process from outside.
//!
//! Invariant: whatever is started here ends with the value that stands for it, also when a test
//! panics, and only by its own process id.

#![warn(unreachable_pub)]

mod account_calls;
mod account_chain;
mod account_forge;
mod anvil;
mod call;
mod chaos;
mod client;
mod digest;
mod forge;
mod genesis;
mod geth;
mod litecoind;
mod monero_wallet;
mod monerod;
mod postgres;
mod process;
mod program;
mod recording;
mod redis;
mod starting;
mod stub;
mod stub_accounts;
mod usage_file;
mod zebrad;

pub use account_chain::{AccountBlock, AccountChain};
pub use anvil::Anvil;
pub use call::{CallError, call};
pub use chaos::{Chaos, Mischief};
pub use client::{Answer, Connection, exchange, free_port, get, post, request};
pub use digest::digest_header;
pub use forge::{Draft, Forge, ForgedBlock, ForgedTransaction, key_hash_script};
pub use genesis::genesis;
pub use geth::Geth;
pub use litecoind::{Litecoind, Login};
pub use monero_wallet::{FoundMonero, MoneroWallet, SentMonero};
pub use monerod::Monerod;
pub use postgres::Postgres;
pub use process::{Process, StartError, cpu_micros, rss_bytes};
pub use recording::{Recording, expected};
pub use redis::Redis;
pub use stub::{Misfit, StubNode, StubOptions};
pub use stub_accounts::{Distortion, StubAccounts};
pub use usage_file::make_former_usage_file;
pub use zebrad::Zebrad;
