//! An output of a transaction.

use super::byte_reader::{ByteReader, DecodeError, Problem};
use super::token::{self, Token};

/// An output: so many coins for whoever satisfies a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output<'a> {
    /// Coins in the smallest unit.
    pub value: u64,
    /// The script that says who may spend it, without a token prefix.
    pub script: &'a [u8],
    /// Tokens besides the coins.
    pub token: Option<Token<'a>>,
}

impl<'a> Output<'a> {
    /// Bytes of the shortest output.
    pub(super) const LEAST_BYTES: usize = 9;

    pub(super) fn read(
        reader: &mut ByteReader<'a>,
        tokens: bool,
    ) -> Result<Output<'a>, DecodeError> {
        let fault = reader.fault(Problem::Amount);
        let value = reader.u64()?;
        if value > i64::MAX as u64 {
            return Err(fault);
        }
        let bytes = reader.prefixed()?;
        let (token, script) = if tokens { token::split(bytes) } else { (None, bytes) };
        Ok(Output { value, script, token })
    }
}
