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

/// What is padded here is what a hasher makes of it.
#[test]
fn double_sha256_of_any_length() {
    let message: Vec<u8> = (0..200).collect();
    for length in 0..message.len() {
        let message = &message[..length];
        let right: [u8; 32] = Sha256::digest(Sha256::digest(message)).into();
        assert_eq!(Hash32::sha256d(&[message]).wire(), &right, "{length}");
    }
    let [left, right] = [&message[..32], &message[32..64]].map(|it| Hash32::sha256d(&[it]));
    let both = Hash32::sha256d(&[left.wire(), right.wire()]);
    assert_eq!(Hash32::sha256d_of_two(&left, &right), both);
}
