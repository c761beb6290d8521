//! What miners and wallets write into a transaction's `extra`: public keys, payment ids.
//!
//! Source: monero, src/cryptonote_basic/tx_extra.h and `parse_tx_extra`. Invariant: fields are read
//! in order up to the first that is malformed or unknown; those before it stand, as for the node
//! and its wallets.

use std::fmt;

use super::bytes32::Key;
use super::varint;
use crate::utxo::{ByteReader, DecodeError};

const PADDING: u8 = 0x00;
const PUBLIC_KEY: u8 = 0x01;
const NONCE: u8 = 0x02;
const MERGE_MINING: u8 = 0x03;
const ADDITIONAL_KEYS: u8 = 0x04;
const MINERGATE: u8 = 0xde;

/// `TX_EXTRA_NONCE_MAX_COUNT`.
const LONGEST_NONCE: usize = 255;

/// What could be read of an `extra`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extra<'a> {
    /// The transaction's public keys, in their order. Mostly one.
    pub public_keys: Vec<Key>,
    /// The keys of single outputs, by their place; the first such field counts.
    pub additional_keys: Vec<Key>,
    /// The first nonce: a payment id, or what a pool wrote.
    pub nonce: Option<&'a [u8]>,
    /// Whether everything was read.
    pub whole: bool,
}

/// A payment id as it stands on the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaymentId {
    /// 8 bytes that only the receiver and the sender can read. Most transactions have one, which
    /// may say nothing.
    Encrypted([u8; 8]),
    /// 32 bytes for all to read.
    Clear([u8; 32]),
}

/// One field.
enum Field<'a> {
    Padding,
    PublicKey(Key),
    Nonce(&'a [u8]),
    MergeMining,
    AdditionalKeys(Vec<Key>),
    Minergate,
}

impl<'a> Extra<'a> {
    /// Reads the fields up to the first that is malformed or unknown.
    pub fn parse(bytes: &'a [u8]) -> Extra<'a> {
        let mut reader = ByteReader::new(bytes);
        let mut extra = Extra::default();
        let mut has_additional = false;
        while reader.remaining() > 0 {
            let Ok(Some(field)) = read_field(&mut reader) else { return extra };
            match field {
                Field::PublicKey(key) => extra.public_keys.push(key),
                Field::Nonce(nonce) => extra.nonce = extra.nonce.or(Some(nonce)),
                Field::AdditionalKeys(keys) if !has_additional => {
                    has_additional = true;
                    extra.additional_keys = keys;
                }
                Field::AdditionalKeys(_) => {}
                Field::Padding | Field::MergeMining | Field::Minergate => {}
            }
        }
        extra.whole = true;
        extra
    }

    /// The payment id, where the first nonce has the form of one.
    pub fn payment_id(&self) -> Option<PaymentId> {
        match self.nonce? {
            [1, id @ ..] => id.try_into().ok().map(PaymentId::Encrypted),
            [0, id @ ..] => id.try_into().ok().map(PaymentId::Clear),
            _ => None,
        }
    }
}

/// Reads a field; `None` where there is no such.
fn read_field<'a>(reader: &mut ByteReader<'a>) -> Result<Option<Field<'a>>, DecodeError> {
    Ok(match reader.u8()? {
        PADDING => {
            let rest = reader.take(reader.remaining())?;
            // With its tag it has 255 bytes at most.
            let fits = rest.len() < 255 && rest.iter().all(|byte| *byte == 0);
            fits.then_some(Field::Padding)
        }
        PUBLIC_KEY => Some(Field::PublicKey(Key(reader.array()?))),
        NONCE => {
            let nonce = varint::prefixed(reader)?;
            (nonce.len() <= LONGEST_NONCE).then_some(Field::Nonce(nonce))
        }
        MERGE_MINING => {
            let mut inner = ByteReader::new(varint::prefixed(reader)?);
            let (_depth, _root) = (varint::read(&mut inner)?, inner.take(32)?);
            (inner.remaining() == 0).then_some(Field::MergeMining)
        }
        ADDITIONAL_KEYS => {
            let count = varint::count(reader, 32)?;
            let keys: Result<_, _> = (0..count).map(|_| reader.array().map(Key)).collect();
            Some(Field::AdditionalKeys(keys?))
        }
        MINERGATE => varint::prefixed(reader).map(|_| Some(Field::Minergate))?,
        _ => None,
    })
}

impl fmt::Display for PaymentId {
    /// 16 or 64 lower-case hex digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PaymentId::Encrypted(id) => f.write_str(const_hex::Buffer::<8>::new().format(id)),
            PaymentId::Clear(id) => f.write_str(const_hex::Buffer::<32>::new().format(id)),
        }
    }
}

#[cfg(test)]
mod tests;
