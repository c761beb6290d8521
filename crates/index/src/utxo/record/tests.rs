use proptest::prelude::*;

use super::*;

fn script() -> impl Strategy<Value = Vec<u8>> {
    let of = |before: &'static [u8], length: usize, after: &'static [u8]| {
        proptest::collection::vec(any::<u8>(), length)
            .prop_map(move |middle| [before, &middle, after].concat())
    };
    prop_oneof![
        of(&[0x76, 0xa9, 20], 20, &[0x88, 0xac]),
        of(&[0xa9, 20], 20, &[0x87]),
        of(&[0xa9, 20], 21, &[0x87]),
        of(&[0x00, 20], 20, &[]),
        of(&[0x51, 32], 32, &[]),
        of(&[33], 33, &[0xac]),
        of(&[0xaa, 32], 32, &[0x87]),
        proptest::collection::vec(any::<u8>(), 0..300),
    ]
}

fn token() -> impl Strategy<Value = TokenRecord> {
    let nft = (0..3usize, proptest::collection::vec(any::<u8>(), 0..40));
    (any::<[u8; 32]>(), any::<u64>(), proptest::option::of(nft)).prop_map(
        |(category, amount, nft)| TokenRecord {
            category: Hash32::from_wire(category),
            amount,
            nft: nft.map(|(capability, commitment)| NftRecord {
                capability: [
                    chain::utxo::Capability::None,
                    chain::utxo::Capability::Mutable,
                    chain::utxo::Capability::Minting,
                ][capability],
                commitment,
            }),
        },
    )
}

fn outputs() -> impl Strategy<Value = Vec<OutputRecord>> {
    let version = prop_oneof![20 => Just(0), 1 => any::<u16>()];
    let output = (any::<u64>(), version, script(), proptest::option::weighted(0.2, token()));
    let output = output.prop_map(|(value, version, script, token)| OutputRecord {
        value,
        version,
        script,
        token,
    });
    proptest::collection::vec(output, 0..6)
}

fn pools() -> impl Strategy<Value = Pools> {
    let value = || prop_oneof![3 => Just(0), 1 => any::<i64>()];
    (value(), value(), value(), value()).prop_map(|(sprout, sapling, orchard, ironwood)| Pools {
        sprout: sprout.into(),
        sapling,
        orchard,
        ironwood,
    })
}

fn base() -> impl Strategy<Value = BaseInput> {
    let script = proptest::collection::vec(any::<u8>(), 0..100);
    (any::<u32>(), proptest::option::of(any::<u64>()), script)
        .prop_map(|(sequence, value, script)| BaseInput { sequence, value, script })
}

fn inputs() -> impl Strategy<Value = Vec<InputRecord>> {
    let input = (0..1u64 << 40, any::<u32>(), prop_oneof![Just(u32::MAX), any::<u32>()]);
    let input = input.prop_map(|(txnum, vout, sequence)| InputRecord { txnum, vout, sequence });
    proptest::collection::vec(input, 0..40)
}

fn record() -> impl Strategy<Value = (u64, TransactionRecord)> {
    let numbers = (any::<i32>(), any::<u32>(), any::<u32>(), any::<u32>(), any::<u64>());
    let replaced = proptest::collection::vec(any::<u32>(), 0..3);
    let parts = (0u8..8, base(), pools(), outputs(), inputs(), replaced);
    (0..1u64 << 40, any::<[u8; 32]>(), numbers, parts).prop_map(|(txnum, txid, numbers, parts)| {
        let (version, lock_time, size, vsize, spent) = numbers;
        let (kind, base, pools, outputs, inputs, replaced) = parts;
        let kind = kind::of_code(kind);
        let name = |input: &InputRecord| Hash32::sha256d(&[&input.vout.to_be_bytes()]);
        let names = row::is_named(inputs.len()).then(|| inputs.iter().map(name).collect());
        let mut record = TransactionRecord {
            txid: Hash32::from_wire(txid),
            kind,
            version,
            lock_time,
            size,
            vsize,
            value_in: None,
            fee: None,
            pools,
            base: kind::has_base(kind).then_some(base),
            outputs,
            inputs,
            names,
            replaced,
        };
        record.count(spent.into());
        (txnum, record)
    })
}

#[test]
fn the_bytes_of_a_shielded_row_change_with_its_format_only() {
    let pools = Pools { sprout: -1, sapling: 1_100_000, orchard: -1_000_000, ironwood: 0 };
    let mut record = TransactionRecord {
        txid: Hash32::from_wire([7; 32]),
        kind: Kind::Regular,
        version: 5,
        lock_time: 1,
        size: 9000,
        vsize: 9000,
        value_in: None,
        fee: None,
        pools,
        base: None,
        outputs: Vec::new(),
        inputs: Vec::new(),
        names: None,
        replaced: Vec::new(),
    };
    record.count(0);
    assert_eq!((record.value_in, record.fee), (Some(0), Some(99_999)));
    let row = format!("40{}0a01a84600030001{}02{}000000", "07".repeat(32), "01c0a38601", "ff887a");
    assert_eq!(const_hex::encode(record.bytes(5)), row);
    assert_eq!(TransactionRecord::read(5, &record.bytes(5)), Ok(record));
}

proptest! {
    #[test]
    fn a_record_comes_back((txnum, record) in record()) {
        let row = record.bytes(txnum);
        let read = TransactionRecord::read(txnum, &row);
        prop_assert_eq!(read.as_ref(), Ok(&record));
        prop_assert_eq!(read_txid(&row), Ok(record.txid));
        for (vout, output) in record.outputs.iter().enumerate() {
            let spent = read_spent(&row, vout as u32).unwrap().unwrap();
            prop_assert_eq!(&spent.output, output);
            prop_assert_eq!(spent.coinbase, record.is_coinbase());
        }
        prop_assert!(read_spent(&row, record.outputs.len() as u32).unwrap().is_none());
    }

    #[test]
    fn any_bytes_are_no_panic(row in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = TransactionRecord::read(5, &row);
        let _ = read_spent(&row, 3);
        let _ = read_txid(&row);
    }
}
