//! HTTP Digest (RFC 7616; RFC 2069 where a challenge has no `qop`) as monerod asks for it.
//!
//! monerod makes a nonce for each connection and counts its uses, so a session belongs to one
//! connection. Sending is left to `attempt`. Invariant: a nonce count is used once.
//!
//! monerod: `contrib/epee/src/http_auth.cpp` (two challenges, MD5 and MD5-sess, in two headers).

use http::HeaderMap;
use http::header::{HeaderValue, WWW_AUTHENTICATE};
use md5::{Digest, Md5};
use sha2::Sha256;

use crate::credentials::DigestLogin;

/// A challenge that a connection answers, with the count of its uses.
pub(crate) struct Session {
    challenge: Challenge,
    uses: u32,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Challenge {
    realm: String,
    nonce: String,
    opaque: Option<String>,
    algorithm: Algorithm,
    /// The server offers `qop="auth"`.
    auth: bool,
    stale: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
enum Algorithm {
    #[default]
    Md5,
    Md5Sess,
    Sha256,
    Sha256Sess,
}

impl Algorithm {
    fn parse(text: &str) -> Option<Algorithm> {
        let known = [Algorithm::Md5, Algorithm::Md5Sess, Algorithm::Sha256, Algorithm::Sha256Sess];
        known.into_iter().find(|algorithm| algorithm.name().eq_ignore_ascii_case(text))
    }

    fn name(self) -> &'static str {
        match self {
            Algorithm::Md5 => "MD5",
            Algorithm::Md5Sess => "MD5-sess",
            Algorithm::Sha256 => "SHA-256",
            Algorithm::Sha256Sess => "SHA-256-sess",
        }
    }

    fn hash(self, text: &str) -> String {
        let bytes = match self {
            Algorithm::Md5 | Algorithm::Md5Sess => Md5::digest(text).to_vec(),
            Algorithm::Sha256 | Algorithm::Sha256Sess => Sha256::digest(text).to_vec(),
        };
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn is_session(self) -> bool {
        matches!(self, Algorithm::Md5Sess | Algorithm::Sha256Sess)
    }

    /// SHA-256 before MD5, plain before `-sess`, whose first hash depends on the first use.
    fn rank(self) -> (bool, bool) {
        (matches!(self, Algorithm::Sha256 | Algorithm::Sha256Sess), !self.is_session())
    }
}

impl Session {
    /// The best challenge of a 401 that we can answer.
    pub(crate) fn from_challenge(headers: &HeaderMap) -> Option<Session> {
        let offers = headers.get_all(WWW_AUTHENTICATE);
        let challenge =
            offers.iter().filter_map(|value| value.to_str().ok()).flat_map(challenges).max_by(
                |a, b| {
                    a.algorithm.rank().partial_cmp(&b.algorithm.rank()).expect("booleans compare")
                },
            )?;
        Some(Session { challenge, uses: 0 })
    }

    /// Whether the server only objects to the age of our nonce.
    pub(crate) fn is_stale(&self) -> bool {
        self.challenge.stale
    }

    /// The `Authorization` header of the next request, of this verb and path.
    pub(crate) fn authorize(&mut self, login: &DigestLogin, verb: &str, path: &str) -> HeaderValue {
        let mut random = [0; 8];
        // Without randomness of the system a fixed cnonce still authenticates.
        let _ = getrandom::fill(&mut random);
        let cnonce: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        self.uses += 1;
        let text = self.challenge.answer(login, verb, path, &cnonce, self.uses);
        let value = HeaderValue::from_str(&text);
        let mut value = value.unwrap_or_else(|_| HeaderValue::from_static("Digest"));
        value.set_sensitive(true);
        value
    }
}

impl Challenge {
    fn answer(
        &self,
        login: &DigestLogin,
        verb: &str,
        path: &str,
        cnonce: &str,
        uses: u32,
    ) -> String {
        let hash = |text: String| self.algorithm.hash(&text);
        let (realm, nonce) = (&self.realm, &self.nonce);
        let mut who = hash(format!("{}:{realm}:{}", login.user, login.password));
        if self.algorithm.is_session() {
            who = hash(format!("{who}:{nonce}:{cnonce}"));
        }
        let what = hash(format!("{verb}:{path}"));
        let response = match self.auth {
            true => hash(format!("{who}:{nonce}:{uses:08x}:{cnonce}:auth:{what}")),
            false => hash(format!("{who}:{nonce}:{what}")),
        };
        let mut text = format!(
            "Digest username=\"{}\", realm=\"{}\", nonce=\"{}\", uri=\"{path}\", algorithm={}, response=\"{response}\"",
            quoted(&login.user),
            quoted(realm),
            quoted(nonce),
            self.algorithm.name(),
        );
        if self.auth {
            text += &format!(", qop=auth, nc={uses:08x}, cnonce=\"{cnonce}\"");
        } else if self.algorithm.is_session() {
            text += &format!(", cnonce=\"{cnonce}\"");
        }
        if let Some(opaque) = &self.opaque {
            text += &format!(", opaque=\"{}\"", quoted(opaque));
        }
        text
    }
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// The Digest challenges of one header, which may list several, of other schemes too.
fn challenges(header: &str) -> Vec<Challenge> {
    let mut found: Vec<Option<Challenge>> = Vec::new();
    for (scheme, name, value) in parameters(header) {
        if let Some(scheme) = scheme {
            let ours = scheme.eq_ignore_ascii_case("digest");
            found.push(ours.then(Challenge::default));
        }
        let Some(place) = found.last_mut() else { continue };
        let Some(challenge) = place else { continue };
        match name.to_ascii_lowercase().as_str() {
            "realm" => challenge.realm = value,
            "nonce" => challenge.nonce = value,
            "opaque" => challenge.opaque = Some(value),
            "stale" => challenge.stale = value.eq_ignore_ascii_case("true"),
            "qop" => challenge.auth = value.split(',').any(|offer| offer.trim() == "auth"),
            "algorithm" => match Algorithm::parse(&value) {
                Some(algorithm) => challenge.algorithm = algorithm,
                None => *place = None,
            },
            _ => {}
        }
    }
    found.into_iter().flatten().filter(|challenge| !challenge.nonce.is_empty()).collect()
}

/// `name=value` pairs of a header, each with the scheme that stands before it, if one does.
fn parameters(header: &str) -> Vec<(Option<&str>, &str, String)> {
    let mut pairs = Vec::new();
    let mut rest = header;
    while let Some((before, after)) = rest.split_once('=') {
        let before = before.trim_matches([' ', '\t', ',']);
        let (scheme, name) = match before.rsplit_once([' ', '\t']) {
            Some((scheme, name)) => (scheme.split([',', ' ']).rfind(|s| !s.is_empty()), name),
            None => (None, before),
        };
        let (value, left) = value(after.trim_start());
        pairs.push((scheme, name, value));
        rest = left;
    }
    pairs
}

/// A token or quoted string, and what follows it.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
            _ => value.push(char),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7616 section 3.9.1.
    #[test]
    fn answers_of_the_standard_come_out() {
        let login = DigestLogin { user: "Mufasa".into(), password: "Circle of Life".into() };
        let header = "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", \
                      algorithm=ALGO, nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", \
                      opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"";
        let cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ";
        let expected = [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ];
        for (algorithm, response) in expected {
            let challenge = challenges(&header.replace("ALGO", algorithm)).remove(0);
            let text = challenge.answer(&login, "GET", "/dir/index.html", cnonce, 1);
            assert!(text.contains(&format!("response=\"{response}\"")), "{text}");
        }
    }

    #[test]
    fn several_challenges_are_read_from_one_header_and_from_many() {
        let found = challenges(
            "Basic realm=\"a, b=\\\"c\\\"\", Digest qop=\"auth\",algorithm=MD5,realm=\"monero-rpc\",\
             nonce=\"bm8=\",stale=true, Digest algorithm=SHA-512-256, nonce=\"x\", realm=\"r\"",
        );
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].nonce.as_str(), found[0].realm.as_str()), ("bm8=", "monero-rpc"));
        assert!(found[0].auth && found[0].stale);

        let mut headers = HeaderMap::new();
        for algorithm in ["MD5-sess", "MD5"] {
            let text = format!("Digest algorithm={algorithm},nonce=\"n\",realm=\"r\",qop=\"auth\"");
            headers.append(WWW_AUTHENTICATE, text.parse().unwrap());
        }
        let session = Session::from_challenge(&headers).unwrap();
        assert_eq!(session.challenge.algorithm, Algorithm::Md5);
    }

    #[test]
    fn broken_headers_do_no_harm() {
        for header in ["", "Digest", "Digest =", "Digest nonce=\"", "====", "Digest nonce=\"a\\"] {
            challenges(header);
        }
        let headers = HeaderMap::new();
        assert!(Session::from_challenge(&headers).is_none());
    }

    #[test]
    fn nonce_count_grows() {
        let mut headers = HeaderMap::new();
        let text = "Digest nonce=\"n\", realm=\"r\", qop=\"auth\"";
        headers.append(WWW_AUTHENTICATE, text.parse().unwrap());
        let mut session = Session::from_challenge(&headers).unwrap();
        let login = DigestLogin { user: "u".into(), password: "p".into() };
        for uses in 1..4 {
            let value = session.authorize(&login, "POST", "/json_rpc");
            assert!(value.is_sensitive());
            assert!(value.to_str().unwrap().contains(&format!("nc=0000000{uses}")));
        }
    }
}
