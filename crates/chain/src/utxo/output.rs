//! An output of a transaction.

use super::byte_reader::{ByteReader, DecodeError, Problem};
use super::items::step_through;
use super::token::{self, Token};

/// An output: so many coins for whoever satisfies a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output<'a> {
    /// Coins in the smallest unit.
    pub value: u64,
    /// The script that says who may spend it, without a token prefix.
    pub script: &'a [u8],
    /// Version of the script's language, 0 where there is but one. A script of any other version
    /// has no meaning yet.
    pub script_version: u16,
    /// Tokens besides the coins.
    pub token: Option<Token<'a>>,
}

/// How outputs are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputForm {
    /// A value and a script.
    Plain,
    /// The same, and the script may begin with a token prefix.
    WithTokens,
    /// A value, the version of the script and the script.
    Versioned,
}

impl<'a> Output<'a> {
    /// Bytes of the shortest output.
    pub(super) const LEAST_BYTES: usize = 9;

    pub(super) fn read(
        reader: &mut ByteReader<'a>,
        form: OutputForm,
    ) -> Result<Output<'a>, DecodeError> {
        let fault = reader.fault(Problem::Amount);
        let value = reader.u64()?;
        if value > i64::MAX as u64 {
            return Err(fault);
        }
        let script_version = if form == OutputForm::Versioned { reader.u16()? } else { 0 };
        let bytes = reader.prefixed()?;
        let (token, script) = match form {
            OutputForm::WithTokens => token::split(bytes),
            OutputForm::Plain | OutputForm::Versioned => (None, bytes),
        };
        Ok(Output { value, script, script_version, token })
    }

    /// Steps through a counted list of outputs.
    pub(super) fn step_through(
        reader: &mut ByteReader<'a>,
        form: OutputForm,
    ) -> Result<(&'a [u8], usize), DecodeError> {
        step_through(reader, Output::LEAST_BYTES, |reader| Output::read(reader, form))
    }
}
