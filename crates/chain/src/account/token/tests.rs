use super::*;
use crate::account::keccak256;

const TOKEN: Address = Address([7; 20]);

fn who(n: u8) -> [u8; 32] {
    // The bytes before an address are whatever the contract put there.
    let mut word = [n; 32];
    word[..12].fill(0xdd);
    word
}

fn words(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| U256::from(*value).to_be_bytes::<32>()).collect()
}

fn read(topics: &[[u8; 32]], data: &[u8]) -> Vec<(u8, u8, u64, Option<u64>)> {
    let transfers = token_transfers(TOKEN, topics, data);
    let short =
        |t: TokenTransfer| (t.from.0[19], t.to.0[19], t.amount.to(), t.id.map(|id| id.to::<u64>()));
    let claims = [BATCH, SINGLE, TRANSFER].contains(topics.first().unwrap_or(&[0; 32]));
    let lists_nothing = topics.first() == Some(&BATCH) && data == words(&[64, 96, 0, 0]);
    let malformed = claims && transfers.is_empty() && !lists_nothing;
    assert_eq!(is_malformed_transfer(TOKEN, topics, data), malformed);
    transfers.into_iter().map(short).collect()
}

#[test]
fn topics_are_the_hashes_of_their_events() {
    assert_eq!(TRANSFER, keccak256(b"Transfer(address,address,uint256)"));
    let single = keccak256(b"TransferSingle(address,address,address,uint256,uint256)");
    assert_eq!(SINGLE, single);
    assert_eq!(BATCH, keccak256(b"TransferBatch(address,address,address,uint256[],uint256[])"));
}

#[test]
fn each_standard_is_known_by_its_shape() {
    let (a, b, by) = (who(1), who(2), who(9));
    assert_eq!(read(&[TRANSFER, a, b], &words(&[5])), [(1, 2, 5, None)]);
    let id = *words(&[77]).first_chunk::<32>().unwrap();
    assert_eq!(read(&[TRANSFER, a, b, id], &[]), [(1, 2, 1, Some(77))]);
    let old = [&a[..], &b[..], &words(&[78])].concat();
    assert_eq!(read(&[TRANSFER], &old), [(1, 2, 1, Some(78))]);
    assert_eq!(read(&[SINGLE, by, a, b], &words(&[3, 4])), [(1, 2, 4, Some(3))]);
    let batch = words(&[64, 160, 2, 10, 11, 2, 20, 21]);
    assert_eq!(read(&[BATCH, by, a, b], &batch), [(1, 2, 20, Some(10)), (1, 2, 21, Some(11))]);
    assert_eq!(read(&[BATCH, by, a, b], &words(&[64, 96, 0, 0])), []);
}

#[test]
fn malformed_logs_and_the_systems_own_are_no_transfers() {
    let (a, b, by) = (who(1), who(2), who(9));
    for data in [&[][..], &[0; 31], &[0; 33], &[0; 64]] {
        assert_eq!(read(&[TRANSFER, a, b], data), []);
    }
    assert_eq!(read(&[TRANSFER, a], &words(&[5])), []);
    assert_eq!(read(&[TRANSFER, a, b, by, by], &[]), []);
    assert_eq!(read(&[], &words(&[5])), []);
    assert_eq!(read(&[SINGLE, by, a, b], &words(&[1])), []);
    let topics = [BATCH, by, a, b];
    for bad in [
        words(&[]),
        words(&[64]),
        words(&[64, 160, 2, 10, 11, 1, 20]),
        words(&[64, 160, 3, 10, 11, 3, 20, 21]),
        words(&[u64::MAX, 64, 1, 1]),
        words(&[64, 64, u64::MAX, 1]),
        [&[0xff; 64][..], &words(&[1, 1])].concat(),
    ] {
        assert_eq!(read(&topics, &bad), [], "{bad:?}");
    }
    for system in SYSTEM {
        assert_eq!(token_transfers(system, &[TRANSFER, a, b], &words(&[5])), []);
    }
}
