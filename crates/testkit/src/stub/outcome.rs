//! What a call to a stub node comes to: the text of a result, or one of Bitcoin Core's codes.
//!
//! Invariant: an amount is written with all its decimal places, as nodes write it.
//!
//! Source: Bitcoin Core 31.99, src/rpc/protocol.h.

/// The text of a result, or a code and a message.
pub(super) type Outcome = Result<String, (i64, &'static str)>;

pub(super) const MISC: i64 = -1;
pub(super) const WRONG_TYPE: i64 = -3;
pub(super) const NOT_FOUND: i64 = -5;
pub(super) const BAD_PARAMETER: i64 = -8;

/// A text without anything to escape, as JSON.
pub(super) fn quoted(text: impl std::fmt::Display) -> String {
    format!("\"{text}\"")
}

/// A sum of smallest units in coins.
pub(super) fn amount(sum: u128, decimals: u8) -> String {
    let unit = 10_u128.pow(u32::from(decimals));
    format!("{}.{:0width$}", sum / unit, sum % unit, width = usize::from(decimals))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_as_nodes_do() {
        assert_eq!(amount(0, 8), "0.00000000");
        assert_eq!(amount(1 << 64, 8), "184467440737.09551616");
        assert_eq!(amount(1_234, 2), "12.34");
    }
}
