//! BLAKE-256 with 14 rounds, the finalist of the SHA-3 contest.
//!
//! The crates that have it rest on a `digest` of 2020, so these lines are ours. Source: the
//! submission to the contest, version 1.4 (Aumasson, Henzen, Meier, Phan), section 2.1; its
//! vectors are among the tests. Invariant: no salt, and a message of fewer than 2^64 bits.

const INITIAL: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// The first digits of pi.
const PI: [u32; 16] = [
    0x243f_6a88,
    0x85a3_08d3,
    0x1319_8a2e,
    0x0370_7344,
    0xa409_3822,
    0x299f_31d0,
    0x082e_fa98,
    0xec4e_6c89,
    0x4528_21e6,
    0x38d0_1377,
    0xbe54_66cf,
    0x34e9_0c6c,
    0xc0ac_29b7,
    0xc97c_50dd,
    0x3f84_d5b5,
    0xb547_0917,
];

const ROUNDS: usize = 14;

const ORDERS: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];

/// Words of the state that the eight steps of a round mix: four columns, then four diagonals.
const STEPS: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
];

const BLOCK_BYTES: usize = 64;
/// Where the length stands in the last block.
const LENGTH_AT: usize = BLOCK_BYTES - 8;

/// The hash of the parts, one after the other.
pub(crate) fn blake256(parts: &[&[u8]]) -> [u8; 32] {
    let mut state = State { chain: INITIAL, bits: 0 };
    let mut block = [0; BLOCK_BYTES];
    let mut held = 0;
    for part in parts {
        let mut rest = *part;
        while !rest.is_empty() {
            // A full block waits until there is more: the last one is hashed by its padding.
            if held == BLOCK_BYTES {
                state.take(&block, BLOCK_BYTES);
                held = 0;
            }
            let (now, later) = rest.split_at(rest.len().min(BLOCK_BYTES - held));
            block[held..held + now.len()].copy_from_slice(now);
            held += now.len();
            rest = later;
        }
    }
    state.finish(&mut block, held)
}

struct State {
    chain: [u32; 8],
    /// Bits of the message that were hashed.
    bits: u64,
}

impl State {
    /// Hashes a block whose first bytes, so many, are of the message.
    fn take(&mut self, block: &[u8; BLOCK_BYTES], bytes: usize) {
        self.bits += bytes as u64 * 8;
        self.compress(block, self.bits);
    }

    /// Pads the message: a bit, zeros, a bit, and the length in bits.
    fn finish(mut self, block: &mut [u8; BLOCK_BYTES], held: usize) -> [u8; 32] {
        let length = self.bits + held as u64 * 8;
        // A block without a bit of the message counts as none.
        let mut count = if held == 0 { 0 } else { length };
        if held == BLOCK_BYTES {
            self.compress(block, count);
            (*block, count) = ([0; BLOCK_BYTES], 0);
            block[0] = 0x80;
        } else {
            block[held..].fill(0);
            block[held] = 0x80;
            if held >= LENGTH_AT {
                self.compress(block, count);
                (*block, count) = ([0; BLOCK_BYTES], 0);
            }
        }
        block[LENGTH_AT - 1] |= 1;
        block[LENGTH_AT..].copy_from_slice(&length.to_be_bytes());
        self.compress(block, count);
        let mut out = [0; 32];
        for (place, word) in out.chunks_exact_mut(4).zip(self.chain) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        out
    }

    fn compress(&mut self, block: &[u8; BLOCK_BYTES], count: u64) {
        let mut words = [0; 16];
        for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
            *word = u32::from_be_bytes(*bytes);
        }
        let mut v = [0; 16];
        v[..8].copy_from_slice(&self.chain);
        v[8..].copy_from_slice(&PI[..8]);
        let (low, high) = (count as u32, (count >> 32) as u32);
        v[12] ^= low;
        v[13] ^= low;
        v[14] ^= high;
        v[15] ^= high;
        for round in 0..ROUNDS {
            let order = &ORDERS[round % ORDERS.len()];
            for (step, [a, b, c, d]) in STEPS.into_iter().enumerate() {
                let (even, odd) = (order[2 * step], order[2 * step + 1]);
                v[a] = v[a].wrapping_add(v[b]).wrapping_add(words[even] ^ PI[odd]);
                v[d] = (v[d] ^ v[a]).rotate_right(16);
                v[c] = v[c].wrapping_add(v[d]);
                v[b] = (v[b] ^ v[c]).rotate_right(12);
                v[a] = v[a].wrapping_add(v[b]).wrapping_add(words[odd] ^ PI[even]);
                v[d] = (v[d] ^ v[a]).rotate_right(8);
                v[c] = v[c].wrapping_add(v[d]);
                v[b] = (v[b] ^ v[c]).rotate_right(7);
            }
        }
        for (place, word) in self.chain.iter_mut().enumerate() {
            *word ^= v[place] ^ v[place + 8];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(parts: &[&[u8]]) -> String {
        const_hex::encode(blake256(parts))
    }

    /// The vectors of the submission, and one of Decred's crypto/blake256.
    #[test]
    fn hashes_are_those_of_the_submission() {
        let vectors: [(&[u8], &str); 4] = [
            (b"", "716f6e863f744b9ac22c97ec7b76ea5f5908bc5b2f67c61510bfc4751384ea7a"),
            (&[0], "0ce8d4ef4dd7cd8d62dfded9d4edb0a774ae6a41929a74da23109e8f11139c87"),
            (&[0; 72], "d419bad32d504fb7d44d460c42c5593fe544fa4c135dec31e21bd9abdcc22d41"),
            (
                b"The quick brown fox jumps over the lazy dog",
                "7576698ee9cad30173080678e5965916adbb11cb5245d386bf1ffda1cb26c9d7",
            ),
        ];
        for (message, expected) in vectors {
            assert_eq!(hex(&[message]), expected);
        }
    }

    #[test]
    fn it_does_not_matter_where_a_message_is_cut() {
        for length in 0..200 {
            let message: Vec<u8> = (0..length).map(|byte| byte as u8).collect();
            let whole = blake256(&[&message]);
            for at in 0..length {
                assert_eq!(blake256(&[&message[..at], &[], &message[at..]]), whole);
            }
        }
    }
}
