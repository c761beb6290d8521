//! A transaction that may move value into and out of shielded pools.
//!
//! Sources: Zcash protocol specification, section 7.1; ZIP 202, ZIP 225, ZIP 229; zebra 7,
//! zebra-chain/src/transaction/serialize.rs. Invariant: proofs and ciphertexts are stepped over;
//! only what decides ids and values is kept.

use super::bundles::Bundles;
use super::pools::Pools;
use super::{More, Transaction, digest};
use crate::Hash32;
use crate::utxo::byte_reader::{ByteReader, DecodeError, Problem};
use crate::utxo::input::Input;
use crate::utxo::items::step_through;
use crate::utxo::output::{Output, OutputForm};

/// The bit of the version that says that a group id follows (ZIP 202).
const OVERWINTERED: u32 = 1 << 31;

/// What stands beside inputs and outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shielded<'a> {
    /// Everything behind the fields that all versions have.
    bundles: &'a [u8],
    expiry: Option<u32>,
    branch: Option<u32>,
}

/// The versions that there are, each with its group id from the third on.
fn version(header: u32, reader: &mut ByteReader<'_>) -> Result<i32, DecodeError> {
    let fault = reader.fault(Problem::Version);
    if header & OVERWINTERED == 0 {
        return if matches!(header, 1 | 2) { Ok(header as i32) } else { Err(fault) };
    }
    let version = header & !OVERWINTERED;
    match (version, reader.u32()?) {
        (3, 0x03c4_8270) | (4, 0x892f_2085) | (5, 0x26a7_270a) | (6, 0xd884_b698) => {
            Ok(version as i32)
        }
        _ => Err(fault),
    }
}

pub(super) fn read<'a>(reader: &mut ByteReader<'a>) -> Result<Transaction<'a>, DecodeError> {
    let start = reader.offset();
    let header = reader.u32()?;
    let version = version(header, reader)?;
    let early =
        if version >= 5 { Some((reader.u32()?, reader.u32()?, reader.u32()?)) } else { None };
    let (inputs, input_count) = step_through(reader, Input::LEAST_BYTES, Input::read)?;
    let (outputs, output_count) = Output::step_through(reader, OutputForm::Plain)?;
    let (branch, lock_time, expiry) = match early {
        Some((branch, lock_time, expiry)) => (Some(branch), lock_time, Some(expiry)),
        None => {
            let lock_time = reader.u32()?;
            (None, lock_time, if version >= 3 { Some(reader.u32()?) } else { None })
        }
    };
    let bundles = reader.offset();
    Bundles::read(reader, version)?;
    let more = More::Shielded(Shielded { bundles: reader.since(bundles), expiry, branch });
    let (raw, counts) = (reader.since(start), (input_count, output_count));
    Ok(Transaction { version, lock_time, raw, inputs, outputs, counts, more })
}

impl<'a> Shielded<'a> {
    fn bundles(&self, version: i32) -> Bundles<'a> {
        // They were stepped through when the transaction was read.
        Bundles::read(&mut ByteReader::new(self.bundles), version).unwrap_or_default()
    }

    pub(super) fn pools(&self, version: i32) -> Pools {
        self.bundles(version).pools()
    }

    pub(super) fn branch(&self) -> Option<u32> {
        self.branch
    }

    /// Zero is none (ZIP 203).
    pub(super) fn expiry(&self) -> Option<u32> {
        self.expiry.filter(|height| *height != 0)
    }

    pub(super) fn txid(&self, transaction: &Transaction<'_>) -> Hash32 {
        match self.branch {
            None => Hash32::sha256d(&[transaction.raw]),
            Some(branch) => digest::txid(transaction, branch, &self.bundles(transaction.version)),
        }
    }
}
