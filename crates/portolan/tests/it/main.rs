//! The real program: its commands, its services on recorded, stub and live nodes, what it leaves
//! behind, and what the documents say of it.

#![allow(clippy::unwrap_used, reason = "a test says with a panic what went wrong")]

mod accounts;
mod clients;
mod commands;
mod damaged;
mod demo;
mod deploy;
mod deployed;
mod documents;
mod endurance;
mod full_disk;
mod handed_on;
mod hanging;
mod indexes;
mod log;
mod only;
mod postgres;
mod program;
mod reload;
mod replicas;
mod scripts;
mod secrets;
mod serve;
mod workers;
