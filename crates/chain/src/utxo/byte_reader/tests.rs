use super::*;

#[test]
fn compact_sizes() {
    let cases: [(&[u8], u64); 5] = [
        (&[0xfc], 0xfc),
        (&[0xfd, 0xfd, 0], 0xfd),
        (&[0xfe, 0, 0, 1, 0], 0x1_0000),
        (&[0xff, 0, 0, 0, 0, 1, 0, 0, 0], 0x1_0000_0000),
        (&[0xff; 9], u64::MAX),
    ];
    for (bytes, value) in cases {
        let mut reader = ByteReader::new(bytes);
        assert_eq!(reader.compact_size(), Ok(value));
        assert_eq!(reader.end(), Ok(()));
    }
}

#[test]
fn a_length_longer_than_needed_is_refused() {
    for bytes in [&[0xfd, 0xfc, 0][..], &[0xfe, 0xff, 0xff, 0, 0], &[0xff, 1, 0, 0, 0, 0, 0, 0, 0]]
    {
        let error = ByteReader::new(bytes).compact_size().unwrap_err();
        assert_eq!(error, DecodeError { offset: 0, problem: Problem::Length });
    }
}

#[test]
fn nothing_is_read_past_the_end() {
    let mut reader = ByteReader::new(&[3, 1, 2]);
    assert_eq!(reader.prefixed().unwrap_err().problem, Problem::Short);
    assert_eq!(reader.clone().u32().unwrap_err().offset, 1);
    assert_eq!(reader.take(usize::MAX).unwrap_err().problem, Problem::Short);
    assert_eq!(ByteReader::new(&[0xff; 9]).count(1).unwrap_err().problem, Problem::Count);
    assert_eq!(ByteReader::new(&[0xff; 9]).prefixed().unwrap_err().problem, Problem::Short);
}
