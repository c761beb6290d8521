//! A verdict against what the node says of its sums.
//!
//! Leaves asking the node to the caller. Invariant: amounts are read from their digits, never by
//! way of a float.

use chain::Hash32;
use chain::utxo::{Format, Layout};
use serde_json::value::RawValue;

use super::Verdict;

/// Whether an index and its node have the same sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The same block and the same sums.
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
    /// The same block, but another sum.
    SumDiffers {
        /// What it is a sum of: `pool` and the node's name of one (`transparent` is what is in
        /// none), `coin supply`, `treasury`.
        what: String,
        /// What the node says it is, in the smallest unit.
        total: i128,
    },
    /// The answer is none to that question, or has an amount that is none.
    Unreadable,
}

/// The node's answer to `gettxoutsetinfo`, as far as it is read.
#[derive(serde::Deserialize)]
struct OutputSet<'a> {
    bestblock: &'a str,
    txouts: u64,
    /// In coins.
    #[serde(borrow, default)]
    total_amount: Option<&'a RawValue>,
    /// In the smallest unit.
    #[serde(default)]
    totalamount: Option<u64>,
}

/// The node's answer to `getblockchaininfo`, where it has pools.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChainInfo<'a> {
    #[serde(rename = "bestblockhash")]
    best: &'a str,
    #[serde(borrow)]
    value_pools: Vec<ValuePool<'a>>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct ValuePool<'a> {
    id: &'a str,
    chain_value_zat: i64,
}

/// The node's answer to `gettreasurybalance`.
#[derive(serde::Deserialize)]
struct Treasury<'a> {
    hash: &'a str,
    balance: i64,
}

impl Verdict {
    /// The methods whose answers [`Verdict::against`] reads, in its order; they take no parameters.
    pub fn questions(format: &Format) -> &'static [&'static str] {
        match format.layout {
            Layout::Plain => &["gettxoutsetinfo"],
            // The sum in the middle names no block: the others say where the node stood before and
            // after.
            Layout::Staked => &["gettxoutsetinfo", "getcoinsupply", "gettreasurybalance"],
            // Such a node has no such count, but sums of its pools.
            Layout::Shielded => &["getblockchaininfo"],
        }
    }

    /// Compares with the node's answers; amounts in coins have `decimals` places.
    pub fn against(&self, answers: &[&str], decimals: u8) -> Agreement {
        let [first, more @ ..] = answers else { return Agreement::Unreadable };
        let agrees = if let Ok(set) = serde_json::from_str(first) {
            self.against_outputs(&set, decimals)
        } else if let Ok(info) = serde_json::from_str(first) {
            self.against_pools(&info)
        } else {
            None
        };
        match (agrees.unwrap_or(Agreement::Unreadable), more) {
            (Agreement::Same, [supply, treasury]) => {
                self.against_supply(supply, treasury).unwrap_or(Agreement::Unreadable)
            }
            (agrees, _) => agrees,
        }
    }

    fn against_supply(&self, supply: &str, treasury: &str) -> Option<Agreement> {
        let supply: i128 = serde_json::from_str::<i64>(supply).ok()?.into();
        let treasury: Treasury<'_> = serde_json::from_str(treasury).ok()?;
        if let Some(elsewhere) = self.stands_elsewhere(treasury.hash.parse().ok()?) {
            return Some(elsewhere);
        }
        let sums = [
            ("coin supply", self.coin_supply, supply),
            ("treasury", self.treasury_mature, treasury.balance.into()),
        ];
        let differs = sums.into_iter().find(|(_, ours, theirs)| ours != theirs);
        Some(differs.map_or(Agreement::Same, |(what, _, total)| Agreement::SumDiffers {
            what: what.into(),
            total,
        }))
    }

    fn stands_elsewhere(&self, theirs: Hash32) -> Option<Agreement> {
        let elsewhere = self.tip.is_none_or(|tip| tip.hash != theirs);
        elsewhere.then_some(Agreement::OtherBlock { theirs })
    }

    fn against_outputs(&self, set: &OutputSet<'_>, decimals: u8) -> Option<Agreement> {
        let total = match set.total_amount {
            Some(coins) => smallest_units(coins.get(), decimals)?,
            None => set.totalamount?.into(),
        };
        let (outputs, theirs) = (set.txouts, set.bestblock.parse().ok()?);
        if let Some(elsewhere) = self.stands_elsewhere(theirs) {
            return Some(elsewhere);
        }
        let same = (self.unspent_outputs, self.unspent_total) == (outputs, total);
        Some(if same { Agreement::Same } else { Agreement::Differs { outputs, total } })
    }

    fn against_pools(&self, info: &ChainInfo<'_>) -> Option<Agreement> {
        if let Some(elsewhere) = self.stands_elsewhere(info.best.parse().ok()?) {
            return Some(elsewhere);
        }
        let ours = |id: &str| match id {
            // The node counts outputs that nobody can spend.
            "transparent" => Some((self.unspent_total + self.burnt) as i128),
            _ => self.pools.by_name().iter().find(|(name, _)| *name == id).map(|pool| -pool.1),
        };
        let differs = info.value_pools.iter().find(|pool| {
            // What no transaction moves is not in an index of transactions.
            ours(pool.id).is_some_and(|ours| ours != i128::from(pool.chain_value_zat))
        });
        Some(match differs {
            None => Agreement::Same,
            Some(ValuePool { id, chain_value_zat }) => Agreement::SumDiffers {
                what: format!("pool {id}"),
                total: (*chain_value_zat).into(),
            },
        })
    }
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
            verdict.against(&[&said], 8)
        };
        assert_eq!(says(hash, 3, "2.50000000"), Agreement::Same);
        assert_eq!(says(hash, 4, "2.5"), Agreement::Differs { outputs: 4, total: 250_000_000 });
        assert_eq!(
            says(hash, 3, "2.50000001"),
            Agreement::Differs { outputs: 3, total: 250_000_001 }
        );
        let theirs = Hash32::sha256d(&[b"another"]);
        assert_eq!(says(theirs, 3, "2.5"), Agreement::OtherBlock { theirs });
        assert_eq!(Verdict::default().against(&["{}"], 8), Agreement::Unreadable);
        assert_eq!(says(hash, 3, "\"2.5\""), Agreement::Unreadable);
    }

    #[test]
    fn pools_are_the_nodes_or_not() {
        let hash = Hash32::sha256d(&[b"tip"]);
        let tip = Some(crate::utxo::Tip { height: 7, hash, next_txnum: 9 });
        let pools = chain::utxo::Pools { sapling: -5, ..Default::default() };
        let verdict = Verdict { tip, unspent_total: 20, burnt: 1, pools, ..Verdict::default() };
        let says = |hash: Hash32, transparent: i64, sapling: i64| {
            let said = format!(
                r#"{{"bestblockhash":"{hash}","valuePools":[
                    {{"id":"transparent","chainValue":1e-8,"chainValueZat":{transparent}}},
                    {{"id":"lockbox","chainValueZat":99}},
                    {{"id":"sapling","chainValueZat":{sapling}}}]}}"#
            );
            verdict.against(&[&said], 8)
        };
        let differs =
            |pool: &str, total| Agreement::SumDiffers { what: format!("pool {pool}"), total };
        assert_eq!(says(hash, 21, 5), Agreement::Same);
        assert_eq!(says(hash, 20, 5), differs("transparent", 20));
        assert_eq!(says(hash, 21, -5), differs("sapling", -5));
        let theirs = Hash32::ZERO;
        assert_eq!(says(theirs, 21, 5), Agreement::OtherBlock { theirs });
    }

    #[test]
    fn coins_and_treasury_are_the_nodes_or_not() {
        let hash = Hash32::sha256d(&[b"tip"]);
        let tip = Some(crate::utxo::Tip { height: 7, hash, next_txnum: 9 });
        let verdict = Verdict {
            tip,
            unspent_outputs: 3,
            unspent_total: 20,
            coin_supply: 25,
            treasury_mature: 4,
            ..Verdict::default()
        };
        let says = |supply: i64, at: Hash32, treasury: i64| {
            let set = format!(r#"{{"bestblock":"{hash}","txouts":3,"totalamount":20}}"#);
            let treasury = format!(r#"{{"hash":"{at}","height":7,"balance":{treasury}}}"#);
            verdict.against(&[&set, &supply.to_string(), &treasury], 8)
        };
        let differs = |what: &str, total| Agreement::SumDiffers { what: what.into(), total };
        assert_eq!(says(25, hash, 4), Agreement::Same);
        assert_eq!(says(26, hash, 4), differs("coin supply", 26));
        assert_eq!(says(25, hash, 5), differs("treasury", 5));
        // It moved on before it was asked for the coins, or after.
        let theirs = Hash32::ZERO;
        assert_eq!(says(26, theirs, 4), Agreement::OtherBlock { theirs });
    }
}
