//! Whatever bytes come: an answer, never a panic.

use chain::utxo::{
    Block, Destination, Format, Header, Kind, ScriptClass, Transaction, WitnessProgram,
};
use chain::{AddressParams, Network};
use proptest::prelude::*;
use replay::Phase;
use testkit::Recording;

fn formats() -> Vec<(Format, &'static Network)> {
    chain::ALL
        .iter()
        .filter_map(|chain| Some((*chain.format()?, chain)))
        .flat_map(|(format, chain)| chain.networks.iter().map(move |network| (format, network)))
        .collect()
}

fn touch(raw: &[u8], format: &Format) {
    if let Ok(block) = Block::decode(raw, format) {
        block.is_whole();
        assert!(block.regular <= block.transactions.len());
        for transaction in &block.transactions {
            walk(transaction, format);
        }
    }
    if let Ok(transaction) = Transaction::decode(raw, format) {
        walk(&transaction, format);
    }
}

fn walk(transaction: &Transaction<'_>, format: &Format) {
    assert_eq!(transaction.inputs().count(), transaction.inputs().len());
    assert_eq!(transaction.outputs().count(), transaction.outputs().len());
    assert!(transaction.vsize() <= transaction.size());
    transaction.pools().sum();
    let (kind, _) = (transaction.kind(), transaction.vote());
    assert_eq!(transaction.vote().is_some(), kind == Kind::Vote);
    for (place, output) in transaction.outputs().enumerate() {
        ScriptClass::of_output(output.script, output.script_version, kind, place, &format.scripts);
        touch_script(output.script, format);
    }
}

fn touch_script(script: &[u8], format: &Format) {
    ScriptClass::of(script, &format.scripts);
    if let Some(destination) = Destination::of_script(script, &format.scripts) {
        assert_eq!(destination.script(), format.scripts.counted(script));
    }
}

/// A real block of each kind: plain, with an extension, merge-mined, with tokens, of other layouts.
fn real_blocks() -> Vec<Vec<u8>> {
    ["btc", "ltc", "doge", "bch", "zec", "dcr"]
        .into_iter()
        .map(|slug| {
            let mut raw = Recording::of(slug, Phase::B).raw;
            raw.retain(|raw| raw.len() < 4000 && (slug != "doge" || raw[1] & 1 != 0));
            raw.pop().unwrap()
        })
        .collect()
}

#[test]
fn every_cut_of_a_real_block_is_refused() {
    for raw in real_blocks() {
        for (format, _) in formats() {
            for end in 0..raw.len() {
                touch(&raw[..end], &format);
            }
        }
    }
    let genuine = [("btc", 0), ("doge", 2), ("bch", 3), ("zec", 4), ("dcr", 5)];
    let blocks = real_blocks();
    for (slug, place) in genuine {
        let format = *chain::find(slug).unwrap().format().unwrap();
        let raw = &blocks[place];
        assert!(Block::decode(raw, &format).is_ok(), "{slug}");
        for end in 0..raw.len() {
            assert!(Block::decode(&raw[..end], &format).is_err(), "{slug} {end}");
        }
        assert!(Block::decode(&[raw, &[0][..]].concat(), &format).is_err(), "{slug}");
    }
}

proptest! {
    #[test]
    fn bytes(raw in proptest::collection::vec(any::<u8>(), 0..600)) {
        for (format, _) in formats() {
            touch(&raw, &format);
            touch_script(&raw, &format);
            let _ = Header::decode(&raw, &format);
        }
    }

    #[test]
    fn scripts_of_likely_opcodes(script in proptest::collection::vec(
        prop_oneof![
            proptest::sample::select(vec![
                vec![0x00], vec![0x4c], vec![0x4d], vec![0x4e], vec![0x4f], vec![0x51], vec![0x52],
                vec![0x58], vec![0x60], vec![0x6a], vec![0x76], vec![0x87], vec![0x88], vec![0xa9],
                vec![0xaa], vec![0xac], vec![0xae], vec![0xef], vec![20], vec![33], vec![65],
            ]),
            proptest::collection::vec(any::<u8>(), 0..70),
        ], 0..8)
    ) {
        for (format, _) in formats() {
            touch_script(&script.concat(), &format);
        }
    }

    #[test]
    fn changed_blocks(which in 0_usize..6, at in any::<proptest::sample::Index>(), to: u8) {
        thread_local!(static BLOCKS: Vec<Vec<u8>> = real_blocks());
        let mut raw = BLOCKS.with(|blocks| blocks[which].clone());
        let at = at.index(raw.len());
        raw[at] = to;
        for (format, _) in formats() {
            touch(&raw, &format);
        }
    }

    #[test]
    fn text_is_an_address_or_it_is_not(text in ".{0,140}") {
        for (format, network) in formats() {
            let _ = network.addresses.decode(&text, &format);
        }
    }

    #[test]
    fn likely_text(text in "(bitcoincash:|ecash:|bc1|ltc1|tex1|u1|zs1|Ds|1|3|)[a-zA-Z0-9:]{0,70}") {
        for (format, network) in formats() {
            let _ = network.addresses.decode(&text, &format);
        }
    }

    #[test]
    fn an_address_leads_back_to_its_destination(
        short: [u8; 20], long: [u8; 32], version in 0_u8..=16, length in 2_usize..=32,
    ) {
        let mut all = vec![
            Destination::PubkeyHash(short),
            Destination::ScriptHash(short),
            Destination::ScriptHash32(long),
            Destination::Ed25519KeyHash(short),
            Destination::SchnorrKeyHash(short),
        ];
        all.extend(WitnessProgram::new(version, &long[..length]).map(Destination::Witness));
        for (format, network) in formats() {
            for destination in &all {
                let back = Destination::of_script(&destination.script(), &format.scripts);
                if back != Some(*destination) {
                    continue;
                }
                let text = network.addresses.encode(destination).unwrap();
                prop_assert_eq!(network.addresses.decode(&text, &format), Ok(*destination));
            }
        }
        prop_assert_eq!(AddressParams::Ethereum.encode(&all[0]), None);
    }
}
