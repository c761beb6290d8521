use proptest::prelude::{any, proptest};

use super::*;

proptest! {
    #[test]
    fn numbers_come_back(small in any::<u64>(), large in any::<u128>(), signed in any::<i128>()) {
        let mut out = Vec::new();
        put_varint(&mut out, small);
        put_varint_128(&mut out, large);
        put_signed(&mut out, signed);
        let mut reader = RowReader::new(&out);
        assert_eq!(reader.varint(), Ok(small));
        assert_eq!(reader.varint_128(), Ok(large));
        assert_eq!(reader.signed(), Ok(signed));
        assert_eq!(reader.end(), Ok(()));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let mut reader = RowReader::new(&bytes);
        while !reader.is_empty() {
            let before = reader;
            if reader.varint().is_err() && reader.varint_128().is_err() {
                reader = before;
                let _ = reader.u8();
            }
        }
    }
}

#[test]
fn a_longer_form_is_refused() {
    assert_eq!(RowReader::new(&[0x80, 0]).varint(), Err(BadRow));
    assert_eq!(RowReader::new(&[0xff; 11]).varint(), Err(BadRow));
    assert_eq!(RowReader::new(&[0xff; 20]).varint_128(), Err(BadRow));
    assert_eq!(of_u40(u40((1 << 40) - 1)), (1 << 40) - 1);
}
