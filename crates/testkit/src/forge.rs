//! Makes blocks of any content in Bitcoin's format: what no miner would, and a lot of it.
//!
//! Ids, merkle roots, previous hashes and sizes are right; work, signatures, scripts, fees and
//! subsidies are not looked at. Invariant: the same calls make the same bytes.

use bytes::Bytes;
use chain::utxo::{Block, OutPoint, merkle_root};
use chain::{Chain, Hash32};

use crate::genesis::genesis;

/// Regtest's target, which any hash of two meets.
const BITS: u32 = 0x207f_ffff;
/// Seconds between two blocks.
const SPACING: u32 = 60;

/// A transaction to be.
#[derive(Clone, Debug)]
pub struct Draft {
    version: i32,
    inputs: Vec<DraftInput>,
    outputs: Vec<(u64, Vec<u8>)>,
    lock_time: u32,
}

#[derive(Clone, Debug)]
struct DraftInput {
    previous: OutPoint,
    script: Vec<u8>,
    sequence: u32,
    witness: Vec<Vec<u8>>,
}

impl Default for Draft {
    fn default() -> Draft {
        Draft { version: 2, inputs: Vec::new(), outputs: Vec::new(), lock_time: 0 }
    }
}

impl Draft {
    /// A transaction of version 2 without inputs and outputs.
    pub fn new() -> Draft {
        Draft::default()
    }

    /// With another version.
    pub fn version(self, version: i32) -> Draft {
        Draft { version, ..self }
    }

    /// With another lock time than 0.
    pub fn lock_time(self, lock_time: u32) -> Draft {
        Draft { lock_time, ..self }
    }

    /// Spends an output, with an empty script, the last sequence number and no witness.
    pub fn spend(self, previous: OutPoint) -> Draft {
        self.spend_with(previous, &[], u32::MAX, &[])
    }

    /// Spends an output with a script, a sequence number and witness items.
    pub fn spend_with(
        mut self,
        previous: OutPoint,
        script: &[u8],
        sequence: u32,
        witness: &[&[u8]],
    ) -> Draft {
        let witness = witness.iter().map(|item| item.to_vec()).collect();
        self.inputs.push(DraftInput { previous, script: script.to_vec(), sequence, witness });
        self
    }

    /// Pays `value` of the smallest unit to a script, token prefix included where there is one.
    pub fn pay(mut self, value: u64, script: &[u8]) -> Draft {
        self.outputs.push((value, script.to_vec()));
        self
    }

    /// The finished transaction.
    pub fn finish(&self) -> ForgedTransaction {
        let mut body = Vec::with_capacity(64 + 48 * self.inputs.len() + 40 * self.outputs.len());
        put_count(&mut body, self.inputs.len());
        for input in &self.inputs {
            body.extend_from_slice(input.previous.txid.wire());
            body.extend_from_slice(&input.previous.vout.to_le_bytes());
            put_prefixed(&mut body, &input.script);
            body.extend_from_slice(&input.sequence.to_le_bytes());
        }
        put_count(&mut body, self.outputs.len());
        for (value, script) in &self.outputs {
            body.extend_from_slice(&value.to_le_bytes());
            put_prefixed(&mut body, script);
        }
        let (version, lock_time) = (self.version.to_le_bytes(), self.lock_time.to_le_bytes());
        let txid = Hash32::sha256d(&[&version, &body, &lock_time]);
        let witnessed = self.inputs.iter().any(|input| !input.witness.is_empty());
        let raw = match witnessed {
            false => [&version[..], &body, &lock_time].concat(),
            true => [&version[..], &[0, 1], &body, &self.witnesses(), &lock_time].concat(),
        };
        ForgedTransaction { txid, raw: raw.into() }
    }

    fn witnesses(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for input in &self.inputs {
            put_count(&mut bytes, input.witness.len());
            input.witness.iter().for_each(|item| put_prefixed(&mut bytes, item));
        }
        bytes
    }
}

/// A finished transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgedTransaction {
    /// Its id.
    pub txid: Hash32,
    /// Its bytes, as in a block.
    pub raw: Bytes,
}

impl ForgedTransaction {
    /// Its output at this place.
    pub fn output(&self, vout: u32) -> OutPoint {
        OutPoint { txid: self.txid, vout }
    }
}

/// A finished block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgedBlock {
    /// Blocks below it.
    pub height: u32,
    /// Its hash.
    pub hash: Hash32,
    /// Hash of the block below.
    pub previous: Hash32,
    /// Its bytes.
    pub raw: Bytes,
    /// Its first transaction.
    pub coinbase: ForgedTransaction,
}

/// Makes the next block on a tip.
#[derive(Clone, Debug)]
pub struct Forge {
    height: u32,
    tip: Hash32,
    time: u32,
    /// Tells the coinbases of branches apart.
    salt: u32,
}

impl Forge {
    /// On the first block of a chain's regtest network.
    ///
    /// # Panics
    /// If the chain's blocks are not in Bitcoin's format.
    pub fn new(chain: &'static Chain) -> Forge {
        let raw = genesis(chain).expect("the chain's blocks are in Bitcoin's format");
        let format = *chain.format().expect("it has a genesis block");
        let block = Block::decode(&raw, &format).expect("a test reads each of them");
        Forge { height: 0, tip: block.header.hash, time: block.header.time, salt: 0 }
    }

    /// On the same tip, but with other coinbases from here on.
    pub fn branch(&self, salt: u32) -> Forge {
        Forge { salt, ..self.clone() }
    }

    /// Height of the tip.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Hash of the tip.
    pub fn tip(&self) -> Hash32 {
        self.tip
    }

    /// A coinbase for the next block, without outputs yet: its script has the height (BIP 34) and
    /// what tells branches apart.
    pub fn coinbase(&self) -> Draft {
        let mut script = height_push(self.height + 1);
        script.push(4);
        script.extend_from_slice(&self.salt.to_le_bytes());
        Draft::new().version(1).spend_with(OutPoint::NULL, &script, u32::MAX, &[])
    }

    /// The next block, with a coinbase that pays `value` to `script` and these transactions in
    /// this order.
    pub fn mine(
        &mut self,
        value: u64,
        script: &[u8],
        transactions: &[ForgedTransaction],
    ) -> ForgedBlock {
        let coinbase = self.coinbase().pay(value, script).finish();
        self.mine_with(coinbase, transactions)
    }

    /// The next block with any coinbase: one that an earlier block had, one without a height.
    pub fn mine_with(
        &mut self,
        coinbase: ForgedTransaction,
        transactions: &[ForgedTransaction],
    ) -> ForgedBlock {
        let all = || std::iter::once(&coinbase).chain(transactions);
        let txids: Vec<Hash32> = all().map(|transaction| transaction.txid).collect();
        let root = merkle_root(&txids).expect("no two transactions side by side are the same");
        self.time += SPACING;
        let bytes: usize = all().map(|transaction| transaction.raw.len()).sum();
        let mut raw = Vec::with_capacity(90 + bytes);
        raw.extend_from_slice(&0x2000_0000_u32.to_le_bytes());
        raw.extend_from_slice(self.tip.wire());
        raw.extend_from_slice(root.wire());
        raw.extend_from_slice(&self.time.to_le_bytes());
        raw.extend_from_slice(&BITS.to_le_bytes());
        raw.extend_from_slice(&self.salt.to_le_bytes());
        let hash = Hash32::sha256d(&[&raw]);
        put_count(&mut raw, txids.len());
        all().for_each(|transaction| raw.extend_from_slice(&transaction.raw));
        let previous = std::mem::replace(&mut self.tip, hash);
        self.height += 1;
        ForgedBlock { height: self.height, hash, previous, raw: raw.into(), coinbase }
    }
}

/// The script that pays to a key hash made of a number: another address for each.
pub fn key_hash_script(number: u64) -> Vec<u8> {
    let mut script = vec![0x76, 0xa9, 20];
    script.extend_from_slice(&number.to_be_bytes());
    script.extend_from_slice(&[0x70; 12]);
    script.extend_from_slice(&[0x88, 0xac]);
    script
}

/// A number as a script pushes it (Bitcoin Core, src/script/script.h, `operator<<`).
fn height_push(height: u32) -> Vec<u8> {
    if (1..=16).contains(&height) {
        return vec![0x50 + height as u8];
    }
    let mut bytes = height.to_le_bytes().to_vec();
    bytes.push(0);
    // The shortest form whose last byte has no sign bit.
    while bytes.len() > 1 && bytes[bytes.len() - 1] == 0 && bytes[bytes.len() - 2] < 0x80 {
        bytes.pop();
    }
    bytes.insert(0, bytes.len() as u8);
    bytes
}

/// Writes a count in Bitcoin's compact form (src/serialize.h, `WriteCompactSize`).
pub(crate) fn put_count(bytes: &mut Vec<u8>, count: usize) {
    match count {
        0..=252 => bytes.push(count as u8),
        253..=0xffff => {
            bytes.push(253);
            bytes.extend_from_slice(&(count as u16).to_le_bytes());
        }
        _ => {
            bytes.push(254);
            bytes.extend_from_slice(&(count as u32).to_le_bytes());
        }
    }
}

/// Writes bytes with their count before them.
pub(crate) fn put_prefixed(bytes: &mut Vec<u8>, item: &[u8]) {
    put_count(bytes, item.len());
    bytes.extend_from_slice(item);
}

#[cfg(test)]
mod tests;
