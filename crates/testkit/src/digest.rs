//! HTTP Digest from the side of the client (RFC 7616, MD5, `qop="auth"`), as curl does it.
//!
//! Invariant: pure text; no connection is touched.

use md5::{Digest, Md5};

/// The `Authorization` header that answers a challenge. `challenge` is the value of a
/// `WWW-Authenticate` header, `count` the number of the request on its nonce, from 1. `None` if it
/// is no Digest challenge with MD5.
pub fn digest_header(
    challenge: &str,
    (user, password): (&str, &str),
    (verb, target): (&str, &str),
    count: u32,
) -> Option<String> {
    let fields = challenge.strip_prefix("Digest ")?;
    let field = |name: &str| {
        fields.split(',').find_map(|field| {
            let (found, value) = field.trim().split_once('=')?;
            (found == name).then(|| value.trim_matches('"'))
        })
    };
    if field("algorithm").is_some_and(|algorithm| algorithm != "MD5") {
        return None;
    }
    let (realm, nonce) = (field("realm")?, field("nonce")?);
    let (nc, cnonce) = (format!("{count:08x}"), "0a4f113b");
    let secret = hash(&format!("{user}:{realm}:{password}"));
    let what = hash(&format!("{verb}:{target}"));
    let response = hash(&format!("{secret}:{nonce}:{nc}:{cnonce}:auth:{what}"));
    Some(format!(
        "Digest username=\"{user}\", realm=\"{realm}\", nonce=\"{nonce}\", uri=\"{target}\", \
         cnonce=\"{cnonce}\", nc={nc}, qop=auth, response=\"{response}\", algorithm=MD5"
    ))
}

fn hash(text: &str) -> String {
    Md5::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 2617, section 3.5, with its own client nonce.
    #[test]
    fn the_example_of_the_rfc() {
        let challenge = r#"Digest realm="testrealm@host.com", qop="auth", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093""#;
        let header =
            digest_header(challenge, ("Mufasa", "Circle Of Life"), ("GET", "/dir/index.html"), 1);
        assert!(header.unwrap().contains(r#"response="6629fae49393a05397450978507c4ef1""#));
        assert!(digest_header("Basic realm=\"x\"", ("a", "b"), ("GET", "/"), 1).is_none());
    }
}
