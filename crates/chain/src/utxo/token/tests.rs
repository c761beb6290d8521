use super::*;

const CATEGORY: [u8; 32] = [0xaa; 32];
const SCRIPT: &[u8] = &[0x51];

fn with_prefix(rest: &[u8]) -> Vec<u8> {
    [&[PREFIX], &CATEGORY[..], rest, SCRIPT].concat()
}

#[test]
fn a_script_without_the_prefix_is_left_alone() {
    assert_eq!(split(SCRIPT), (None, SCRIPT));
    assert_eq!(split(&[]), (None, &[][..]));
}

#[test]
fn well_formed_prefixes_are_taken_off() {
    let nft = |capability, commitment| Some(Nft { capability, commitment });
    let cases: [(&[u8], u64, Option<Nft<'_>>); 8] = [
        (&[0x10, 0x01], 1, None),
        (&[0x10, 0xfd, 0xfd, 0x00], 253, None),
        (&[0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], i64::MAX as u64, None),
        (&[0x20], 0, nft(Capability::None, b"")),
        (&[0x21], 0, nft(Capability::Mutable, b"")),
        (&[0x22], 0, nft(Capability::Minting, b"")),
        (&[0x61, 0x02, 0xcc, 0xdd], 0, nft(Capability::Mutable, &[0xcc, 0xdd])),
        (&[0x72, 0x01, 0xcc, 0x05], 5, nft(Capability::Minting, &[0xcc])),
    ];
    for (rest, amount, nft) in cases {
        let category = Hash32::from_wire(CATEGORY);
        let bytes = with_prefix(rest);
        assert_eq!(split(&bytes), (Some(Token { category, amount, nft }), SCRIPT), "{rest:x?}");
    }
}

#[test]
fn a_prefix_that_breaks_a_rule_is_part_of_the_script() {
    let cases: [&[u8]; 11] = [
        &[0x00],                                  // nothing in it
        &[0x11, 0x01],                            // a capability without a token
        &[0x23],                                  // no such capability
        &[0x40, 0x01, 0xcc],                      // a commitment alone
        &[0x50, 0x01, 0xcc, 0x01],                // the same with an amount
        &[0x90, 0x01],                            // the reserved bit
        &[0x60, 0x00],                            // an empty commitment
        &[0x60, 0x7f, 0xcc],                      // one that is too short
        &[0x10, 0x00],                            // an amount of nothing
        &[0x10, 0xfd, 0x01, 0x00],                // a length too long
        &[0x10, 0xff, 0, 0, 0, 0, 0, 0, 0, 0x80], // an amount too large
    ];
    for rest in cases {
        let bytes = with_prefix(rest);
        assert_eq!(split(&bytes), (None, &bytes[..]), "{rest:x?}");
    }
    assert_eq!(split(&[PREFIX]), (None, &[PREFIX][..]));
    assert_eq!(split(&with_prefix(&[])[..33]).0, None);
}
