//! What transactions do to the rows of scripts, said once: `connect` goes through it forward,
//! `disconnect` back, the audit forward once more with sums in the place of rows.
//!
//! Leaves writing to whoever is told. Invariants: all outputs of a block exist before any is spent
//! (decision U9); of a twin (BIP 30) the later one's outputs replace the earlier one's that are
//! unspent (decision U5); going back undoes in the opposite order what going forward does.

use chain::Hash32;
use chain::utxo::Format;

use super::outputs::OutputRecord;
use super::record::{Spent, TransactionRecord};
use super::schema::{UnspentKey, UnspentRow};
use super::script_id::{HashKey, ScriptId};

/// A transaction with what it takes to know what it does.
pub(crate) struct Step {
    /// Its place in the chain.
    pub(crate) txnum: u64,
    /// Itself.
    pub(crate) record: TransactionRecord,
    /// The outputs that its inputs spend.
    pub(crate) spent: Vec<SpentOutput>,
    /// Place of the earlier twin, where outputs of it are replaced.
    pub(crate) twin: Option<u64>,
}

/// An output that an input spends, and where it stands.
pub(crate) struct SpentOutput {
    /// Place of its transaction in the chain.
    pub(crate) txnum: u64,
    /// Its place there.
    pub(crate) vout: u32,
    /// What its transaction says of it.
    pub(crate) spent: Spent,
}

/// Told what transactions do.
///
/// Both ways tell the same; going back, what an index has less of by it is unmade, and what it has
/// again is made.
pub(crate) trait Effects {
    /// Why going on makes no sense.
    type Error;

    /// A transaction stands there.
    fn stands(&mut self, step: &Step);
    /// There is an unspent output more.
    fn make(&mut self, key: &UnspentKey, row: &UnspentRow) -> Result<(), Self::Error>;
    /// There is an unspent output less.
    fn unmake(&mut self, key: &UnspentKey, row: &UnspentRow) -> Result<(), Self::Error>;
    /// An output pays a script.
    fn pay(&mut self, script: ScriptId, value: u64);
    /// An input takes from a script.
    fn spend(&mut self, script: ScriptId, value: u64);
    /// A transaction touches a script, told once. Of one script these come in ascending order.
    fn touch(&mut self, script: ScriptId, txnum: u64);
}

/// Which way blocks are gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// They are added.
    Forward,
    /// They are taken back.
    Back,
}

/// Which outputs count, and how their scripts are named.
#[derive(Clone, Copy)]
pub(crate) struct Rules<'a> {
    /// The secret of the script ids.
    pub(crate) key: &'a HashKey,
    /// The format of the chain's blocks.
    pub(crate) format: &'a Format,
}

impl Rules<'_> {
    /// Whether an output of the transaction at that place counts: has rows besides its record.
    pub(crate) fn counts(&self, txnum: u64, output: &OutputRecord) -> bool {
        makes_coins(txnum) && self.can_be_spent(output)
    }

    /// Whether an output can be spent at all.
    pub(crate) fn can_be_spent(&self, output: &OutputRecord) -> bool {
        self.is_spendable(output.value, &output.script)
    }

    /// The name of an output's script.
    pub(crate) fn script(&self, output: &OutputRecord) -> ScriptId {
        self.script_id(output.version, &output.script)
    }

    /// The name of a script of some version: what a stake transaction makes an output for makes no
    /// difference.
    pub(crate) fn script_id(&self, version: u16, script: &[u8]) -> ScriptId {
        match version {
            0 => self.key.script_id(0, self.format.scripts.counted(script)),
            _ => self.key.script_id(version, script),
        }
    }

    /// Whether an output of that value and script can be spent at all.
    pub(crate) fn is_spendable(&self, value: u64, script: &[u8]) -> bool {
        !self.format.scripts.never_spent(value, script)
    }
}

/// Whether what the transaction at that place makes counts: not in the first block, whose one
/// transaction has the txnum 0 (decision U4).
pub(crate) fn makes_coins(txnum: u64) -> bool {
    txnum != 0
}

/// The row of an output of that transaction.
fn unspent_row(txid: Hash32, coinbase: bool, output: &OutputRecord) -> UnspentRow {
    UnspentRow { txid, coinbase, token: output.token.is_some() }
}

/// Tells what consecutive transactions of one block do.
pub(crate) fn go<E: Effects>(
    steps: &[Step],
    rules: Rules<'_>,
    way: Way,
    told: &mut E,
) -> Result<(), E::Error> {
    let scripts: Vec<Option<ScriptId>> = steps
        .iter()
        .flat_map(|step| step.record.outputs.iter().map(|output| (step.txnum, output)))
        .map(|(txnum, output)| rules.counts(txnum, output).then(|| rules.script(output)))
        .collect();
    let mut walk = Walk { rules, way, told, touched: Vec::new() };
    match way {
        Way::Forward => {
            walk.outputs(steps, &scripts)?;
            walk.inputs(steps, &scripts)
        }
        Way::Back => {
            walk.inputs(steps, &scripts)?;
            walk.outputs(steps, &scripts)
        }
    }
}

struct Walk<'a, E> {
    rules: Rules<'a>,
    way: Way,
    told: &'a mut E,
    /// Scripts that a transaction touches.
    touched: Vec<ScriptId>,
}

impl<E: Effects> Walk<'_, E> {
    /// An output appears, or disappears again on the way back.
    fn appears(&mut self, key: &UnspentKey, row: &UnspentRow) -> Result<(), E::Error> {
        match self.way {
            Way::Forward => self.told.make(key, row),
            Way::Back => self.told.unmake(key, row),
        }
    }

    fn disappears(&mut self, key: &UnspentKey, row: &UnspentRow) -> Result<(), E::Error> {
        match self.way {
            Way::Forward => self.told.unmake(key, row),
            Way::Back => self.told.make(key, row),
        }
    }

    fn outputs(&mut self, steps: &[Step], scripts: &[Option<ScriptId>]) -> Result<(), E::Error> {
        let mut scripts = scripts.iter();
        for step in steps {
            self.told.stands(step);
            let Step { txnum, record, .. } = step;
            let coinbase = record.is_coinbase();
            for (vout, output) in (0u32..).zip(&record.outputs) {
                let Some(script) = scripts.next().copied().flatten() else { continue };
                let key = UnspentKey { script, value: output.value, txnum: *txnum, vout };
                let row = unspent_row(record.txid, coinbase, output);
                if let (Some(twin), true) = (step.twin, record.replaces(vout)) {
                    self.disappears(&UnspentKey { txnum: twin, ..key }, &row)?;
                }
                self.appears(&key, &row)?;
            }
        }
        Ok(())
    }

    fn inputs(&mut self, steps: &[Step], scripts: &[Option<ScriptId>]) -> Result<(), E::Error> {
        let mut scripts = scripts.iter();
        for step in steps {
            self.touched.clear();
            for (vout, output) in (0u32..).zip(&step.record.outputs) {
                let Some(script) = scripts.next().copied().flatten() else { continue };
                self.touched.push(script);
                if !step.record.replaces(vout) {
                    self.told.pay(script, output.value);
                }
            }
            for SpentOutput { txnum, vout, spent } in &step.spent {
                let Spent { txid, coinbase, output } = spent;
                let script = self.rules.script(output);
                let (value, txnum, vout) = (output.value, *txnum, *vout);
                let key = UnspentKey { script, value, txnum, vout };
                self.disappears(&key, &unspent_row(*txid, *coinbase, output))?;
                self.told.spend(script, value);
                self.touched.push(script);
            }
            self.touched.sort_unstable();
            self.touched.dedup();
            for script in &self.touched {
                self.told.touch(*script, step.txnum);
            }
        }
        Ok(())
    }
}
