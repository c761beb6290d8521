use super::*;

#[test]
fn text_is_the_reverse_of_the_wire() {
    let text = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f";
    let hash: Hash32 = text.parse().unwrap();
    assert_eq!(hash.wire()[31], 0);
    assert_eq!(hash.wire()[0], 0x6f);
    assert_eq!(hash.to_string(), text);
    assert_eq!(text.to_uppercase().parse(), Ok(hash));
    assert_eq!(Hash32::from_wire(*hash.wire()), hash);
}

#[test]
fn anything_else_is_no_hash() {
    let short = "19d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f";
    let prefixed = "0x19d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f00000000";
    let odd = "g00000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f";
    for text in ["", short, prefixed, odd, &format!("{short}é")] {
        assert_eq!(text.parse::<Hash32>(), Err(NotAHash), "{text}");
    }
}

/// The empty string, hashed twice.
#[test]
fn double_sha256() {
    let empty = "56944c5d3f98413ef45cf54545538103cc9f298e0575820ad3591376e2e0f65d";
    assert_eq!(Hash32::sha256d(&[]).to_string(), empty);
    assert_eq!(Hash32::sha256d(&[b"ab", b"c"]), Hash32::sha256d(&[b"abc"]));
}
