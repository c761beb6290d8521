use super::*;

const A: [u8; 32] = [0xaa; 32];
const B: [u8; 32] = [0xbb; 32];

fn key(bytes: [u8; 32]) -> Vec<u8> {
    [&[PUBLIC_KEY][..], &bytes].concat()
}

fn nonce(bytes: &[u8]) -> Vec<u8> {
    [&[NONCE][..], &varint::bytes(bytes.len() as u64), bytes].concat()
}

fn additional(keys: &[[u8; 32]]) -> Vec<u8> {
    [&[ADDITIONAL_KEYS, keys.len() as u8][..], keys.as_flattened()].concat()
}

#[test]
fn every_field_is_read() {
    let merge = [&[MERGE_MINING, 33, 7][..], &A].concat();
    let minergate = vec![MINERGATE, 3, 1, 2, 3];
    let fields = [key(A), nonce(&[1; 9]), merge, additional(&[A, B]), minergate, vec![PADDING; 9]];
    let bytes = fields.concat();
    let extra = Extra::parse(&bytes);
    assert_eq!(extra.public_keys, [Key(A)]);
    assert_eq!(extra.additional_keys, [Key(A), Key(B)]);
    assert_eq!(extra.payment_id(), Some(PaymentId::Encrypted([1; 8])));
    assert!(extra.whole && Extra::parse(&[]).whole);
}

#[test]
fn what_stands_before_a_malformed_field_is_kept() {
    let short_merge = [&[MERGE_MINING, 32, 7][..], &A[..31]].concat();
    let long_merge = [&[MERGE_MINING, 34, 7][..], &A, &[0]].concat();
    let long_nonce = [&[NONCE, 0x80, 0x02][..], &[0; 256]].concat();
    let bad: [Vec<u8>; 12] = [
        vec![0x05],
        vec![0xff],
        vec![PUBLIC_KEY, 1],
        vec![NONCE, 2, 1],
        vec![NONCE, 0x80],
        vec![NONCE, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        vec![PADDING, 0, 1],
        vec![PADDING; 256],
        [&[ADDITIONAL_KEYS, 2][..], &A].concat(),
        short_merge,
        long_merge,
        long_nonce,
    ];
    for bad in bad {
        let bytes = [key(A), nonce(&[7]), bad].concat();
        let extra = Extra::parse(&bytes);
        assert_eq!(extra.public_keys, [Key(A)], "{bytes:?}");
        assert_eq!((extra.nonce, extra.whole), (Some(&[7][..]), false));
        assert!(extra.additional_keys.is_empty());
    }
    let unknown = [vec![0x05], key(B)].concat();
    assert!(Extra::parse(&unknown).public_keys.is_empty());
    assert!(Extra::parse(&[PADDING; 255]).whole);
}

#[test]
fn all_public_keys_count_and_the_first_of_the_others() {
    let twice = [additional(&[A]), additional(&[B, B]), nonce(&[5]), nonce(&[1; 9])];
    let bytes = [key(A), key(B), key(A), twice.concat()].concat();
    let extra = Extra::parse(&bytes);
    assert_eq!(extra.public_keys, [Key(A), Key(B), Key(A)]);
    assert_eq!(extra.additional_keys, [Key(A)]);
    assert_eq!((extra.nonce, extra.payment_id()), (Some(&[5][..]), None));
}

#[test]
fn a_key_is_found_by_structure_even_where_an_id_ends_like_its_tag() {
    let bytes = [nonce(&[1, 0, 0, 0, 0, 0, 0, 0, 1]), key(B)].concat();
    assert_eq!(Extra::parse(&bytes).public_keys, [Key(B)]);
}

#[test]
fn only_two_forms_are_payment_ids() {
    let id = |bytes: &[u8]| Extra::parse(&nonce(bytes)).payment_id().map(|id| id.to_string());
    assert_eq!(id(&[1, 0xab, 0, 0, 0, 0, 0, 0, 1]), Some("ab00000000000001".into()));
    assert_eq!(id(&[&[0][..], &A].concat()), Some("aa".repeat(32)));
    for other in [&[][..], &[1], &[1; 8], &[1; 10], &[0; 32], &[0; 34], &[1; 33], &[0; 9], &[2; 9]]
    {
        assert_eq!(id(other), None, "{other:?}");
    }
}
