//! Real transactions and blocks of public networks.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use chain::Hash32;
use chain::utxo::{Block, Destination, Header, Kind, Pools, Transaction};
use flate2::read::GzDecoder;
use serde_json::Value;

fn read(name: &str) -> String {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mainnet"));
    std::fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn transactions_decode_to_their_facts() {
    for slug in ["btc", "ltc", "doge", "bch", "xec", "zec", "dcr"] {
        let facts: Vec<Value> = serde_json::from_str(&read(&format!("{slug}.json"))).unwrap();
        assert!(!facts.is_empty());
        for fact in &facts {
            check(slug, fact);
        }
    }
}

fn check(slug: &str, fact: &Value) {
    let chain = chain::find(slug).unwrap();
    let network = chain.network(fact["network"].as_str().unwrap()).unwrap();
    let format = *chain.format().unwrap();
    let raw = const_hex::decode(fact["hex"].as_str().unwrap()).unwrap();
    let transaction = Transaction::decode(&raw, &format).unwrap();
    assert_eq!(fact["txid"], transaction.txid().to_string());
    assert_eq!(fact["vin"].as_array().unwrap().len(), transaction.inputs().len());
    // What else stands in there is covered by the id.
    let outputs = fact["vout"].as_array().unwrap();
    assert_eq!(outputs.len(), transaction.outputs().len());
    for (output, fact) in transaction.outputs().zip(outputs) {
        assert_eq!(fact["value"], output.value.to_string());
        if let Some(script) = fact["script"].as_str() {
            assert_eq!(const_hex::decode(script).unwrap(), output.script);
        }
        let destination = Destination::of_script(output.script, &format.scripts);
        let address = destination.and_then(|found| network.addresses.encode(&found));
        for expected in fact["addresses"].as_array().into_iter().flatten() {
            assert_eq!(address.as_deref(), expected.as_str(), "{}", fact);
        }
        if let (Some(destination), Some(address)) = (destination, address) {
            assert_eq!(network.addresses.decode(&address, &format), Ok(destination));
        }
    }
}

#[test]
fn blocks_of_dogecoin_hash_to_their_names() {
    let format = *chain::find("doge").unwrap().format().unwrap();
    for (height, merged) in [(12_345, false), (371_337, true), (567_890, true), (2_264_125, true)] {
        let text = read(&format!("doge-block-{height}.hex"));
        let raw = const_hex::decode(text.trim()).unwrap();
        let block = Block::decode(&raw, &format).unwrap();
        assert!(block.is_whole(), "{height}");
        assert_eq!(block.header.version & 0x100 != 0, merged, "{height}");
        assert!(block.transactions[0].is_coinbase());
        if height == 371_337 {
            let hash = "60323982f9c5ff1b5a954eac9dc1269352835f47c2c5222691d80f0d50dcf053";
            assert_eq!(block.header.hash.to_string(), hash);
            assert_eq!(block.size, 1704);
        }
    }
}

/// Blocks of every version of transactions up to 5, by their heights. Source: zebra-test 5.0.0,
/// src/vectors/block-*.txt.
#[test]
fn blocks_of_zcash_are_whole_and_have_the_work_that_they_claim() {
    let format = *chain::find("zec").unwrap().format().unwrap();
    let mut versions = Vec::new();
    for name in [
        "block-396",
        "block-347501",
        "block-419201",
        "block-982681",
        "block-1687107",
        "block-1687118",
        "testnet-block-207501",
        "testnet-block-1842421",
    ] {
        let raw = const_hex::decode(read(&format!("zec-{name}.hex")).trim()).unwrap();
        let block = Block::decode(&raw, &format).unwrap();
        assert!(block.is_whole(), "{name}");
        assert!(has_work(&block.header), "{name}");
        assert_eq!(block.header.nonce.number(), None);
        assert!(block.transactions[0].is_coinbase());
        assert!(block.transactions[1..].iter().all(|one| one.kind() == Kind::Regular), "{name}");
        versions.extend(block.transactions.iter().map(|one| one.version));
    }
    versions.sort_unstable();
    versions.dedup();
    assert_eq!(versions, [1, 2, 3, 4, 5]);
}

/// Whether the hash is below the target, as only the real one is.
fn has_work(header: &Header) -> bool {
    let (exponent, mantissa) = (header.bits >> 24, header.bits & 0x007f_ffff);
    // Every target here is far above 2^128: its upper half decides.
    let target = u128::from(mantissa) << (8 * (exponent - 3) - 128);
    let mut upper = [0; 16];
    upper.copy_from_slice(&header.hash.wire()[16..]);
    u128::from_le_bytes(upper) < target
}

fn transaction_of<'b>(block: &Block<'b>, txid: &str) -> Transaction<'b> {
    let place = block.txids.iter().position(|found| found.to_string() == txid).unwrap();
    block.transactions[place]
}

fn zcash_block(name: &str) -> Vec<u8> {
    const_hex::decode(read(&format!("zec-{name}.hex")).trim()).unwrap()
}

/// What the pools pay is the other side of inputs and outputs.
#[test]
fn values_of_shielded_pools_are_read() {
    let format = *chain::find("zec").unwrap().format().unwrap();
    let raw = zcash_block("block-1687107");
    let block = Block::decode(&raw, &format).unwrap();
    let txid = "dd37eba198d8afc7fb864c8dda6f41b1d6d95e99cc6633b6f77a215b5731e899";
    let moved = transaction_of(&block, txid);
    let pools = Pools { sapling: 1_100_000, orchard: -1_000_000, ..Pools::default() };
    assert_eq!((moved.pools(), moved.pools().sum()), (pools, 100_000));
    assert_eq!((moved.inputs().len(), moved.outputs().len(), moved.version), (0, 0, 5));
    assert_eq!(moved.branch(), Some(0xc2d6_d0b4));
    assert!(!moved.is_coinbase());

    let raw = zcash_block("block-347501");
    let block = Block::decode(&raw, &format).unwrap();
    let txid = "49dbcbb65ff1ed00bbd6bf18e92a188eef143112b8ebd09dae5c3bdb13e98122";
    let joined = transaction_of(&block, txid);
    assert_eq!((joined.version, joined.inputs().len(), joined.is_coinbase()), (3, 0, false));
    assert_eq!(joined.pools().sprout - joined.value_out() as i128, 10_000);

    let raw = zcash_block("block-419201");
    let block = Block::decode(&raw, &format).unwrap();
    let txid = "42e8175cadbecc3794ab0c81f9ad5e012b0f95caccbf9c9104becb58acd9943f";
    let joined = transaction_of(&block, txid);
    assert_eq!((joined.outputs().len(), joined.is_coinbase()), (2, false));
    assert_eq!(joined.pools().sprout - joined.value_out() as i128, 10_000);
}

#[test]
fn a_block_of_decred_hashes_to_its_name() {
    let format = *chain::find("dcr").unwrap().format().unwrap();
    let raw = const_hex::decode(read("dcr-block-432100.hex").trim()).unwrap();
    let block = Block::decode(&raw, &format).unwrap();
    assert!(block.is_whole());
    let hash = "000000000000000023455b4328635d8e014dbeea99c6140aa715836cc7e55981";
    assert_eq!(block.header.hash.to_string(), hash);
    assert_eq!((block.regular, block.transactions.len()), (2, 7));
    let stake = block.header.stake.unwrap();
    assert_eq!((stake.height, stake.size as usize), (432_100, block.size));
    let txid = "349b3e23b64cb4b71d09b9be4652c9e02e73430daee1285ea03d92aa437dcf37";
    let coinbase = transaction_of(&block, txid);
    let brought: u64 = coinbase.inputs().filter_map(|input| input.amount).sum();
    assert_eq!((brought, coinbase.value_out()), (870_539_240, 870_545_267));
    assert!(coinbase.is_coinbase());
    let txid = "343cfa39bb122171b758edfe378e222ab702d78ca8ac6ad4b797e8353fe70f34";
    assert_eq!(transaction_of(&block, txid).kind(), Kind::Ticket);
    let txid = "761f22f637f8a7df8fbfa0b411c211e16c40f907afce562ccc6a95e9b992b166";
    let vote = transaction_of(&block, txid);
    let brought: Vec<Option<u64>> = vote.inputs().map(|input| input.amount).collect();
    assert_eq!(brought, [Some(93_272_061), Some(13_878_152_470)]);
    assert_eq!(vote.vote().unwrap().block_hash, block.header.previous);
    assert_eq!(vote.vote().unwrap().block_height, 432_099);
}

/// The blocks 0 to 168 of Decred's simulation network, with tickets and votes. Source: dcrd,
/// internal/blockchain/testdata/blocks0to168.bz2, packed anew as length and block.
#[test]
fn a_chain_of_decred_hangs_together() {
    let format = *chain::find("dcr").unwrap().format().unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/simnet/dcr-blocks.bin.gz");
    let mut bytes = Vec::new();
    GzDecoder::new(File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    let (mut rest, mut previous, mut votes, mut tickets) = (&bytes[..], Hash32::ZERO, 0, 0);
    for height in 0..=168 {
        let (length, behind) = rest.split_first_chunk::<4>().unwrap();
        let (raw, behind) = behind.split_at(u32::from_le_bytes(*length) as usize);
        let block = Block::decode(raw, &format).unwrap();
        // The first block is of a network that was given up: its root is of an older kind.
        assert!(height == 0 || block.is_whole(), "{height}");
        assert_eq!(block.header.previous, previous);
        assert_eq!(block.header.stake.unwrap().height, height);
        for (place, one) in block.transactions.iter().enumerate() {
            assert_eq!(one.kind().is_stake(), place >= block.regular, "{height} {place}");
            tickets += usize::from(one.kind() == Kind::Ticket);
            if let Some(vote) = one.vote() {
                assert_eq!((vote.block_hash, vote.block_height + 1), (previous, height));
                votes += 1;
            }
        }
        (rest, previous) = (behind, block.header.hash);
    }
    assert!(rest.is_empty());
    assert!(votes > 100 && tickets > votes, "{votes} {tickets}");
}

/// Transactions of versions 4, 5 and 6 with parts in every pool, made and hashed by
/// zcash_primitives 0.31.0 (`testing::arb_tx`, written and read back); what they prove is noise.
#[test]
fn ids_and_pools_are_those_of_the_programs_of_zcash() {
    let format = *chain::find("zec").unwrap().format().unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/made/zec-transactions.json.gz");
    let made: Vec<Value> =
        serde_json::from_reader(GzDecoder::new(File::open(path).unwrap())).unwrap();
    let mut pools = [false; 3];
    for one in &made {
        let raw = const_hex::decode(one["hex"].as_str().unwrap()).unwrap();
        let transaction = Transaction::decode(&raw, &format).unwrap();
        assert_eq!(one["txid"], transaction.txid().to_string());
        let expected = ["sapling", "orchard", "ironwood"].map(|pool| one[pool].as_i64().unwrap());
        let found = transaction.pools();
        assert_eq!([found.sapling, found.orchard, found.ironwood], expected);
        assert_eq!(found.sprout, 0);
        for (seen, value) in pools.iter_mut().zip(expected) {
            *seen |= value != 0;
        }
        for end in [raw.len() - 1, raw.len() / 2] {
            assert!(Transaction::decode(&raw[..end], &format).is_err());
        }
    }
    assert_eq!(pools, [true; 3]);
}

/// A transaction of version 6 with nothing in it, with its hash by ZIP 229, from the tests of
/// zcash_primitives 0.31.0.
#[test]
fn an_empty_transaction_of_version_6_has_its_id() {
    let format = *chain::find("zec").unwrap().format().unwrap();
    let raw = const_hex::decode("0600008098b684d8d90a19770000000001000000000000000000").unwrap();
    let transaction = Transaction::decode(&raw, &format).unwrap();
    let id = "78296c68a370c2e1f058d997c81c7b011c4562c52fc5ca2994ad59cd179fbe9e";
    assert_eq!(const_hex::encode(transaction.txid().wire()), id);
    assert_eq!((transaction.version, transaction.expiry()), (6, Some(1)));
}
