//! Watches whether an answer that comes in pieces belongs to the call that waits for it.
//!
//! Comparing is left to `ids`. Invariant: at most `WHOLE_BYTES` of an answer are kept; of a longer
//! one only its beginning and its end are looked at, where nodes put the id.

use bytes::Bytes;
use chain::Dialect;

use crate::ids::Ids;

/// Largest answer that is looked at as a whole, in bytes.
const WHOLE_BYTES: usize = 64 << 10;
/// How much of the end of a longer one is looked at, in bytes; an id that is longer is not compared.
const TAIL_BYTES: usize = 1024;

/// What was sent, and what came so far.
pub(crate) struct Witness {
    ids: Ids,
    dialect: Dialect,
    kept: Vec<Bytes>,
    bytes: usize,
}

impl Witness {
    pub(crate) fn new(ids: Ids, dialect: Dialect) -> Witness {
        Witness { ids, dialect, kept: Vec::new(), bytes: 0 }
    }

    /// Takes the next piece; `false` if the answer is another call's.
    pub(crate) fn see(&mut self, piece: &Bytes) -> bool {
        if matches!(self.ids, Ids::None) && self.dialect != Dialect::Monerod {
            return true;
        }
        let before = self.bytes;
        self.bytes += piece.len();
        let mut fits = true;
        if before == 0 {
            fits = self.ids.fit_head(self.dialect, piece);
        } else if before <= WHOLE_BYTES && self.bytes > WHOLE_BYTES {
            // The first piece may have been too short to tell.
            fits = self.ids.fit_head(self.dialect, &self.kept.concat());
        }
        if self.bytes > WHOLE_BYTES {
            self.forget_all_but_a_tail(piece.len());
        }
        self.kept.push(piece.clone());
        fits
    }

    /// The answer is complete; `false` if it is another call's.
    pub(crate) fn end(&mut self) -> bool {
        let kept = std::mem::take(&mut self.kept);
        let joined: Bytes = match &kept[..] {
            [] => return true,
            [only] => only.clone(),
            _ => kept.concat().into(),
        };
        match self.bytes > WHOLE_BYTES {
            true => {
                self.ids.fit_tail(self.dialect, &joined[joined.len().saturating_sub(TAIL_BYTES)..])
            }
            false => self.ids.fit(self.dialect, &joined),
        }
    }

    /// Keeps of what came only what may still stand in the last `TAIL_BYTES`.
    fn forget_all_but_a_tail(&mut self, next: usize) {
        let mut room = TAIL_BYTES.saturating_sub(next);
        let mut tail = Vec::new();
        while room > 0
            && let Some(piece) = self.kept.pop()
        {
            let piece = piece.slice(piece.len().saturating_sub(room)..);
            room -= piece.len();
            // A copy: a slice would hold on to the whole piece.
            tail.push(Bytes::copy_from_slice(&piece));
        }
        tail.reverse();
        self.kept = tail;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(text: &str, piece: usize) -> bool {
        let mut witness = Witness::new(Ids::One(Some(Bytes::from_static(b"5"))), Dialect::Core);
        let pieces = text.as_bytes().chunks(piece);
        let all = pieces.map(Bytes::copy_from_slice).all(|piece| witness.see(&piece));
        all && witness.end()
    }

    #[test]
    fn id_is_found_at_either_end_however_the_answer_is_cut() {
        for size in [10, 5000, 70_000, 200_000] {
            let filling = "0".repeat(size);
            for piece in [3, 100, 4096, 300_000] {
                for id in [5, 6] {
                    let late = format!("{{\"result\":\"{filling}\",\"error\":null,\"id\":{id}}}\n");
                    assert_eq!(watched(&late, piece), id == 5, "{size} {piece}");
                    let early =
                        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":\"{filling}\"}}");
                    assert_eq!(watched(&early, piece), id == 5, "{size} {piece}");
                }
            }
        }
    }
}
