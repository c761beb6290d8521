//! A verdict against what the node says of its unspent outputs.
//!
//! Leaves asking the node to the caller. Invariant: amounts are read from their digits, never by
//! way of a float.

use chain::Hash32;
use serde_json::value::RawValue;

use super::Verdict;

/// Whether an index and its node have the same unspent outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The same block, the same number of outputs, the same sum.
    Same,
    /// They stand at different blocks, so that nothing can be said.
    OtherBlock {
        /// The node's.
        theirs: Hash32,
    },
    /// The same block, but not the same outputs.
    Differs {
        /// How many outputs the node has.
        outputs: u64,
        /// What they add up to, in the smallest unit.
        total: u128,
    },
    /// The node's answer is not one to `gettxoutsetinfo`, or has an amount that is none.
    Unreadable,
}

/// The node's answer, as far as it is read.
#[derive(serde::Deserialize)]
struct OutputSet<'a> {
    bestblock: &'a str,
    txouts: u64,
    #[serde(borrow)]
    total_amount: &'a RawValue,
}

impl Verdict {
    /// Compares with the result of the node's `gettxoutsetinfo`, whose amounts are coins of
    /// `decimals` places.
    pub fn against(&self, result: &str, decimals: u8) -> Agreement {
        let Some((theirs, outputs, total)) = read(result, decimals) else {
            return Agreement::Unreadable;
        };
        if self.tip.is_none_or(|tip| tip.hash != theirs) {
            return Agreement::OtherBlock { theirs };
        }
        if (self.unspent_outputs, self.unspent_total) == (outputs, total) {
            Agreement::Same
        } else {
            Agreement::Differs { outputs, total }
        }
    }
}

fn read(result: &str, decimals: u8) -> Option<(Hash32, u64, u128)> {
    let set: OutputSet<'_> = serde_json::from_str(result).ok()?;
    let total = smallest_units(set.total_amount.get(), decimals)?;
    Some((set.bestblock.parse().ok()?, set.txouts, total))
}

/// An amount in the smallest unit, from its decimal digits.
fn smallest_units(coins: &str, decimals: u8) -> Option<u128> {
    let (whole, part) = coins.split_once('.').unwrap_or((coins, ""));
    let (part, beyond) = part.split_at_checked(usize::from(decimals)).unwrap_or((part, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let readable = !whole.is_empty() && digits(whole) && digits(part);
    if !readable || beyond.bytes().any(|byte| byte != b'0') {
        return None;
    }
    format!("{whole}{part:0<width$}", width = usize::from(decimals)).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_digit_by_digit() {
        let cases = [
            ("7000.00000000", 8, Some(700_000_000_000)),
            ("7100000000.00", 2, Some(710_000_000_000)),
            ("0.00000001", 8, Some(1)),
            ("21", 8, Some(2_100_000_000)),
            ("0.1", 8, Some(10_000_000)),
            ("184467440737.09551616", 8, Some(u128::from(u64::MAX) + 1)),
            ("1.230", 2, Some(123)),
            ("1.234", 2, None),
            ("-1.0", 8, None),
            ("1e3", 8, None),
            ("\"1\"", 8, None),
            ("", 8, None),
        ];
        for (coins, decimals, units) in cases {
            assert_eq!(smallest_units(coins, decimals), units, "{coins}");
        }
    }

    #[test]
    fn a_verdict_is_the_nodes_or_not() {
        let hash = Hash32::sha256d(&[b"tip"]);
        let tip = crate::utxo::Tip { height: 7, hash, next_txnum: 9 };
        let verdict = Verdict {
            tip: Some(tip),
            unspent_outputs: 3,
            unspent_total: 250_000_000,
            ..Verdict::default()
        };
        let says = |hash: Hash32, outputs: u64, total: &str| {
            let said = format!(
                r#"{{"height":7,"bestblock":"{hash}","txouts":{outputs},"total_amount":{total}}}"#
            );
            verdict.against(&said, 8)
        };
        assert_eq!(says(hash, 3, "2.50000000"), Agreement::Same);
        assert_eq!(says(hash, 4, "2.5"), Agreement::Differs { outputs: 4, total: 250_000_000 });
        assert_eq!(
            says(hash, 3, "2.50000001"),
            Agreement::Differs { outputs: 3, total: 250_000_001 }
        );
        let theirs = Hash32::sha256d(&[b"another"]);
        assert_eq!(says(theirs, 3, "2.5"), Agreement::OtherBlock { theirs });
        assert_eq!(Verdict::default().against("{}", 8), Agreement::Unreadable);
        assert_eq!(says(hash, 3, "\"2.5\""), Agreement::Unreadable);
    }
}
