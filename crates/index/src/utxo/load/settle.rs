//! The end of a segment: inputs whose outputs are not in memory meet them in the sorted files.

use super::Loader;
use super::coin::{COIN_BYTES, PackedCoin};
use super::coins::ASKED_BYTES;
use super::merged::Merged;
use super::run_writer::RunWriter;
use super::runs::EventKind;
use crate::IndexError;
use crate::row::of_u40;

/// Bytes of an answer: txnum u40, place of the input u24, the coin.
const ANSWER_BYTES: usize = 8 + COIN_BYTES - 12;

impl Loader {
    /// Answers all questions of the segment and completes the records that wait for them.
    pub(super) fn settle(&mut self) -> Result<(), IndexError> {
        let mut answers =
            RunWriter::<ANSWER_BYTES>::new(&self.dir, "answers", self.options.run_bytes, 0);
        let runs = &mut self.runs;
        self.coins.answer(|asking: &[u8; ASKED_BYTES], coin: PackedCoin| {
            let mut item = [0; ANSWER_BYTES];
            item[..8].copy_from_slice(&asking[12..]);
            item[8..].copy_from_slice(&coin.0);
            let txnum = asking[12..].first_chunk().expect("a question has 20 bytes");
            runs.event(&coin, of_u40(*txnum), EventKind::Spend)?;
            answers.push(item)
        })?;
        let files = answers.finish()?;
        let mut answers = Merged::<ANSWER_BYTES>::open(&self.dir, &files)?;
        self.records.writer()?.settle(|txnum, record| {
            for (place, input) in (0u32..).zip(&mut record.inputs) {
                if input.txnum != txnum {
                    continue;
                }
                let answer = answers.next()?;
                let lost = || IndexError::damaged("an answer of a load is gone");
                let answer = answer.ok_or_else(lost)?;
                let [a, b, c, d, e, vin @ ..] = answer;
                let at = u32::from_be_bytes([0, vin[0], vin[1], vin[2]]);
                if (of_u40([a, b, c, d, e]), at) != (txnum, place) {
                    return Err(lost());
                }
                let coin = answer.last_chunk().expect("an answer ends with a coin");
                let coin = PackedCoin(*coin);
                input.txnum = coin.txnum();
                record.value_in = record.value_in.map(|sum| sum + u128::from(coin.value()));
            }
            Ok(())
        })?;
        match answers.next()? {
            Some(_) => Err(IndexError::damaged("a record of a load is gone")),
            None => Ok(()),
        }
    }
}
