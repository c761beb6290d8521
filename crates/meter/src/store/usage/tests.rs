//! Names of chains in rows.

use super::*;

#[test]
fn every_chain_has_a_name() {
    for chain in chain::ALL {
        assert_eq!(ChainName::new(chain.slug).unwrap().as_str(), chain.slug);
    }
    for odd in ["", "ninechars", "a b", "é", "a\0b"] {
        assert_eq!(ChainName::new(odd), None, "{odd}");
    }
    assert_eq!(ChainName::from_bytes(*b"b\0c\0\0\0\0\0"), None);
    assert_eq!(ChainName::from_bytes([0xff; 8]), None);
}
