//! The outputs of a transaction's record: value, script by template, token.
//!
//! Invariant: every script comes back byte for byte; a template only saves the bytes that all
//! scripts of its kind share.

use chain::Hash32;
use chain::utxo::{Capability, Output, Token};

use crate::row::{BadRow, RowReader, put_prefixed, put_varint};

/// An output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputRecord {
    /// Coins in the smallest unit.
    pub value: u64,
    /// Version of the script's language; 0 but on chains that have several, and nearly always
    /// there.
    pub version: u16,
    /// The script that says who may spend it, without a token prefix.
    pub script: Vec<u8>,
    /// Tokens besides the coins.
    pub token: Option<TokenRecord>,
}

/// The tokens that an output holds besides its coins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRecord {
    /// Id of the transaction whose first output made the category.
    pub category: Hash32,
    /// Fungible tokens, 0 to 2^63 - 1.
    pub amount: u64,
    /// The non-fungible token, if there is one.
    pub nft: Option<NftRecord>,
}

/// A non-fungible token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NftRecord {
    /// What its holder may do with it.
    pub capability: Capability,
    /// Its content, which may be empty.
    pub commitment: Vec<u8>,
}

impl OutputRecord {
    /// Keeps an output of a decoded transaction.
    pub(crate) fn of(output: &Output<'_>) -> OutputRecord {
        OutputRecord {
            value: output.value,
            version: output.script_version,
            script: output.script.to_vec(),
            token: output.token.as_ref().map(TokenRecord::of),
        }
    }
}

impl TokenRecord {
    /// Keeps the tokens of a decoded output.
    pub(crate) fn of(token: &Token<'_>) -> TokenRecord {
        TokenRecord {
            category: token.category,
            amount: token.amount,
            nft: token.nft.map(|nft| NftRecord {
                capability: nft.capability,
                commitment: nft.commitment.to_vec(),
            }),
        }
    }
}

/// The fixed bytes before and after what differs, and how long that is.
const TEMPLATES: [(&[u8], usize, &[u8]); 12] = [
    (&[0x76, 0xa9, 20], 20, &[0x88, 0xac]),       // pubkeyhash
    (&[0xa9, 20], 20, &[0x87]),                   // scripthash
    (&[0x00, 20], 20, &[]),                       // witness_v0_keyhash
    (&[0x00, 32], 32, &[]),                       // witness_v0_scripthash
    (&[0x51, 32], 32, &[]),                       // witness_v1_taproot
    (&[33], 33, &[0xac]),                         // pubkey, compressed
    (&[65], 65, &[0xac]),                         // pubkey
    (&[0xaa, 32], 32, &[0x87]),                   // scripthash of 32 bytes
    (&[0xba, 0x76, 0xa9, 20], 20, &[0x88, 0xac]), // stakesubmission-pubkeyhash
    (&[0xbb, 0x76, 0xa9, 20], 20, &[0x88, 0xac]), // stakegen-pubkeyhash
    (&[0xbc, 0x76, 0xa9, 20], 20, &[0x88, 0xac]), // stakerevoke-pubkeyhash
    (&[0xbd, 0x76, 0xa9, 20], 20, &[0x88, 0xac]), // stakechange-pubkeyhash
];

fn put_script(out: &mut Vec<u8>, script: &[u8]) {
    for (code, (before, length, after)) in TEMPLATES.iter().enumerate() {
        if script.len() != before.len() + length + after.len() {
            continue;
        }
        let middle = script.strip_prefix(*before).and_then(|rest| rest.strip_suffix(*after));
        if let Some(middle) = middle {
            out.push(code as u8);
            out.extend_from_slice(middle);
            return;
        }
    }
    out.push(TEMPLATES.len() as u8);
    put_prefixed(out, script);
}

fn read_script(reader: &mut RowReader<'_>) -> Result<Vec<u8>, BadRow> {
    let code = usize::from(reader.u8()?);
    match TEMPLATES.get(code) {
        Some((before, length, after)) => {
            let middle = reader.take(*length)?;
            Ok([before, middle, *after].concat())
        }
        None if code == TEMPLATES.len() => Ok(reader.prefixed()?.to_vec()),
        None => Err(BadRow),
    }
}

fn skip_script(reader: &mut RowReader<'_>) -> Result<(), BadRow> {
    let code = usize::from(reader.u8()?);
    match TEMPLATES.get(code) {
        Some((_, length, _)) => reader.take(*length)?,
        None if code == TEMPLATES.len() => reader.prefixed()?,
        None => return Err(BadRow),
    };
    Ok(())
}

const HAS_TOKEN: u8 = 1;
const HAS_NFT: u8 = 2;

fn put_token(out: &mut Vec<u8>, token: Option<&TokenRecord>) {
    let Some(token) = token else { return out.push(0) };
    let nft = if token.nft.is_some() { HAS_NFT } else { 0 };
    out.push(HAS_TOKEN | nft);
    out.extend_from_slice(token.category.wire());
    put_varint(out, token.amount);
    if let Some(nft) = &token.nft {
        out.push(match nft.capability {
            Capability::None => 0,
            Capability::Mutable => 1,
            Capability::Minting => 2,
        });
        put_prefixed(out, &nft.commitment);
    }
}

fn read_token(reader: &mut RowReader<'_>) -> Result<Option<TokenRecord>, BadRow> {
    let marks = reader.u8()?;
    if marks == 0 {
        return Ok(None);
    }
    if marks & !(HAS_TOKEN | HAS_NFT) != 0 {
        return Err(BadRow);
    }
    let (category, amount) = (Hash32::from_wire(reader.array()?), reader.varint()?);
    let nft = match marks & HAS_NFT {
        0 => None,
        _ => Some(NftRecord {
            capability: match reader.u8()? {
                0 => Capability::None,
                1 => Capability::Mutable,
                2 => Capability::Minting,
                _ => return Err(BadRow),
            },
            commitment: reader.prefixed()?.to_vec(),
        }),
    };
    Ok(Some(TokenRecord { category, amount, nft }))
}

/// What stands behind each output of a record because one of them has it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extras {
    /// Tokens.
    pub(super) tokens: bool,
    /// Versions of scripts.
    pub(super) versions: bool,
}

/// Value, script, and where any output of the transaction has a token or a version, those; the
/// number of outputs stands before them.
pub(crate) fn put_output(
    out: &mut Vec<u8>,
    value: u64,
    script: &[u8],
    token: Option<Option<&TokenRecord>>,
    version: Option<u16>,
) {
    put_varint(out, value);
    put_script(out, script);
    if let Some(token) = token {
        put_token(out, token);
    }
    if let Some(version) = version {
        put_varint(out, version.into());
    }
}

pub(super) fn read_outputs(
    reader: &mut RowReader<'_>,
    extras: Extras,
) -> Result<Vec<OutputRecord>, BadRow> {
    (0..reader.count()?).map(|_| read_one(reader, extras)).collect()
}

fn read_one(reader: &mut RowReader<'_>, extras: Extras) -> Result<OutputRecord, BadRow> {
    let (value, script) = (reader.varint()?, read_script(reader)?);
    let token = if extras.tokens { read_token(reader)? } else { None };
    let version = if extras.versions { read_version(reader)? } else { 0 };
    Ok(OutputRecord { value, version, script, token })
}

fn read_version(reader: &mut RowReader<'_>) -> Result<u16, BadRow> {
    reader.small()?.try_into().map_err(|_| BadRow)
}

/// Reads the output at one place; none where there are fewer.
pub(super) fn read_output(
    reader: &mut RowReader<'_>,
    extras: Extras,
    vout: u32,
) -> Result<Option<OutputRecord>, BadRow> {
    let count = reader.count()?;
    if u64::from(vout) >= count as u64 {
        return Ok(None);
    }
    for _ in 0..vout {
        reader.varint()?;
        skip_script(reader)?;
        if extras.tokens {
            read_token(reader)?;
        }
        if extras.versions {
            read_version(reader)?;
        }
    }
    read_one(reader, extras).map(Some)
}
