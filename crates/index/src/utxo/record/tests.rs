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
    let output = (any::<u64>(), script(), proptest::option::weighted(0.2, token()));
    proptest::collection::vec(
        output.prop_map(|(value, script, token)| OutputRecord { value, script, token }),
        0..6,
    )
}

fn record() -> impl Strategy<Value = (u64, TransactionRecord)> {
    let input = (0..1u64 << 40, any::<u32>(), prop_oneof![Just(u32::MAX), any::<u32>()]);
    let inputs = proptest::collection::vec(input, 0..40);
    let numbers = (any::<i32>(), any::<u32>(), any::<u32>(), any::<u32>(), any::<i64>());
    let coinbase = proptest::option::of(proptest::collection::vec(any::<u8>(), 0..100));
    let replaced = proptest::collection::vec(any::<u32>(), 0..3);
    (0..1u64 << 40, any::<[u8; 32]>(), numbers, coinbase, outputs(), inputs, replaced).prop_map(
        |(
            txnum,
            txid,
            (version, lock_time, size, vsize, fee),
            coinbase,
            outputs,
            inputs,
            replaced,
        )| {
            let inputs = match &coinbase {
                Some(_) => vec![InputRecord { txnum: 0, vout: u32::MAX, sequence: lock_time }],
                None => inputs
                    .iter()
                    .map(|(txnum, vout, sequence)| InputRecord {
                        txnum: *txnum,
                        vout: *vout,
                        sequence: *sequence,
                    })
                    .collect(),
            };
            let names = (inputs.len() > NAMED_ABOVE).then(|| {
                inputs.iter().map(|input| Hash32::sha256d(&[&input.vout.to_be_bytes()])).collect()
            });
            let record = TransactionRecord {
                txid: Hash32::from_wire(txid),
                version,
                lock_time,
                size,
                vsize,
                fee: coinbase.is_none().then_some(fee.into()),
                coinbase,
                outputs,
                inputs,
                names,
                replaced,
            };
            (txnum, record)
        },
    )
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
            prop_assert_eq!(spent.coinbase, record.coinbase.is_some());
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
