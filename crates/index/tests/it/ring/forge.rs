//! Blocks that no miner made: what the rows are made of is as it should be, proofs are any bytes.

use bytes::Bytes;
use chain::ring::{Block, BlockHeader, Hash, Key, LAST_VERSION, Transaction};
use index::ring::{RawBlock, Told};

/// The first block of the main network, and of regtest.
const GENESIS: &str = "010000000000000000000000000000000000000000000000000000000000000000000010270000013c01ff0001ffffffffffff03029b2e4c0281c0b02e7c53291a94d1d0cbff8883f8024f5142ee494ffbbd08807121017767aafcde9be00dcfd098715ebcf7f410daebc582fda69d24a28e9d0bc890d100";

/// What a transaction is made of.
#[derive(Clone, Debug)]
pub struct Draft {
    pub version: u8,
    /// Amount, ring and key image of each input.
    pub inputs: Vec<(u64, Vec<u64>, Key)>,
    /// Amount and key of each output.
    pub outputs: Vec<(u64, Key)>,
    pub rct_type: u8,
    pub fee: u64,
}

/// A key that is no other number's.
pub fn key(number: u64) -> Key {
    let mut key = [0x5a; 32];
    key[..8].copy_from_slice(&number.to_le_bytes());
    Key(key)
}

pub fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

impl Draft {
    /// Of version 2: hidden amounts, rings of output places.
    pub fn hidden(rings: &[&[u64]], images: u64, outputs: u64) -> Draft {
        let input =
            |(number, ring): (usize, &&[u64])| (0, ring.to_vec(), key(images + number as u64));
        Draft {
            version: 2,
            inputs: rings.iter().enumerate().map(input).collect(),
            outputs: (0..outputs).map(|number| (0, key(images ^ (number + 1) << 40))).collect(),
            rct_type: 6,
            fee: 1000,
        }
    }

    /// Of version 1: public amounts.
    pub fn open(inputs: &[(u64, &[u64])], images: u64, outputs: &[u64]) -> Draft {
        let input = |(number, (amount, ring)): (usize, &(u64, &[u64]))| {
            (*amount, ring.to_vec(), key(images + number as u64))
        };
        let output =
            |(number, amount): (usize, &u64)| (*amount, key(images ^ (number as u64 + 1) << 40));
        Draft {
            version: 1,
            inputs: inputs.iter().enumerate().map(input).collect(),
            outputs: outputs.iter().enumerate().map(output).collect(),
            rct_type: 0,
            fee: 0,
        }
    }

    pub fn bytes(&self) -> Bytes {
        let mut out = Vec::new();
        varint(&mut out, self.version.into());
        varint(&mut out, 0);
        varint(&mut out, self.inputs.len() as u64);
        for (amount, ring, image) in &self.inputs {
            out.push(2);
            varint(&mut out, *amount);
            varint(&mut out, ring.len() as u64);
            let mut last = 0;
            for place in ring {
                varint(&mut out, place - last);
                last = *place;
            }
            out.extend_from_slice(&image.0);
        }
        put_outputs(&mut out, &self.outputs, self.version == 2);
        self.put_rest(&mut out);
        out.into()
    }

    /// Extra, and what follows the prefix.
    fn put_rest(&self, out: &mut Vec<u8>) {
        varint(out, 33);
        out.push(1);
        out.extend_from_slice(&self.outputs.first().map_or(Key([1; 32]), |(_, key)| *key).0);
        let ring = self.inputs.first().map_or(1, |(_, ring, _)| ring.len());
        if self.version == 1 {
            let signatures: usize = self.inputs.iter().map(|(_, ring, _)| ring.len()).sum();
            out.resize(out.len() + 64 * signatures, 7);
            return;
        }
        out.push(self.rct_type);
        if self.rct_type != 6 {
            out.resize(out.len() + 100, 9);
            return;
        }
        varint(out, self.fee);
        out.resize(out.len() + self.outputs.len() * (8 + 32), 3);
        // One range proof with room for all amounts.
        let rounds = 6 + self.outputs.len().next_power_of_two().trailing_zeros() as usize;
        varint(out, 1);
        out.resize(out.len() + 6 * 32, 4);
        for _ in 0..2 {
            varint(out, rounds as u64);
            out.resize(out.len() + rounds * 32, 5);
        }
        out.resize(out.len() + self.inputs.len() * (ring + 3) * 32, 6);
    }
}

fn put_outputs(out: &mut Vec<u8>, outputs: &[(u64, Key)], tagged: bool) {
    varint(out, outputs.len() as u64);
    for (amount, key) in outputs {
        varint(out, *amount);
        out.push(if tagged { 3 } else { 2 });
        out.extend_from_slice(&key.0);
        if tagged {
            out.push(0x77);
        }
    }
}

/// A chain that grows.
#[derive(Clone)]
pub struct Forge {
    pub blocks: Vec<RawBlock>,
    /// The hash of each.
    pub hashes: Vec<Hash>,
    /// Told apart from others by what is mined next.
    salt: u32,
    /// Of the protocol, by which is mined next.
    pub version: u8,
}

impl Forge {
    pub fn new() -> Forge {
        let block = Bytes::from(const_hex::decode(GENESIS).unwrap());
        let hashes = vec![Block::decode(&block).unwrap().hash().unwrap()];
        let genesis = RawBlock { block, ..RawBlock::default() };
        Forge { blocks: vec![genesis], hashes, salt: 0, version: LAST_VERSION }
    }

    /// The chain up to a height, which goes on otherwise.
    pub fn branch(&self, height: usize, salt: u32) -> Forge {
        let (blocks, hashes) = (&self.blocks[..=height], &self.hashes[..=height]);
        let (blocks, hashes) = (blocks.to_vec(), hashes.to_vec());
        Forge { blocks, hashes, salt, version: self.version }
    }

    pub fn tip(&self) -> Hash {
        *self.hashes.last().unwrap()
    }

    pub fn height(&self) -> u64 {
        self.blocks.len() as u64 - 1
    }

    /// Mines a block whose coinbase is of a version and pays amounts; `named` are the hashes of
    /// the transactions, worked out where that can be done.
    pub fn mine_as(&mut self, version: u8, pays: &[u64], transactions: &[Bytes]) -> Hash {
        let height = self.height() + 1;
        let mut raw = vec![self.version, self.version];
        varint(&mut raw, 1_700_000_000 + height);
        raw.extend_from_slice(&self.tip().0);
        raw.extend_from_slice(&self.salt.to_le_bytes());
        varint(&mut raw, version.into());
        varint(&mut raw, height + 60);
        raw.extend_from_slice(&[1, 0xff]);
        varint(&mut raw, height);
        let salt = u64::from(self.salt) << 20;
        let outputs = pays.iter().zip(1_u64..);
        let outputs: Vec<(u64, Key)> =
            outputs.map(|(pays, n)| (*pays, key(height << 48 | salt | n))).collect();
        put_outputs(&mut raw, &outputs, version == 2);
        varint(&mut raw, 0);
        if version == 2 {
            raw.push(0);
        }
        varint(&mut raw, transactions.len() as u64);
        for transaction in transactions {
            raw.extend_from_slice(&hash_of(transaction).0);
        }
        let block = Bytes::from(raw);
        let hash = Block::decode(&block).unwrap().hash().unwrap();
        let transactions = transactions.to_vec();
        self.blocks.push(RawBlock { block, transactions, ..RawBlock::default() });
        self.hashes.push(hash);
        hash
    }

    pub fn mine(&mut self, transactions: &[Draft]) -> Hash {
        let transactions: Vec<Bytes> = transactions.iter().map(Draft::bytes).collect();
        self.mine_as(2, &[600_000_000_000], &transactions)
    }

    /// Mines a block of which nothing but its version can be read, with a coinbase and transactions
    /// that are told of; `places` are those of the outputs of each, the coinbase first.
    pub fn mine_later(
        &mut self,
        coinbase: Bytes,
        transactions: &[Bytes],
        places: &[Vec<u64>],
    ) -> Hash {
        let (height, previous) = (self.height() + 1, self.tip());
        let block = Bytes::from([&[LAST_VERSION + 1][..], &[0xff; 40], &previous.0].concat());
        let hash = opaque_hash(&block);
        let header = BlockHeader {
            major: LAST_VERSION + 1,
            minor: LAST_VERSION + 2,
            timestamp: 1_700_000_000 + height,
            previous,
            nonce: height as u32,
        };
        let hashes = transactions.iter().map(hash_of).collect();
        let coinbase = (hash_of(&coinbase), coinbase);
        let outputs = Some(places.iter().map(|places| places.len() as u64).collect());
        let told = Told { hash, header, reward: 7 * height, coinbase, hashes, outputs };
        self.blocks.push(RawBlock {
            block,
            transactions: transactions.to_vec(),
            weight: Some(9000 + height),
            output_indices: Some(places.concat()),
            told: Some(Box::new(told)),
        });
        self.hashes.push(hash);
        hash
    }
}

/// The hash of a transaction, or its name where that cannot be worked out.
pub fn hash_of(bytes: &Bytes) -> Hash {
    let hash = Transaction::decode(bytes).ok().and_then(|it| it.hash());
    hash.unwrap_or_else(|| opaque_hash(bytes))
}

/// The name of a transaction whose hash cannot be worked out.
pub fn opaque_hash(bytes: &[u8]) -> Hash {
    let mut hash = [0xee; 32];
    hash[..8].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
    hash[8..16].copy_from_slice(&bytes[bytes.len() - 8..]);
    hash[16..24].copy_from_slice(&bytes[8..16]);
    Hash(hash)
}
