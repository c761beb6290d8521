use proptest::prelude::*;

use super::*;

fn amounts() -> impl Strategy<Value = U256> {
    (any::<[u8; 32]>(), 0usize..=256).prop_map(|(bytes, shift)| {
        U256::from_be_bytes(bytes).checked_shr(shift).unwrap_or_default()
    })
}

fn addresses() -> impl Strategy<Value = Address> {
    any::<[u8; 20]>().prop_map(Address)
}

prop_compose! {
    fn transactions()(
        hash in any::<[u8; 32]>(), from in addresses(), to in proptest::option::of(addresses()),
        created in proptest::option::of(addresses()), kind in any::<u8>(), status in 0u8..3,
        numbers in any::<[u64; 3]>(), logs in any::<[u32; 2]>(), value in amounts(),
        gas_price in amounts(), price in amounts(), max_fee in proptest::option::of(amounts()),
        blob in proptest::option::of((any::<u64>(), amounts())),
        input in proptest::collection::vec(any::<u8>(), 0..90),
    ) -> Transaction {
        Transaction {
            hash: Hash(hash), from, to, kind, nonce: numbers[0], value, gas_limit: numbers[1],
            gas_price, max_fee, input, status: Status::of(status).unwrap(), gas_used: numbers[2],
            effective_gas_price: price,
            blob: blob.map(|(gas_used, gas_price)| BlobCost { gas_used, gas_price }),
            created, first_log: logs[0], log_count: logs[1],
        }
    }
}

prop_compose! {
    fn blocks()(
        hashes in any::<[[u8; 32]; 3]>(), miner in addresses(), numbers in any::<[u64; 4]>(),
        tx_count in any::<u32>(), amounts in [amounts(), amounts(), amounts(), amounts()],
        base_fee in proptest::option::of(amounts()), withdrawals in any::<Option<u32>>(),
        excess_blob_gas in any::<Option<u64>>(), extra_data in any::<Vec<u8>>(),
    ) -> BlockFacts {
        let [difficulty, total_fees, total_value, issuance] = amounts;
        BlockFacts {
            height: 7, hash: Hash(hashes[0]), parent: Hash(hashes[1]), state_root: Hash(hashes[2]),
            miner, time: numbers[0], tx_count, gas_used: numbers[1], gas_limit: numbers[2],
            base_fee, difficulty, total_fees, total_value, issuance, size: numbers[3],
            withdrawals, excess_blob_gas, extra_data,
        }
    }
}

proptest! {
    #[test]
    fn blocks_and_transactions_come_back(tx in transactions(), block in blocks()) {
        prop_assert_eq!(Transaction::read(&tx.bytes()), Ok(tx));
        prop_assert_eq!(BlockFacts::read(7, &block.bytes()), Ok(block));
    }

    #[test]
    fn logs_and_operations_come_back(
        address in addresses(),
        topics in proptest::collection::vec(any::<[u8; 32]>(), 0..5),
        data in any::<Vec<u8>>(),
        kind in 0u8..4,
        value in amounts(),
    ) {
        let logs = vec![Log { address, topics, data }; 2];
        prop_assert_eq!(read_logs(&logs_bytes(&logs)), Ok(logs));
        let kind = OperationKind::of(kind).unwrap();
        let operations = vec![Operation { kind, from: address, to: Address::default(), value }; 3];
        prop_assert_eq!(read_operations(&operations_bytes(&operations)), Ok(operations));
    }

    #[test]
    fn any_bytes_are_a_row_or_an_error(bytes in any::<Vec<u8>>()) {
        let _ = Transaction::read(&bytes);
        let _ = BlockFacts::read(1, &bytes);
        let _ = read_logs(&bytes);
        let _ = read_operations(&bytes);
        let _ = Retry::read(&bytes);
        let _ = End::read(&bytes);
    }
}

#[test]
fn retries_and_ends_come_back() {
    let retry = Retry { tries: 3, next_secs: 1 << 40 };
    assert_eq!(Retry::read(&retry.bytes()), Ok(retry));
    let end = End { height: 9, hash: Hash([5; 32]) };
    assert_eq!(End::read(&end.bytes()), Ok(end));
}
