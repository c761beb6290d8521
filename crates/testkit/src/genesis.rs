//! The first blocks of the regtest networks, which forged chains grow on.
//!
//! Invariant: each has the hash that its chain's row names; a test holds them together.

use bytes::Bytes;
use chain::Chain;

/// Header of version 1 without a block before; the time is common to all.
const HEADER_START: &str =
    concat!("01000000", "0000000000000000000000000000000000000000000000000000000000000000",);
/// Time, bits.
const HEADER_END: &str = "dae5494dffff7f20";
/// One transaction with one input that spends nothing.
const COINBASE_START: &str = concat!(
    "0101000000010000000000000000000000000000000000000000000000000000000000000000",
    "ffffffff",
);

/// Merkle root, nonce, and the rest of the coinbase from the length of its input script on.
/// Sources: what the nodes give for `getblock <hash of block 0> 0`; Bitcoin Core 31.99,
/// src/kernel/chainparams.cpp; Litecoin Core 0.21.2, Dogecoin Core 1.14, src/chainparams.cpp.
const BITCOIN: [&str; 3] = [
    "3ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a",
    "02000000",
    concat!(
        "4d04ffff001d0104455468652054696d65732030332f4a616e2f32303039204368616e63656c6c6f72206f",
        "6e206272696e6b206f66207365636f6e64206261696c6f757420666f722062616e6b73ffffffff",
        "0100f2052a01000000434104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61de",
        "b649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000",
    ),
];
const LITECOIN: [&str; 3] = [
    "d9ced4ed1130f7b7faad9be25323ffafa33232a17c3edf6cfd97bee6bafbdd97",
    "00000000",
    concat!(
        "4804ffff001d0104404e592054696d65732030352f4f63742f32303131205374657665204a6f62732c2041",
        "70706c65e280997320566973696f6e6172792c2044696573206174203536ffffffff",
        "0100f2052a010000004341040184710fa689ad5023690c80f3a49c8f13f8d45b8c857fbcbc8bc4a8e4d3eb",
        "4b10f4d4604fa08dce601aaf0f470216fe1b51850b4acf21b179c45070ac7b03a9ac00000000",
    ),
];
const DOGECOIN: [&str; 3] = [
    "696ad20e2dd4365c7459b4a4a5af743d5e92c6da3229e6532cd605f6533f2a5b",
    "02000000",
    concat!(
        "1004ffff001d0104084e696e746f6e646fffffffff",
        "010058850c020000004341040184710fa689ad5023690c80f3a49c8f13f8d45b8c857fbcbc8bc4a8e4d3eb",
        "4b10f4d4604fa08dce601aaf0f470216fe1b51850b4acf21b179c45070ac7b03a9ac00000000",
    ),
];

/// The first block of a chain's regtest network; `None` where the chain's blocks are not in
/// Bitcoin's format.
pub fn genesis(chain: &Chain) -> Option<Bytes> {
    let [merkle_root, nonce, coinbase] = match chain.slug {
        "btc" | "bch" | "xec" => BITCOIN,
        "ltc" => LITECOIN,
        "doge" => DOGECOIN,
        _ => return None,
    };
    let parts = [HEADER_START, merkle_root, HEADER_END, nonce, COINBASE_START, coinbase];
    const_hex::decode(parts.concat()).ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use chain::utxo::Block;

    use super::*;

    #[test]
    fn each_has_the_hash_of_its_row() {
        for slug in ["btc", "ltc", "doge", "bch", "xec"] {
            let chain = chain::find(slug).unwrap();
            let raw = genesis(chain).unwrap();
            let block = Block::decode(&raw, chain.format().unwrap()).unwrap();
            let expected = chain.network("regtest").unwrap().genesis;
            assert_eq!(Some(block.header.hash.to_string().as_str()), expected);
            assert!(block.is_whole());
        }
        assert!(genesis(chain::find("eth").unwrap()).is_none());
    }
}
