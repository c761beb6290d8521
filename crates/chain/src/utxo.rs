//! Blocks and transactions in the format that Bitcoin began and its relatives extended.
//!
//! One reader serves them all; what a chain adds to the format is a switch in its [`Format`].
//! Resolving inputs, heights and balances are left to the index. Invariant: nothing here panics,
//! allocates more than a small multiple of its input, or copies a script.

mod aux_pow;
mod block;
mod byte_reader;
mod destination;
mod format;
mod header;
mod input;
mod items;
mod merkle;
mod opcodes;
mod output;
mod script;
mod stake_tag;
mod token;
mod transaction;

pub use block::Block;
pub(crate) use byte_reader::ByteReader;
pub use byte_reader::{DecodeError, Problem};
pub use destination::{Destination, WitnessProgram};
pub use format::{Format, KeyPushes, Layout, ScriptRules, WitnessNames};
pub use header::{Header, Nonce, StakeHeader};
pub use input::{Input, OutPoint};
pub use merkle::merkle_root;
pub use output::Output;
pub use script::{ScriptClass, StakeTag, TaggedHash, is_unspendable};
pub use token::{Capability, Nft, Token};
pub use transaction::{Kind, Pools, Transaction, Vote};
